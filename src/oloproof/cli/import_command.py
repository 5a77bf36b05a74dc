"""``oloproof import``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click
from msgspec.structs import asdict

from oloproof.cli.common import (
    TEXT,
    OutputFile,
    json_option,
    metadata_option,
    print_json,
    strict_option,
    write_chunks,
)
from oloproof.errors import OloproofError, Problem, UsageError, counted, with_article
from oloproof.importers.cases import CaseRows
from oloproof.importers.format import Importer
from oloproof.importers.reading import FileCounts, Import
from oloproof.importers.registry import AUTO, FORMATS, importer
from oloproof.plugins import NO_PLUGIN, Plugin, failed, loaded
from oloproof.reports.document import import_document
from oloproof.reports.hints import shell_word
from oloproof.runner.files import files as opened


class _Command(click.Command):
    """Lists the formats in its help, which are loaded for that."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Formats"):
            formatter.write_dl([(name, importer(name).about) for name in FORMATS])


@click.command("import", cls=_Command)
@click.argument("format_name", metavar="FORMAT", type=TEXT)
@click.argument("files", metavar="FILES...", nargs=-1, type=click.Path(path_type=Path))
@click.option("-o", "--output", type=OutputFile(), required=True, help="The traces.jsonl to write.")
@click.option("--cases", type=OutputFile(), help="A dataset to write too: the cases, without their runs.")
@metadata_option
@strict_option
@json_option
def command(
    format_name: str,
    files: tuple[Path, ...],
    output: Path,
    cases: Path | None,
    metadata: tuple[str, ...],
    strict: bool,
    as_json: bool,
) -> None:
    """Turn traces of another format into traces.jsonl, and say what could not be carried over.

    FORMAT is one of those below, an importer that an installed package adds, or auto: each file is then read as what
    it looks like.

    \b
    Example:
      oloproof import auto results.json -o traces.jsonl
    """
    if not files:
        file = shell_word(format_name) if Path(format_name).is_file() else ""
        raise click.UsageError(f"name the format and then the files: oloproof import auto {file or 'results.json'}")
    if cases is not None and cases.absolute() == output.absolute():
        raise UsageError(Problem("OLO697", f"--cases and --output name the same file, {cases}", "name two files"))
    rows = None if cases is None else CaseRows()
    plugin, wanted = (None, format_name) if format_name in (AUTO, *FORMATS) else _plugged_in(format_name)
    found = Import(opened(map(str, files)), wanted, metadata=metadata)
    try:
        write_chunks(output, _lines(found, rows, strict=strict))
        if cases is not None and rows is not None:
            write_chunks(cases, rows.lines())
    except Exception as error:
        if plugin is None or isinstance(error, OloproofError):
            raise
        raise failed(plugin, "failed", error) from error
    if as_json:
        by_file = (
            (file, counts.importer.name, asdict(counts.summary), counts.losses) for file, counts in found.files.items()
        )
        print_json(import_document(str(output), by_file, cases=None if cases is None else str(cases)))
    else:
        for file, counts in found.files.items():
            _print_summary(file, counts, sniffed=format_name == AUTO)
        if rows is not None and rows.conflicts:
            print(f"{counted(rows.conflicts, 'case')} whose runs were not asked the same: the first was taken")
        print(f"wrote {output}", file=sys.stderr)
        if rows is not None:
            print(f"wrote {cases} ({counted(len(rows), 'case')})", file=sys.stderr)


def _plugged_in(name: str) -> tuple[Plugin, Importer]:
    plugin, value = loaded("importers", name, (AUTO, *FORMATS))
    if not isinstance(value, Importer):
        message = f"{plugin}: {plugin.target} is {with_article(type(value).__name__)}, no Importer"
        raise UsageError(Problem(NO_PLUGIN, message, "its package must make it an oloproof.importers.format.Importer"))
    return plugin, value


def _lines(found: Import, rows: CaseRows | None, *, strict: bool) -> Iterator[bytes]:
    """The recordings, whose cases become ``rows``; nothing is written when what was lost is refused."""
    for imported in found.recordings():
        if rows is not None:
            rows.add(imported.recording, imported.of_case)
        yield imported.line
    if strict:
        found.refuse_losses()


def _print_summary(file: str, found: FileCounts, *, sniffed: bool) -> None:
    counts = found.summary
    if sniffed:
        print(f"{file}: taken for {found.importer.name} ({found.importer.about})")
    print(
        f"{file}: {counted(counts.trajectories, 'trajectory', 'trajectories')}, {counted(counts.steps, 'step')},"
        f" {counted(counts.calls, 'call')} ({counts.unanswered:,} unanswered), {counted(counts.results, 'result')}"
        f" ({counted(counts.errors, 'error')}), {counted(counts.agents, 'agent')}, {counts.truncated:,} truncated"
    )
    for _, count, meaning in found.told_losses():
        print(f"  not carried over: {count:,} × {meaning}")
