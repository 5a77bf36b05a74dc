"""``oloproof import``."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from msgspec.structs import asdict

from oloproof.cli.common import OutputFile, json_option, print_json, write_chunks
from oloproof.errors import Problem, UsageError
from oloproof.importers import openai, recordings
from oloproof.importers.imported import Import
from oloproof.reports.document import import_document

FORMATS = {"openai": openai.read}


@click.command("import")
@click.argument("format_name", metavar="FORMAT", type=click.Choice(list(FORMATS)))
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--output", type=OutputFile(), required=True, help="The traces.jsonl to write.")
@json_option
def command(format_name: str, files: tuple[Path, ...], output: Path, as_json: bool) -> None:
    """Turn traces of another format into traces.jsonl, and say what could not be carried over.

    FORMAT openai reads OpenAI-style message lists and tau-bench result files.

    \b
    Example:
      oloproof import openai results.json -o traces.jsonl
    """
    read = FORMATS[format_name]
    imports = [(file, read(_bytes(file), file=str(file))) for file in files]
    write_chunks(output, (recordings.encode(item) for _, found in imports for item in found.recordings))
    if as_json:
        rows = ((str(file), asdict(found.summary), found.losses) for file, found in imports)
        print_json(import_document(str(output), rows))
    else:
        for file, found in imports:
            _print_summary(file, found)
        print(f"wrote {output}", file=sys.stderr)


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(Problem("OLO313", f"cannot be read: {error.strerror}", file=str(file))) from error


def _print_summary(file: Path, found: Import) -> None:
    counts = found.summary
    print(
        f"{file}: {_counted(counts.trajectories, 'trajectory', 'trajectories')}, {_counted(counts.steps, 'step')},"
        f" {_counted(counts.calls, 'call')} ({counts.unanswered} unanswered), {_counted(counts.results, 'result')}"
        f" ({_counted(counts.errors, 'error')}), {counts.truncated} truncated"
    )
    for kind, count in found.losses.items():
        print(f"  not carried over: {count} × {openai.LOSSES.get(kind, kind)}")


def _counted(count: int, noun: str, plural: str = "") -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {plural or noun + 's'}"
