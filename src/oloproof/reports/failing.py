"""Which failures a report tells by itself: the first few, of what decided the verdict."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec import Struct

from oloproof.model.measured import Rate
from oloproof.model.run import Report
from oloproof.reports.view import VerdictRow

MOST = 5
"""So many failing verdicts stand in a report: enough to see what kind of thing went wrong."""


class Failures(Struct, frozen=True, kw_only=True):
    """The first failing verdicts of some criteria, and how many those have. ``blocking``: they are the criteria of
    rules that block."""

    rows: tuple[VerdictRow, ...] = ()
    total: int = 0
    blocking: bool = False

    @property
    def title(self) -> str:
        """``failures that block: 5 of 16``."""
        title = "failures that block" if self.blocking else "failures"
        return title if self.total == len(self.rows) else f"{title}: {len(self.rows)} of {self.total:,}"


def failures_of(report: Report, criteria: Collection[str], rows: Iterable[VerdictRow]) -> Failures:
    """These rows as the first failures of these criteria."""
    rates = [metric for metric in report.measured.metrics if isinstance(metric, Rate) and metric.id in criteria]
    named = {decision.metric for decision in report.decisions if decision.blocking}
    return Failures(
        rows=tuple(rows),
        total=sum(rate.judged.failed for rate in rates),
        blocking=report.gate.outcome == "BLOCK" and named.issuperset(criteria),
    )


def telling_criteria(report: Report) -> frozenset[str]:
    """The criteria whose failures are looked for first: those of the rules that are FAIL, else of the other rules that
    block, else all. Criteria that no case fails are none of them, and nothing is told of a run that may ship."""
    failed = {metric.id for metric in report.measured.metrics if isinstance(metric, Rate) and metric.judged.failed}
    if report.gate.outcome == "ALLOW":
        return frozenset()
    is_decided = report.gate.outcome == "BLOCK"
    blocking = [decision for decision in report.decisions if decision.blocking and is_decided]
    failing = [decision for decision in blocking if decision.state == "FAIL"]
    for decisions in (failing, blocking):
        named = failed.intersection(decision.metric for decision in decisions)
        if named:
            return frozenset(named)
    return frozenset(failed)
