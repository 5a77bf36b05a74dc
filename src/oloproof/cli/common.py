"""What several commands share: where the project is, what is printed where, and how a report leaves the door."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial, wraps
from itertools import chain, islice
from math import isfinite
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import click
from click.core import ParameterSource
from msgspec import Struct

from oloproof.cli import actions
from oloproof.errors import BrokenError
from oloproof.model.case import AttemptError
from oloproof.model.judgment import Judgment
from oloproof.model.run import Report, Run
from oloproof.pipeline.world import CONFIG, name_of_baseline
from oloproof.project.nodes import SURROGATE
from oloproof.reports.document import encode, report_document
from oloproof.reports.failing import MOST, Failures, failures_of, telling_criteria
from oloproof.reports.findings import Document
from oloproof.reports.view import VerdictRow, View, view
from oloproof.store import Store

COUNT = click.IntRange(min=1, max=2**31 - 1)
"""How many, or which, on the command line; no store has as many."""
PIPE_WIDTH = 168
"""Columns where there is no terminal: wide enough that no cell of an ordinary report folds in a CI log."""

F = TypeVar("F", bound=Callable[..., Any])


class Amount(click.FloatRange):
    """A finite number in a range. NaN is in none, whatever it is compared with: as a bound it would bound nothing."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{number} is no finite number", param, ctx)
        return number


class OutputFile(click.Path):
    """A file to be written, in a directory that is there: refused before anything has run."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path: Path = super().convert(value, param, ctx)  # type: ignore[assignment]  # path_type says so
        if not path.parent.is_dir():
            self.fail(f"there is no directory '{path.parent}'", param, ctx)
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            self.fail(f"'{path}' cannot be written", param, ctx)
        return path


config_option = click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path(CONFIG),
    show_default=True,
    help="The project's configuration; .oloproof/ lies beside it.",
)
metadata_option = click.option(
    "--metadata",
    multiple=True,
    metavar="KEY=PATH",
    help="Keep what lies at this dotted path in a run as metadata; may be repeated.",
)
strict_option = click.option("--strict", is_flag=True, help="Refuse files of which something cannot be carried over.")
markdown_option = click.option("--markdown", type=OutputFile(), help="Also write Markdown for a pull request.")
github_option = click.option(
    "--github", is_flag=True, help="In GitHub Actions: also write the job summary and annotations."
)
junit_option = click.option("--junit", type=OutputFile(), help="Also write JUnit XML to this file.")
sarif_option = click.option(
    "--sarif", type=OutputFile(), help="Also write SARIF 2.1.0 to this file, for code scanning."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")


class _Text(click.types.StringParamType):
    """Text that a store and a document can hold: no bytes that the command line could not decode."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if SURROGATE.search(value):
            self.fail(f"{value!r} is no UTF-8 text", param, ctx)
        return value


TEXT = _Text()


class Shown(Struct, frozen=True, kw_only=True):
    """In which forms a report is asked for: on stdout as JSON or as tables, in files, and on the page of a job on
    GitHub. ``all_slices`` shows all the metrics of slices in the tables."""

    as_json: bool
    markdown: Path | None
    junit: Path | None
    sarif: Path | None
    tap: Path | None
    html: Path | None
    github: bool
    all_slices: bool

    @property
    def only_json(self) -> bool:
        """Nothing is asked for that is drawn from a view."""
        return self.as_json and not (self.markdown or self.junit or self.sarif or self.tap or self.github)


def report_options(command: F) -> F:
    """``--json``, ``--markdown FILE``, ``--junit FILE``, ``--sarif FILE``, ``--tap FILE``, ``--html FILE``,
    ``--github`` and ``--slices``, for every command that ends in a report; it is given them as one value, ``shown``."""

    @wraps(command)
    def gathered(*arguments: Any, **parameters: Any) -> Any:
        shown = Shown(**{name: parameters.pop(name) for name in Shown.__struct_fields__})
        return command(*arguments, **parameters, shown=shown)

    options: Any = gathered
    for option in (
        click.option("--slices", "all_slices", is_flag=True, help="All metrics of the slices, with their intervals."),
        github_option,
        click.option("--html", type=OutputFile(), help="Also write one HTML file that opens offline."),
        click.option("--tap", type=OutputFile(), help="Also write TAP to this file."),
        sarif_option,
        junit_option,
        markdown_option,
        json_option,
    ):
        options = option(options)
    return cast(F, options)


def from_environment(option: str, name: str) -> str:
    """What the environment variable holds that an option names. Errors: UsageError where that is nothing."""
    value = os.environ.get(name, "")
    if not value:
        raise click.UsageError(f"{option}: the environment variable {name} is not set")
    return value


def given(context: click.Context) -> list[str]:
    """The options on the command line, by their long names."""
    return [
        max(parameter.opts, key=len)
        for parameter in context.command.params
        if isinstance(parameter, click.Option)
        and context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
    ]


