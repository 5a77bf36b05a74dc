"""Which failures a report tells by itself: the first few, of what decided the verdict."""

from __future__ import annotations

from oloproof.model.measured import Rate
from oloproof.model.run import Report

MOST = 5
"""So many failing verdicts stand in a report: enough to see what kind of thing went wrong."""


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
