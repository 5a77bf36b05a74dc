"""What is shown: each page from the store as it stands when it is asked for.

Every request opens the store anew, in its own thread: a store that is gone, damaged or another one meanwhile is told
as it is, and no file is kept open.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, field

from oloproof import pipeline
from oloproof.errors import OloproofError, Problem, UsageError
from oloproof.model.run import Run
from oloproof.pipeline.paging import attempts, changed_entries, entry
from oloproof.pipeline.watching import progress
from oloproof.pipeline.world import name_of_baseline
from oloproof.reports.bugs import WHAT, bug_lines, bug_text
from oloproof.reports.comparison import comparison_notes
from oloproof.reports.html import (
    address,
    case_json,
    comparison_page,
    listed,
    problem_page,
    progress_page,
    report_page,
    runs_page,
)
from oloproof.reports.inert import TEXT_LIMIT, inert
from oloproof.reports.view import RunRow
from oloproof.store import Checked, Store, codes

FIRST_RUNS = 50
"""Runs in the list, unless more are asked for."""

_STATUS = {codes.LOCKED: 503, codes.NO_STORE: 404, codes.NO_RUN: 404, codes.SEVERAL_RUNS: 404, codes.NO_CASE: 404}
_BUG = Problem(
    "OLO722",
    WHAT,
    "please report it with what `oloproof view` printed, and what you looked at",
)


class Shelf(Struct, frozen=True, kw_only=True):
    """What is looked at: the store's directory, the configuration as a command must name it ("" where it need not be),
    and whether inputs, outputs, arguments and results are shown. ``checked`` remembers recorded files between
    requests."""

    directory: Path
    config: str = ""
    content: bool = True
    checked: Checked = field(default_factory=Checked)

    @contextmanager
    def opened(self) -> Iterator[Store]:
        with Store.open(self.directory, create=False, checked=self.checked) as store:
            yield store


class Elsewhere(Struct, frozen=True):
    """What was asked for has another address."""

    address: str


class Wrong(Struct, frozen=True):
    """What went wrong: an HTTP status, and the problems, as a page or as plain text for the script."""

    status: int
    problems: tuple[Problem, ...]

    @property
    def page(self) -> str:
        return problem_page(self.problems)

    @property
    def text(self) -> str:
        lines = (line for problem in self.problems for line in (str(problem), *problem.hint.splitlines()))
        return "\n".join(inert(line, TEXT_LIMIT) for line in lines)


def runs(shelf: Shelf, *, limit: int) -> str:
    """The newest runs."""
    with shelf.opened() as store:
        found = store.runs(limit=limit + 1)
        rows = [RunRow(run=run, gate=pipeline.stored_gate(store, run)) for run in found[:limit]]
    return runs_page(rows, more=f"/?limit={limit * 4}" if len(found) > limit else "")


def run(shelf: Shelf, name: str) -> str | Elsewhere:
    """A run: its report, or how far it came where it has none. ``name`` may be any that means a run."""
    with shelf.opened() as store:
        header = store.find(name)
        if header.id != name:
            return Elsewhere(address(header))
        if not _has_report(header):
            return progress_page(progress(store, header), config=shelf.config, content=shelf.content)
        report = pipeline.stored_report(store, header, store.policy(header.id))
        names = {"config": shelf.config, "baseline": name_of_baseline(store, report)}
        return "".join(report_page(report, (), **names, content=shelf.content, source=address(header)))


def index(shelf: Shelf, name: str) -> str:
    """The list of a run's cases, packed as the script reads it."""
    with shelf.opened() as store:
        header = store.find(name)
        return listed(attempts(store, header), header, content=shelf.content)


def case(shelf: Shelf, name: str, case_id: str, *, trial: int) -> bytes:
    """One attempt, as JSON for the script."""
    with shelf.opened() as store:
        record = store.case(store.find(name).id, case_id, trial)
        return case_json(entry(record), content=shelf.content)


def comparison(shelf: Shelf, candidate: str, baseline: str) -> str:
    """Two runs, case by case, decided by the policy that the candidate was judged under where that has a rule which
    compares."""
    with shelf.opened() as store:
        now = pipeline.concluded(store.find(candidate))
        was = pipeline.complete(store.find(baseline))
        policy = store.policy(now.id)
        found = pipeline.compare(store, now, was, policy=policy)
        report = pipeline.comparison_report(store, now, found, policy, gated=bool(policy and policy.pair_rules))
        pages = comparison_page(
            report,
            changed_entries(store, report, was, content=shelf.content),
            notes=[*pipeline.caveats(now, was), *comparison_notes(found)],
            partings=pipeline.partings(store, now, was, found),
            config=shelf.config,
            content=shelf.content,
            served=True,
        )
        return "".join(pages)


def wrong(error: Exception) -> Wrong:
    """What is told of an error. One that is not ours is printed too, so that it can be reported."""
    if not isinstance(error, OloproofError):
        print("\n".join((f"{WHAT}: {bug_text(error)}", *bug_lines(error))), file=sys.stderr)
        return Wrong(500, (_BUG,))
    code = error.problems[0].code
    return Wrong(_STATUS.get(code, 400 if isinstance(error, UsageError) else 500), error.problems)


def nothing_here(what: str) -> UsageError:
    """For an address that names no page."""
    return UsageError(Problem("OLO723", what, "the list of runs leads to every page"))


def _has_report(header: Run) -> bool:
    return header.status != "running" and header.finished_at is not None
