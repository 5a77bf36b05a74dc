"""The pages that a server has besides: the list of runs, a run without a verdict, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from oloproof.errors import Problem
from oloproof.model.progress import Progress
from oloproof.model.run import Run
from oloproof.reports.html.frame import environment, framed
from oloproof.reports.inert import TEXT_LIMIT, inert
from oloproof.reports.lists import runs_table
from oloproof.reports.progress import progress_view
from oloproof.reports.view import RunRow


class _Listed(Struct, frozen=True, kw_only=True):
    """A run in the list: its cells, where it is, and whether it can be compared."""

    id: str
    name: str
    address: str
    cells: tuple[str, ...]
    comparable: bool


def address(run: Run) -> str:
    """Where the page of a run is on the server."""
    return f"/runs/{quote(run.id, safe='')}"


def runs_page(runs: Sequence[RunRow], *, more: str = "") -> str:
    """The runs in the order given, each a link, two of them to be compared. ``more`` is the address of a longer list,
    "" where these are all."""
    table = runs_table(runs)
    rows = [
        _Listed(
            id=row.run.id,
            name=cells[0],
            address=address(row.run),
            cells=cells[1:],
            comparable=row.run.is_comparable,
        )
        for row, cells in zip(runs, table.rows, strict=True)
    ]
    return _rendered("runs.html", columns=table.columns, rows=rows, more=more, source="")


def progress_page(found: Progress, *, config: str = "", content: bool = True) -> str:
    """A run that goes on, or that ended before it concluded anything; it follows the one that goes on."""
    drawn = progress_view(found, config=config)
    follow = found.run.status == "running"
    return _rendered("progress.html", view=drawn, follow=follow, content=content, parts=(), source=address(found.run))


def problem_page(problems: Iterable[Problem]) -> str:
    """What went wrong, and what to do about it."""
    shown = [
        (inert(str(problem), TEXT_LIMIT), [inert(line, TEXT_LIMIT) for line in problem.hint.splitlines()])
        for problem in problems
    ]
    return _rendered("problem.html", problems=shown, source="")


def opening_page(target: str) -> str:
    """What leads on, to an address of this server, whoever was just let in."""
    return environment().get_template("opening.html").render(target=target)


def _rendered(name: str, *, source: str, **values: Any) -> str:
    return environment().get_template(name).render(**values, **framed(source=source))
