"""What two runs over the same cases say of a rule: better, no worse, the same, or nothing newly broken.

Interval rules are decided on Tango's score interval for the paired difference, at the policy's level, with every
missing pair filled in against the answer. ``max_new_failures`` is about the suite that ran, and counts; where it asks
for confirmation, a broken case is one no more only if it passed every time that it was run again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from msgspec.structs import replace

from oloproof.gates.demands import Answer
from oloproof.model.decision import (
    Confirmation,
    Equivalence,
    MaxNewFailures,
    NonInferiority,
    PairFinding,
    PairRule,
    Superiority,
    kind_of,
)
from oloproof.model.tally import PairTable
from oloproof.stats import paired


def on_pairs(
    rule: PairRule, table: PairTable, *, level: float, confirmation: Confirmation | None = None
) -> tuple[PairFinding, Answer]:
    """What the rule looked at and what follows from it, before the policy's demands on the evidence.

    ``confirmation`` is what running the broken cases again came to; None where the rule does not ask for it.
    """
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
            counted = paired.Pairs(*_confirmed(table, confirmation).cells)
            state = paired.at_most_new_failures(counted, max_new_failures=limit)
            return replace(finding, limit=limit, confirmation=confirmation), _on_new_failures(state)
        case _ as never:
            assert_never(never)


def confirmation_of(
    rule: MaxNewFailures, broken: Sequence[str], letters: Mapping[str, Sequence[str]]
) -> Confirmation | None:
    """What the re-runs of the ``broken`` cases say, a letter each in ``letters``. Of more than the rule asks for, the
    first count: nobody can go on until a case passes. A case that was not run again persists."""
    if not rule.confirm:
        return None
    seen = [tuple(letters.get(case, ""))[: rule.confirm] for case in broken]
    return Confirmation(
        times=rule.confirm,
        broken=len(broken),
        rerun=sum(map(bool, seen)),
        cleared=sum(each == ("p",) * rule.confirm for each in seen),
        persisted=sum("f" in each or not each for each in seen),
    )


def _confirmed(table: PairTable, confirmation: Confirmation | None) -> PairTable:
    """The pairs with the cleared cases passing, and with those of which it is unknown missing."""
    if confirmation is None:
        return table
    return replace(
        table,
        broken=confirmation.persisted,
        both_pass=table.both_pass + confirmation.cleared,
        was_pass=table.was_pass + confirmation.unknown,
    )


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