def show_report(report: Report, store: Store, *, config: Path, shown: Shown) -> None:
    """The report in every file asked for, and then on stdout, which so holds it or what went wrong, never both."""
    if shown.html is not None:
        write_html(shown.html, report, store, config=config)
    if shown.only_json:
        print_json(report_document(report))
        return
    drawn = view(report, config=named_config(config), baseline=name_of_baseline(store, report))
    rows = partial(verdict_rows, store, report.run, reruns=False)
    if shown.markdown is not None:
        from oloproof.reports.markdown import render as render_markdown

        write_file(shown.markdown, [render_markdown(drawn, rows())])
    if shown.junit is not None:
        from oloproof.reports.junit import junit as render_junit

        write_file(shown.junit, render_junit(drawn, rows()))
    if shown.tap is not None:
        from oloproof.reports.tap import tap as render_tap

        write_file(shown.tap, render_tap(drawn, rows()))
    told = _told_at_places(drawn, report, store, config=config, shown=shown)
    if shown.as_json:
        print_json(report_document(report))
    else:
        from oloproof.reports import terminal

        failures = first_failures(store, report)
        print_rendered(partial(terminal.render, drawn, failures=failures, all_slices=shown.all_slices))
    if told:
        actions.annotate(told, as_json=shown.as_json)


def _told_at_places(drawn: View, report: Report, store: Store, *, config: Path, shown: Shown) -> tuple[str, ...]:
    """Write what points at lines of files; the annotations that are still to be printed."""
    if shown.sarif is None and not shown.github:
        return ()
    from oloproof.cli.places import run_places
    from oloproof.reports.sarif import sarif as render_sarif

    places = run_places(store, report.run, config)
    rows = partial(verdict_rows, store, report.run, reruns=False)
    if shown.sarif is not None:
        write_file(shown.sarif, render_sarif(drawn, rows(), places))
    if not shown.github:
        return ()
    from oloproof.reports.github import workflow_commands
    from oloproof.reports.markdown import render as render_markdown
    from oloproof.reports.remarks import regressions_first

    actions.summarize(render_markdown(drawn, rows()))
    found = regressions_first(drawn, rows, places, report.comparison)
    return tuple(workflow_commands(found, inspect=drawn.inspect))


def write_html(path: Path, report: Report, store: Store, *, config: Path, content: bool = True) -> None:
    """The report with every case of the run in one file."""
    from oloproof.pipeline.paging import entries
    from oloproof.reports.html import report_page

    names = {"config": named_config(config), "baseline": name_of_baseline(store, report)}
    pages = report_page(report, entries(store, report.run), **names, content=content)
    write_file(path, pages)


def named_config(config: Path) -> str:
    """The configuration as a command must name it, "" where it is the one that is looked for."""
    return "" if config == Path(CONFIG) else str(config)


def verdict_rows(store: Store, run: Run, *, reruns: bool = True) -> Iterator[VerdictRow]:
    """Every verdict of a stored run, with its reason; those of re-runs, which count for nothing but what they confirm,
    where they are wanted."""
    for judged in store.judgments(run.id):
        if judged[1] <= run.trials or reruns:
            yield from _rows(run, *judged)


def first_failures(store: Store, report: Report) -> Failures:
    """The first failing verdicts of the criteria that a reader looks for first. None where nothing failed, and where
    the run may ship."""
    run, criteria = report.run, telling_criteria(report)
    if not criteria:
        return Failures()
    failing = (_rows(run, *judged) for judged in store.failing(run.id, criteria) if judged[1] <= run.trials)
    rows = (row for row in chain.from_iterable(failing) if row.verdict == "fail" and row.criterion in criteria)
    return failures_of(report, criteria, islice(rows, MOST))


def _rows(
    run: Run, case_id: str, trial: int, judgments: tuple[Judgment, ...], error: AttemptError | None
) -> Iterator[VerdictRow]:
    for criterion, judgment in zip(run.criteria, judgments, strict=True):
        yield VerdictRow(
            case=case_id,
            trial=trial,
            criterion=criterion,
            verdict=judgment.verdict,
            reason=judgment.reason,
            steps=judgment.steps,
            detail=judgment.detail,
            error=error.message if error is not None and judgment.reason == error.kind else None,
            expected=judgment.expected,
            found=judgment.found,
        )


def print_json(document: Document) -> None:
    """One document on stdout."""
    sys.stdout.write(encode(document))


class Renderer(Protocol):
    """Draws something for a place of this width, with or without colour, in this encoding."""

    def __call__(self, *, width: int, color: bool, encoding: str) -> str: ...


def print_rendered(render: Renderer) -> None:
    """Text drawn for where stdout goes: a terminal's width and colour, or a wide plain pipe."""
    is_terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if is_terminal or "COLUMNS" in os.environ else PIPE_WIDTH
    color = is_terminal and not os.environ.get("NO_COLOR")
    sys.stdout.write(render(width=width, color=color, encoding=sys.stdout.encoding or "utf-8"))


def write_file(path: Path, chunks: Iterable[str]) -> None:
    """A named text file, written whole or not at all."""
    write_chunks(path, (chunk.encode("utf-8", "backslashreplace") for chunk in chunks))


def write_chunks(path: Path, chunks: Iterable[bytes]) -> None:
    """A named file, written whole or not at all; a link, a device or a pipe is written to, and stays what it is."""
    temporary = None
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            with path.open("wb") as file:
                file.writelines(chunks)
        else:
            temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
            with temporary.open("wb") as file:
                file.writelines(chunks)
            temporary.replace(path)
    except BaseException as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        raise BrokenError(
            f"cannot write {path}: {error.strerror}",
            code=actions.UNWRITABLE,
            hint="name a file in a directory that exists",
        ) from error
