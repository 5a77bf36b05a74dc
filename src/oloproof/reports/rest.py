"""One slice of a run against the rest of it: where does it fail more often than elsewhere?

Each pass rate of each slice value is held against all the other cases of the run, with what is missing filled in
against the suspicion. The p-values of those that could ever tell are adjusted for being many. The list says where to
look, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from oloproof.model.measured import Measured, Rate
from oloproof.model.run import Report
from oloproof.model.slice_values import OTHERS, UNPLACED
from oloproof.model.tally import Tally
from oloproof.reports.figures import rate_text
from oloproof.reports.inert import inert
from oloproof.reports.pairs import p_text
from oloproof.reports.shapes import Table
from oloproof.stats.contingency import Group, worse_than_rest
from oloproof.stats.multiplicity import adjusted_in_family

SUSPICIOUS = 0.05
"""A p-value up to which a slice is told of."""

MOST_ROWS = 20

_NO_GROUP = frozenset({UNPLACED, OTHERS})


class RestTest(Struct, frozen=True, kw_only=True):
    """One criterion over one slice value, against the ``rest`` of the run.

    ``p`` is the one-sided mid-p of "passes less often"; ``adjusted`` None: no outcome of so few cases could matter, so
    it left the family.
    """

    slice: str
    value: str
    criterion: str
    tally: Tally
    rest: Tally
    p: float
    adjusted: float | None


def report_tests(report: Report) -> tuple[RestTest, ...]:
    """The tests of a run's slices; none of a run that stopped because of what it showed, nor of one whose cases are
    not independent or not each in one group of a slice."""
    run = report.run
    plain = run.status != "stopped_early" and run.trials == 1 and not run.clustered
    return rest_tests(report.measured) if plain else ()


def rest_tests(measured: Measured) -> tuple[RestTest, ...]:
    """Every pass rate of every slice value, in the order of the run. Cases that no value places are no group."""
    totals = {metric.id: metric.tally for metric in measured.metrics if isinstance(metric, Rate)}
    sides = [
        (group, metric.id, metric.tally, _rest(totals[metric.id], metric.tally))
        for group in measured.slices
        if group.value not in _NO_GROUP
        for metric in group.metrics
        if isinstance(metric, Rate)
    ]
    found = [worse_than_rest(_group(part), _group(rest)) for _, _, part, rest in sides]
    smallest = [test.smallest_mid_p for test in found]
    adjusted = adjusted_in_family([test.mid_p for test in found], smallest, error=SUSPICIOUS)
    return tuple(
        RestTest(
            slice=group.slice, value=group.value, criterion=criterion, tally=part, rest=rest, p=test.mid_p, adjusted=p
        )
        for (group, criterion, part, rest), test, p in zip(sides, found, adjusted, strict=True)
    )


def rest_table(tests: Sequence[RestTest]) -> Table:
    """The suspicious ones, the most suspicious first; without rows where there is none."""
    suspicious = sorted(_suspicious(tests), key=lambda test: (test.adjusted, test.p))
    rows = tuple(_cells(test) for test in suspicious[:MOST_ROWS])
    columns = ("slice", "criterion", "passes here", "missing", "elsewhere", "p", "adjusted")
    return Table(f"slices that pass less often than the rest: {_counts_text(tests)}", columns, rows)


def rest_note(tests: Sequence[RestTest]) -> str:
    """What to say where none is; "" where some is, or there was nothing to test. That none passes less often would be
    more than a test can say."""
    if not tests or any(True for _ in _suspicious(tests)):
        return ""
    return f"no slice stands out as passing less often than the rest: {_counts_text(tests)}"


def _rest(total: Tally, part: Tally) -> Tally:
    return Tally(total.passed - part.passed, total.failed - part.failed, total.missing - part.missing)


def _group(tally: Tally) -> Group:
    return Group(tally.passed, tally.failed, tally.missing)


def _suspicious(tests: Sequence[RestTest]) -> Iterator[RestTest]:
    return (test for test in tests if test.adjusted is not None and test.p <= SUSPICIOUS)


def _counts_text(tests: Sequence[RestTest]) -> str:
    tested = sum(test.adjusted is not None for test in tests)
    few = len(tests) - tested
    return f"{tested:,} tested" + (f", {few:,} with too few cases or failures ever to tell" if few else "")


def _cells(test: RestTest) -> tuple[str, ...]:
    assert test.adjusted is not None
    return (
        f"{inert(test.slice)}={inert(test.value)}",
        inert(test.criterion),
        rate_text(test.tally),
        f"{test.tally.missing:,}",
        rate_text(test.rest),
        p_text(test.p),
        p_text(test.adjusted),
    )
