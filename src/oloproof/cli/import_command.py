"""``oloproof import``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from oloproof.cli.common import json_option, print_json, write_chunks
from oloproof.errors import Problem, UsageError
from oloproof.importers import openai, recordings
from oloproof.importers.imported import Import

FORMATS = {"openai": openai.read}


@click.command("import")
@click.argument("format_name", metavar="FORMAT", type=click.Choice(list(FORMATS)))
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="The traces.jsonl to write.")
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
        print_json(_document(output, imports))
    else:
        for file, found in imports:
            _print_summary(file, found)
        print(f"wrote {output}", file=sys.stderr)


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(Problem(str(file), 0, 0, "OLO313", f"cannot be read: {error.strerror}")) from error


def _document(output: Path, imports: list[tuple[Path, Import]]) -> dict[str, object]:
    files = [
        {
            "file": str(file),
            **{key: getattr(found.summary, key) for key in found.summary.__struct_fields__},
            "losses": dict(found.losses),
        }
        for file, found in imports
    ]
    return {"format": "oloproof.import/v1", "output": str(output), "files": files}


def _print_summary(file: Path, found: Import) -> None:
    counts = found.summary
    print(
        f"{file}: {counts.trajectories} trajectories, {counts.steps} steps, {counts.calls} calls"
        f" ({counts.unanswered} unanswered), {counts.results} results ({counts.errors} errors),"
        f" {counts.truncated} truncated"
    )
    for kind, count in found.losses.items():
        print(f"  not carried over: {count} × {openai.LOSSES.get(kind, kind)}")
