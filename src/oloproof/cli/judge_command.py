"""``oloproof judge``."""

from __future__ import annotations

from pathlib import Path

import click

from oloproof import pipeline
from oloproof.cli.asked import Asked
from oloproof.cli.common import (
    OutputFile,
    Shown,
    config_option,
    metadata_option,
    report_options,
    strict_option,
)
from oloproof.cli.conducting import Door, conduct
from oloproof.cli.rehearsal import rehearse
from oloproof.cli.streaming import json_events_option
from oloproof.errors import Problem, UsageError
from oloproof.importers.registry import AUTO, FORMATS
from oloproof.model.project import ImportSpec, RecordedSystem, TraceFormat
from oloproof.project import load, read_cases


@click.command("judge")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@config_option
@click.option(
    "--format",
    "format_name",
    type=click.Choice([AUTO, *FORMATS]),
    help="What FILES are, when they are no traces.jsonl; auto: each is read as what it looks like.",
)
@metadata_option
@strict_option
@click.option(
    "--baseline",
    metavar="BASELINE",
    help="Compare with this run (an id, latest~1) or baseline file, for the rules that compare.",
)
@click.option("--no-gate", is_flag=True, help="Report without deciding; exit 0.")
@click.option("--run-id-file", type=OutputFile(), help="Write the run's id to this file when it starts.")
@json_events_option
@report_options
def command(
    files: tuple[Path, ...],
    config: Path,
    format_name: TraceFormat | None,
    metadata: tuple[str, ...],
    strict: bool,
    baseline: str | None,
    no_gate: bool,
    run_id_file: Path | None,
    json_events: bool,
    shown: Shown,
) -> None:
    """Judge trajectories recorded earlier; nothing is run.

    FILES are traces.jsonl files, or of another format (`oloproof import --help` lists them); without any, the
    project's `system: {recorded: …}` says which.

    \b
    Example:
      oloproof judge traces.jsonl --config oloproof.yaml
      oloproof judge results.json --format openai
    """
    imported = _import_spec(format_name, metadata, strict=strict)
    project = load(config, recorded=[str(file) for file in files], imported=imported)
    if not isinstance(project.system.kind, RecordedSystem):
        hint = "name the files: oloproof judge traces.jsonl; or write `system: {recorded: traces.jsonl}`"
        raise UsageError(Problem("OLO616", "the system is run, not recorded", hint, file=project.config))
    cases = None if project.dataset is None else read_cases(project)
    rehearse(project, cases, shown)
    door = Door(config=config, shown=shown, run_id_file=run_id_file, json_events=json_events, baseline=baseline)
    words = Asked(baseline=baseline, no_gate=no_gate).words
    conduct(project, cases, pipeline.Request(gated=not no_gate), door, words=words)


def _import_spec(format_name: TraceFormat | None, metadata: tuple[str, ...], *, strict: bool) -> ImportSpec | None:
    if format_name is None:
        if metadata or strict:
            raise click.UsageError("--metadata and --strict go with --format")
        return None
    return ImportSpec(format=format_name, metadata=metadata, strict=strict)
