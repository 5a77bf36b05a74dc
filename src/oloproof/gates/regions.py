"""A rule as whole cases: how many passes, or cases within its bound, are called PASS and how many FAIL."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from oloproof.gates.evident import looks_of, may_be_evident
from oloproof.gates.sides import Side
from oloproof.model.decision import IntervalMethod, IntervalThreshold, ObservedCount, Policy
from oloproof.stats import chances, quantile
from oloproof.stats.boundaries import turns
from oloproof.stats.chances import Region

CountedRule = IntervalThreshold | ObservedCount


class Errors(NamedTuple):
    """How often a rule on a rate errs of a system exactly at its bound, of two at the one where that is more often.

    Whatever a system's rate is, the rule calls it FAIL no more often than that while the rate keeps to the bounds; and
    PASS, where there is one bound, no more often than that while it does not.
    """

    false_pass: float
    false_fail: float


def region_of(rule: CountedRule, policy: Policy, *, n: int, q: Fraction | None) -> Region | None:
    """The region of n observed cases, all of which ran: of a rule that evidence may settle, what they settle where it
    did not. ``q`` is the metric's quantile, None where it is a rate.

    None for a quantile with a minimum and a maximum: how many cases lie within does not decide that.
    """
    if q is not None and isinstance(rule, IntervalThreshold) and rule.min is not None and rule.max is not None:
        return None
    match rule:
        case _ if n == 0:
            return _undecided(n)
        case ObservedCount(max_failures=most):
            passes_from = n + 1 if n < rule.min_cases else max(0, n - most)
            return Region(n, passes_from, n, n - most - 1 if most < n else -1, n + 1)
        case IntervalThreshold() if n < rule.min_cases:
            return _undecided(n)
        case IntervalThreshold() if q is None:
            looks = looks_of(rule, policy, evident=may_be_evident(rule, policy, n=n))
            return rate_region(rule, n=n, method=policy.interval_method, level=looks.level)
        case IntervalThreshold():
            return _of_quantile(rule, policy, n=n, q=q)


def turns_of(region: Region, side: Side) -> tuple[int, int]:
    """Of the cases of one side, the number from which on the rule's bound on them is kept, and up to which it is
    broken."""
    if side == "passes":
        return region.pass_from, region.fail_to
    return region.n - region.pass_to, region.n - region.fail_from


def errors_of(rule: IntervalThreshold, region: Region, *, early: float | None = None) -> Errors:
    """By enumeration, both ends of a rule with two bounds taken together. No rate is beyond 0 or 1, so there no PASS is
    false. With the error of the evidence that may settle the rule ``early``, it is at most the sum of both."""
    found = [
        (chances.of_region(region, truth=Fraction(bound)), Fraction(bound) != last)
        for bound, last in ((rule.min, 0), (rule.max, 1))
        if bound is not None
    ]
    false_pass = max((each.passes for each, is_inside in found if is_inside), default=0.0)
    false_fail = max((each.fails for each, _ in found), default=0.0)
    return Errors(*(min(1.0, error + (early or 0.0)) for error in (false_pass, false_fail)))


def _undecided(n: int) -> Region:
    return Region(n, n + 1, n, -1, n + 1)


def rate_region(rule: IntervalThreshold, *, n: int, method: IntervalMethod, level: float) -> Region:
    """The region of a rule on a rate. A rate of at most t is a share of failures of at least 1 − t."""
    pass_from, pass_to, fail_to, fail_from = 0, n, -1, n + 1
    if rule.min is not None:
        good, bad = turns(n, Fraction(rule.min), method=method, level=level)
        pass_from, fail_to = n + 1 if good is None else good, -1 if bad is None else bad
    if rule.max is not None:
        good, bad = turns(n, 1 - Fraction(rule.max), method=method, level=level)
        pass_to, fail_from = -1 if good is None else n - good, n + 1 if bad is None else n - bad
    return Region(n, pass_from, pass_to, fail_to, fail_from)


def _of_quantile(rule: IntervalThreshold, policy: Policy, *, n: int, q: Fraction) -> Region:
    """In cases that keep to the rule's one bound: a q-quantile of at least x is a share 1 − q of values no smaller."""
    good, bad = quantile.turns(n, q=q if rule.min is None else 1 - q, level=policy.confidence_level)
    return Region(n, n + 1 if good is None else good, n, -1 if bad is None else bad, n + 1)
