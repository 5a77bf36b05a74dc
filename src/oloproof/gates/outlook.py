"""What a rule could come to, before anything has run: from the number of cases alone."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple, assert_never

from oloproof.model.decision import IntervalThreshold, ObservedCount, Policy, Rule
from oloproof.stats import quantile
from oloproof.stats.boundaries import boundaries


class Outlook(NamedTuple):
    """A rule, the ``n`` cases to which its metric applies, and in a sentence what it takes to settle it."""

    rule: str
    n: int
    text: str


def outlook(rule: Rule, policy: Policy, *, n: int, q: Fraction | None) -> Outlook:
    """What ``n`` applicable cases could settle. ``q`` is the metric's quantile, None where it is a rate."""
    if n < rule.min_cases:
        return Outlook(rule.id, n, f"cannot be settled: {n} cases apply, min_cases is {rule.min_cases}")
    match rule:
        case ObservedCount(max_failures=most):
            text = f"PASS when at most {most} of {n} cases fail or are missing, FAIL when more fail"
        case IntervalThreshold():
            text = _rate(rule, policy, n) if q is None else _quantile(rule, policy, n, q)
        case _ as never:
            assert_never(never)
    return Outlook(rule.id, n, text)


def _rate(rule: IntervalThreshold, policy: Policy, n: int) -> str:
    parts = []
    for word, bound in (("pass", rule.min), ("fail", rule.max)):
        if bound is None:
            continue
        share = Fraction(bound) if word == "pass" else 1 - Fraction(bound)
        turn = boundaries(n, share, method=policy.interval_method, level=policy.confidence_level)
        settled = "no number of cases would PASS" if turn.pass_from is None else _pass_text(word, turn.pass_from, n)
        broken = "no number would FAIL" if turn.fail_to is None else _fail_text(word, turn.fail_to, n)
        achieved = f"false PASS {turn.false_pass:.1%}, false FAIL {turn.false_fail:.1%} at the bound"
        parts.append(f"{settled}, {broken} ({achieved})")
    return "; ".join(parts)


def _pass_text(word: str, least: int, n: int) -> str:
    if word == "pass":
        return f"PASS from {least} passes of {n} (at most {n - least} failed or missing)"
    return f"PASS with at most {n - least} of {n} failed or missing"


def _fail_text(word: str, most: int, n: int) -> str:
    return f"FAIL with {most} or fewer that pass or are missing" if word == "pass" else f"FAIL from {n - most} failures"


def _quantile(rule: IntervalThreshold, policy: Policy, n: int, q: Fraction) -> str:
    r, s = quantile.ranks(n, q=q, level=policy.confidence_level)
    parts = []
    if rule.max is not None and s > n:
        needed = quantile.needed_for_upper_bound(q, missing=0, level=policy.confidence_level)
        parts.append(f"cannot PASS: an upper bound needs {needed} cases with none missing, and {n} apply")
    elif rule.max is not None:
        parts.append(f"PASS when {s} of {n} cases are known to be at most {rule.max}")
    if rule.min is not None and r == 0:
        parts.append(f"cannot PASS: {n} cases are too few for a lower bound")
    elif rule.min is not None:
        parts.append(f"PASS when all but {r - 1} of {n} cases are known to be at least {rule.min}")
    return "; ".join(parts)
