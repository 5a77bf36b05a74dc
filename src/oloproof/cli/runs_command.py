"""``oloproof runs``."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from oloproof import pipeline
from oloproof.cli.common import COUNT, config_option, json_option, print_json, print_rendered
from oloproof.pipeline.world import STORE, open_store
from oloproof.reports.document import runs_document
from oloproof.reports.view import RunRow


@click.command("runs")
@config_option
@click.option("--limit", type=COUNT, metavar="N", default=20, show_default=True, help="The newest so many.")
@json_option
def command(config: Path, limit: int, as_json: bool) -> None:
    """List the stored runs, the newest first.

    \b
    Example:
      oloproof runs --limit 5
    """
    rows = []
    if (config.parent / STORE).exists() or not config.exists():
        with open_store(config, create=False) as store:
            rows = [RunRow(run=run, gate=pipeline.stored_gate(store, run)) for run in store.runs(limit=limit)]
    if as_json:
        print_json(runs_document(rows))
    else:
        from oloproof.reports import terminal
        from oloproof.reports.lists import runs_table

        print_rendered(partial(terminal.render_table, runs_table(rows)))
