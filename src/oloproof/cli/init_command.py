"""``oloproof init``."""

from __future__ import annotations

from pathlib import Path

import click

from oloproof.cli.common import json_option, print_json, write_file
from oloproof.errors import Problem, UsageError
from oloproof.project import scaffold
from oloproof.reports.document import written_document


@click.command("init")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), default=Path())
@click.option("--example", type=click.Choice(scaffold.EXAMPLES), help="Start from a worked example.")
@json_option
def command(directory: Path, example: str | None, as_json: bool) -> None:
    """Write a small project that runs and gates out of the box. Nothing is overwritten.

    \b
    Example:
      oloproof init my-agent-checks
    """
    files = scaffold.files(example)
    standing = [name for name in files if (directory / name).exists()]
    if standing:
        hint = (
            "nothing was written; start in a directory of its own, `oloproof init checks`, and move what you need"
            " beside your code: `callable:` in oloproof.yaml names your function"
        )
        raise UsageError(
            Problem(
                "OLO602",
                "already exists, and init overwrites nothing",
                hint if name == standing[-1] else "",
                file=str(directory / name),
            )
            for name in standing
        )
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, [text])
        if not as_json:
            click.echo(f"wrote {path}")
    if as_json:
        print_json(written_document(*(str(directory / name) for name in files)))
        return
    where = "" if directory == Path() else f"cd {directory} && "
    click.echo(f"next: {where}oloproof run")
