"""``oloproof baseline``."""

from __future__ import annotations

from pathlib import Path

import click

from oloproof import pipeline
from oloproof.cli.common import OutputFile, config_option, json_option, print_json, write_file
from oloproof.model.comparison import counted_verdicts
from oloproof.pipeline.world import find_run, open_store
from oloproof.reports.document import baseline_summary_document, written_document
from oloproof.reports.inert import inert
from oloproof.store import encode_baseline, read_baseline


@click.group("baseline")
def command() -> None:
    """Keep a run's verdicts in a small file that is reviewed and lives in version control.

    \b
    Example:
      oloproof baseline save latest -o baseline.json
    """


@command.command("save")
@click.argument("run", default="latest")
@config_option
@click.option("-o", "--output", type=OutputFile(), default=Path("baseline.json"), show_default=True)
@json_option
def save(run: str, config: Path, output: Path, as_json: bool) -> None:
    """Write a run's verdicts to a file: counts, and a line a case; no input, no output, no trajectory.

    \b
    Example:
      oloproof baseline save latest -o baseline.json
    """
    with open_store(config, create=False) as store:
        header = pipeline.complete(find_run(store, run, config))
        write_file(output, [encode_baseline(pipeline.sides_of(store, header, identified=True))])
    if as_json:
        print_json(written_document(str(output), run=header.id))
        return
    click.echo(f"wrote {output}: run {header.id}, {header.cases:,} cases")


@command.command("show")
@click.argument("file", type=click.Path(path_type=Path), default=Path("baseline.json"))
@json_option
def show(file: Path, as_json: bool) -> None:
    """Say what a baseline file holds.

    \b
    Example:
      oloproof baseline show baseline.json
    """
    sides = read_baseline(file)
    if as_json:
        print_json(baseline_summary_document(sides))
        return
    click.echo(f"{inert(sides.project)}: run {inert(sides.run)} of {inert(sides.system)}, {len(sides.cases):,} cases")
    for criterion, counts in counted_verdicts(sides.criteria, sides.cases).items():
        told = ", ".join(f"{counts[word]:,} {word}" for word in ("passed", "failed", "missing"))
        click.echo(f"  {inert(criterion)}: {told}")
