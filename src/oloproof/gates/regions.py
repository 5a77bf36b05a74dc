"""A rule as whole cases: how many passes, or cases within its bound, are called PASS and how many FAIL."""

from __future__ import annotations

from fractions import Fraction

from oloproof.model.decision import IntervalThreshold, ObservedCount, Policy
from oloproof.stats import quantile
from oloproof.stats.boundaries import turns
from oloproof.stats.chances import Region

CountedRule = IntervalThreshold | ObservedCount


def region_of(rule: CountedRule, policy: Policy, *, n: int, q: Fraction | None) -> Region | None:
    """The region of n observed cases. ``q`` is the metric's quantile, None where it is a rate.

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
            return _of_rate(rule, policy, n)
        case IntervalThreshold():
            return _of_quantile(rule, policy, n=n, q=q)


def _undecided(n: int) -> Region:
    return Region(n, n + 1, n, -1, n + 1)


def _of_rate(rule: IntervalThreshold, policy: Policy, n: int) -> Region:
    """A rate of at most t is a share of failures of at least 1 − t."""
    method, level = policy.interval_method, policy.confidence_level
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
