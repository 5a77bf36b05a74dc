"""``oloproof export``."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from oloproof.cli.common import OutputFile, config_option, json_option, print_json, write_chunks
from oloproof.exporters.format import recording_of
from oloproof.exporters.registry import FORMATS, exporter
from oloproof.model.recording import Recording
from oloproof.pipeline.world import find_run, open_store
from oloproof.reports.document import export_document
from oloproof.store import Store


@click.command("export")
@click.argument("run", default="latest")
@config_option
@click.option("--format", "name", type=click.Choice(FORMATS), default="jsonl", show_default=True, help="What to write.")
@click.option("-o", "--output", type=OutputFile(), required=True, help="The file to write.")
@json_option
def command(run: str, config: Path, name: str, output: Path, as_json: bool) -> None:
    """Write what a run's cases did as traces of another format, and say what it has no place for.

    RUN is an id, a unique part of one, latest (default) or latest~2.

    \b
    Example:
      oloproof export latest --format atif -o trajectories.jsonl
    """
    chosen, losses = exporter(name), Counter[str]()
    with open_store(config, create=False) as store:
        header = find_run(store, run, config)
        write_chunks(output, chosen.write(_recordings(store, header.id, losses), losses))
    if as_json:
        print_json(export_document(header.id, name, str(output), losses))
        return
    for kind, count in sorted((+losses).items()):
        print(f"not carried over: {count:,} × {chosen.meaning(kind)}")
    print(f"wrote {output}", file=sys.stderr)


def _recordings(store: Store, run_id: str, losses: Counter[str]) -> Iterator[Recording]:
    for _, _, _, record in store.records(run_id):
        recording = recording_of(record, losses)
        if recording is not None:
            yield recording
