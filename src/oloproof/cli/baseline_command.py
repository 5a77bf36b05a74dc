"""``oloproof baseline``."""

from __future__ import annotations

from pathlib import Path

import click

from oloproof import pipeline
from oloproof.cli.common import OutputFile, config_option, write_file
from oloproof.pipeline.world import find_run, open_store
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
def save(run: str, config: Path, output: Path) -> None:
    """Write a run's verdicts to a file: counts, and a line a case; no input, no output, no trajectory.

    \b
    Example:
      oloproof baseline save latest -o baseline.json
    """
    with open_store(config, create=False) as store:
        header = pipeline.complete(find_run(store, run, config))
        write_file(output, [encode_baseline(pipeline.sides_of(store, header, identified=True))])
    click.echo(f"wrote {output}: run {header.id}, {header.cases:,} cases")


@command.command("show")
@click.argument("file", type=click.Path(path_type=Path), default=Path("baseline.json"))
def show(file: Path) -> None:
    """Say what a baseline file holds.

    \b
    Example:
      oloproof baseline show baseline.json
    """
    sides = read_baseline(file)
    click.echo(f"{inert(sides.project)}: run {inert(sides.run)} of {inert(sides.system)}, {len(sides.cases):,} cases")
    for index, criterion in enumerate(sides.criteria):
        letters = [side.codes[index] for side in sides.cases]
        passed, failed, missing = (letters.count(letter) for letter in "pfm")
        click.echo(f"  {inert(criterion)}: {passed:,} passed, {failed:,} failed, {missing:,} missing")
