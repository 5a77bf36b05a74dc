"""What would settle a rule that the evidence left open: how many more cases, and how likely.

The numbers are for planning a fresh run. Whoever adds cases to a run because of what it showed, and stops when the rule
turns, errs more often than the policy says.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, partial
from typing import Literal

from msgspec import Struct

from oloproof.model.decision import (
    Equivalence,
    IntervalMethod,
    IntervalThreshold,
    NonInferiority,
    PairFinding,
    QuantileFinding,
    RateFinding,
    Superiority,
)
from oloproof.model.measured import Quantile
from oloproof.model.tally import Tally
from oloproof.reports.words import Subject
from oloproof.stats import paired, planning, quantile

Unit = Literal["cases", "values", "pairs"]


class Settling(Struct, frozen=True, kw_only=True):
    """How many more cases would settle a rule. None where no number would.

    ``all_pass``: if all of them pass, keep to the rule's bound on a quantity (``values``), or, as ``pairs``, agree
    between the runs (for a superiority: are fixed). ``all_fail``: if all fail, break the bound, or are broken.
    ``likely``: with a probability of 90 % at the rate that was observed; None as well where it is more than 131,072.
    """

    unit: Unit
    all_pass: int | None
    all_fail: int | None
    likely: int | None


def settling_of(subject: Subject) -> Settling | None:
    """The numbers; None where the rule is settled, more cases are not what it lacks, or it has two bounds."""
    if subject.decision.reason not in ("interval_overlaps_threshold", "difference_overlaps_margin"):
        return None
    level = subject.level
    match subject.decision.finding, subject.rule:
        case RateFinding(trials=Tally()), _:
            return None  # cases that were tried more than once, or belong together, are worth no whole number
        case RateFinding(tally=tally), IntervalThreshold(min=str() as least, max=None):
            return _of_rate(tally.passed, tally.failed, tally.missing, Fraction(least), subject.method, level)
        case RateFinding(tally=tally), IntervalThreshold(min=None, max=str() as most):
            # At most t of the cases pass where at least 1 − t of them fail.
            found = _of_rate(tally.failed, tally.passed, tally.missing, 1 - Fraction(most), subject.method, level)
            return Settling(unit="cases", all_pass=found.all_fail, all_fail=found.all_pass, likely=found.likely)
        case QuantileFinding(), IntervalThreshold() as rule if isinstance(subject.metric, Quantile):
            return _of_quantile(subject.metric, rule, level=level)
        case PairFinding(table=table), Superiority():
            return _of_pairs(table.cells, 0.0, 1.0, level)
        case PairFinding(table=table), NonInferiority(margin=margin):
            return _of_pairs(table.cells, -float(margin), 1.0, level)
        case PairFinding(table=table), Equivalence(margin=margin):
            return _of_pairs(table.cells, -float(margin), float(margin), level)
        case _:
            return None


def settling_in_words(subject: Subject) -> str:
    """``28 more cases would settle it if all pass, 9 if all fail; …``; "" where there is nothing to say."""
    found = settling_of(subject)
    if found is None:
        return ""
    hope, fear = {
        "cases": ("all pass", "all fail"),
        "values": ("all keep to the bound", "none does"),
        "pairs": ("all are fixed" if isinstance(subject.rule, Superiority) else "the runs agree", "all are broken"),
    }[found.unit]
    ways = [(found.all_pass, hope), (found.all_fail, fear)]
    noun = "pairs" if found.unit == "pairs" else "cases"
    said = ", ".join(f"{more:,} if {condition}" for more, condition in ways if more is not None)
    parts = [f"more {noun} that would settle it: {said}"] if said else []
    if found.likely is None:
        parts.append("no number within reach is likely to settle it at the rate observed")
    else:
        total = f"{subject.decision.finding.n + found.likely:,}"
        parts.append(f"a fresh run of about {total} likely settles it at the rate observed")
    return "; ".join(parts)


def settling_document(settling: Settling) -> dict[str, int | None]:
    """The three numbers."""
    return {"all_pass": settling.all_pass, "all_fail": settling.all_fail, "likely": settling.likely}


@lru_cache(maxsize=256)
def _of_rate(good: int, bad: int, missing: int, share: Fraction, method: IntervalMethod, level: float) -> Settling:
    found = planning.settle(good, bad, missing, threshold=share, method=method, level=level)
    return Settling(unit="cases", all_pass=found.all_pass, all_fail=found.all_fail, likely=found.likely)


def _of_quantile(metric: Quantile, rule: IntervalThreshold, *, level: float) -> Settling | None:
    """In cases that keep to the one bound. A truncated case that has passed the bound already is known to."""
    cases = metric.distribution
    if rule.max is not None and rule.min is None:
        bound, q = float(rule.max), metric.q
        good = sum(count for value, count in cases.observed if value <= bound)
        sure = sum(count for floor, count in cases.floors if floor > bound)
        bad = cases.observed_count - good + sure
    elif rule.min is not None and rule.max is None:
        bound, q = float(rule.min), 1 - metric.q
        good = sum(count for value, count in cases.observed if value >= bound)
        bad = cases.observed_count - good
        good += sum(count for floor, count in cases.floors if floor >= bound)
    else:
        return None
    return _of_values(good, bad, cases.n - good - bad, q, level)


@lru_cache(maxsize=256)
def _of_values(good: int, bad: int, unknown: int, q: Fraction, level: float) -> Settling:
    found = planning.settle_by(good, bad, unknown, turns=partial(quantile.turns, q=q, level=level))
    return Settling(unit="values", all_pass=found.all_pass, all_fail=found.all_fail, likely=found.likely)


@lru_cache(maxsize=256)
def _of_pairs(cells: tuple[int, ...], at_least: float, at_most: float, level: float) -> Settling:
    found = planning.settle_pairs(paired.Pairs(*cells), at_least=at_least, at_most=at_most, level=level)
    return Settling(unit="pairs", all_pass=found.all_good, all_fail=found.all_broken, likely=found.likely)
