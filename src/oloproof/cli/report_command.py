"""``oloproof report``."""

from __future__ import annotations

from pathlib import Path

import click

from oloproof import pipeline
from oloproof.cli.common import OutputFile, config_option, json_option, print_json, write_html
from oloproof.pipeline.world import find_run, open_store
from oloproof.reports.document import written_document


@click.command("report")
@click.argument("run", default="latest")
@config_option
@click.option("--html", type=OutputFile(), required=True, help="The file to write.")
@click.option("--no-content", is_flag=True, help="Leave inputs, outputs, arguments and results out.")
@json_option
def command(run: str, config: Path, html: Path, no_content: bool, as_json: bool) -> None:
    """Write a stored run as one HTML file that opens offline.

    RUN is an id, a unique part of one, latest (default) or latest~2.

    \b
    Example:
      oloproof report --html report.html
    """
    with open_store(config, create=False) as store:
        header = find_run(store, run, config)
        report = pipeline.stored_report(store, header, store.policy(header.id))
        write_html(html, report, store, config=config, content=not no_content)
    if as_json:
        print_json(written_document(str(html), run=header.id))
    else:
        click.echo(f"wrote {html}: run {header.id}")
