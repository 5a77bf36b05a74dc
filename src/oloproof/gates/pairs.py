"""What two runs over the same cases say of a rule: better, no worse, the same, or nothing newly broken.

Interval rules are decided on Tango's score interval for the paired difference, at the policy's level, with every
missing pair filled in against the answer. ``max_new_failures`` is about the suite that ran, and counts.
"""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from oloproof.model.decision import (
    Equivalence,
    MaxNewFailures,
    NonInferiority,
    PairFinding,
    PairKind,
    PairRule,
    Reason,
    State,
    Superiority,
)
from oloproof.model.tally import PairTable
from oloproof.stats import paired

Answer = tuple[State, Reason]


def on_pairs(rule: PairRule, table: PairTable, *, level: float) -> tuple[PairFinding, Answer]:
    """What the rule looked at and what follows from it, before the policy's demands on the evidence."""
    pairs = paired.Pairs(*table.cells)
    lower, upper = paired.interval(pairs, level=level)
    finding = PairFinding(kind=kind_of(rule), table=table, lower=lower, upper=upper)
    match rule:
        case Superiority():
            return finding, _on_superiority(lower, upper)
        case NonInferiority():
            margin = float(rule.margin)
            return replace(finding, margin=margin), _on_margin(good=lower >= -margin, bad=upper < -margin)
        case Equivalence():
            margin = float(rule.margin)
            inside, outside = lower >= -margin and upper <= margin, upper < -margin or lower > margin
            return replace(finding, margin=margin), _on_margin(good=inside, bad=outside)
        case MaxNewFailures(max_new_failures=limit):
            state = paired.at_most_new_failures(pairs, max_new_failures=limit)
            return replace(finding, limit=limit), _on_new_failures(state)
        case _ as never:
            assert_never(never)


def kind_of(rule: PairRule) -> PairKind:
    """The rule's kind, as the policy writes it."""
    kind: PairKind = rule.__struct_config__.tag  # type: ignore[assignment]  # the tags are these words
    return kind


def margins_of(rule: Superiority | NonInferiority | Equivalence) -> tuple[float, float]:
    """Between which differences the whole interval must lie; a difference of 1 is no bound."""
    match rule:
        case Superiority():
            return 0.0, 1.0
        case NonInferiority(margin=margin):
            return -float(margin), 1.0
        case Equivalence(margin=margin):
            return -float(margin), float(margin)
        case _ as never:
            assert_never(never)


def _on_superiority(lower: float, upper: float) -> Answer:
    if lower > 0:
        return "PASS", "difference_above_zero"
    if upper <= 0:
        return "FAIL", "difference_not_above_zero"
    return "INSUFFICIENT_EVIDENCE", "difference_overlaps_margin"


def _on_margin(*, good: bool, bad: bool) -> Answer:
    if good:
        return "PASS", "difference_within_margin"
    if bad:
        return "FAIL", "difference_beyond_margin"
    return "INSUFFICIENT_EVIDENCE", "difference_overlaps_margin"


def _on_new_failures(state: str) -> Answer:
    match state:
        case "PASS":
            return "PASS", "new_failures_within_limit"
        case "FAIL":
            return "FAIL", "new_failures_exceed_limit"
        case _:
            return "INSUFFICIENT_EVIDENCE", "missing_could_hide_new_failures"
