"""What a rule could come to, before anything has run: from the number of cases alone.

Each sentence is the rule itself, said in whole cases. It holds exactly where the decision does; only that no rule
passes of which nothing was observed goes without saying.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Final, NamedTuple, assert_never

from oloproof.errors import counted
from oloproof.gates.demands import allowed_missing
from oloproof.gates.evident import Looks, looks_of, may_be_evident
from oloproof.gates.regions import errors_of, rate_region, turns_of
from oloproof.gates.sides import OTHER, Side, amount, sides_of, so_many
from oloproof.model.decision import (
    Equivalence,
    IntervalMethod,
    IntervalThreshold,
    MaxNewFailures,
    NonInferiority,
    ObservedCount,
    Policy,
    Rule,
    Superiority,
)
from oloproof.stats import planning, quantile
from oloproof.stats.rounding import achieved_error, percent_of

MOST_CASES = 1_000_000
"""Beyond so many cases the number that a rule needs is not told."""

_VERB: Final[dict[Side, str]] = {"passes": "pass", "failures": "fail"}
_NEVER = "more than any number of cases can show"


class Outlook(NamedTuple):
    """A rule, the ``n`` cases to which its metric applies, and in a sentence what it takes to settle it."""

    rule: str
    n: int
    text: str


class _Way(NamedTuple):
    """What must be seen for a bound to be kept, or to be broken; or, where n cases cannot show that, what is needed."""

    seen: str
    needed: str = ""


def outlook(rule: Rule, policy: Policy, *, n: int, q: Fraction | None) -> Outlook:
    """What ``n`` applicable cases could settle. ``q`` is the metric's quantile, None where it is a rate. Of a rule on a
    rate that evidence may settle it is what all cases would, at what is left of the level."""
    match rule:
        case _ if n == 0:
            text = "cannot be settled: no case applies"
        case ObservedCount():
            text = _count(rule, n)
        case IntervalThreshold() if n < rule.min_cases:
            text = f"cannot be settled with {counted(n, 'case')}: min_cases is {rule.min_cases:,}"
        case IntervalThreshold():
            text = _rate(rule, policy, n) if q is None else _quantile(rule, policy, n=n, q=q)
        case Superiority() | NonInferiority() | Equivalence() | MaxNewFailures():
            text = "depends on the baseline too: on how many of its cases pass here and fail there, and the reverse"
            if isinstance(rule, MaxNewFailures) and rule.confirm:
                again = "once more" if rule.confirm == 1 else f"{rule.confirm} more times"
                text += f"; what fails here counts unless it passes {again}"
        case _ as never:
            assert_never(never)
    return Outlook(rule.id, n, text)


def _count(rule: ObservedCount, n: int) -> str:
    """Too few cases, or too many missing, hold a PASS back; a FAIL stands on the cases that failed."""
    most = rule.max_failures
    if n < rule.min_cases:
        return (
            f"cannot PASS with {counted(n, 'case')}: min_cases is {rule.min_cases:,}; FAIL when more than {most:,} fail"
        )
    text = f"PASS when at most {most:,} of {counted(n, 'case')} fail or are missing, FAIL when more fail"
    allowed = allowed_missing(rule, n)
    return text if allowed >= min(n, most) else f"{text}; no PASS when more than {allowed:,} are missing"


def _rate(rule: IntervalThreshold, policy: Policy, n: int) -> str:
    looks = looks_of(rule, policy, evident=may_be_evident(rule, policy, n=n))
    if looks.early is None:
        return _by_all_cases(rule, policy, n, looks)
    first = f"once the evidence is strong enough, else by all cases at {percent_of(looks.level)}%"
    return f"{first}: {_by_all_cases(rule, policy, n, looks)}"


def _by_all_cases(rule: IntervalThreshold, policy: Policy, n: int, looks: Looks) -> str:
    sides, method = sides_of(rule), policy.interval_method
    region = rate_region(rule, n=n, method=method, level=looks.level)
    needed = partial(_needed, method=method, level=looks.level)
    passes, fails, least = [], [], 0
    for side, share in sides:
        pass_from, fail_to = turns_of(region, side)
        least += pass_from
        passes.append(
            _Way("", needed(share, side=side, to_pass=True))
            if pass_from > n
            else _Way(f"from {so_many(pass_from, side)} of {n:,}")
        )
        fails.append(
            _Way("", needed(share, side=OTHER[side], to_pass=False))
            if fail_to < 0
            else _Way(f"from {so_many(n - fail_to, OTHER[side])}")
        )
    if len(sides) == 2 and least > n:
        passes = [_Way("", f"more: no interval of so few lies between {rule.min} and {rule.max}")]
    elif len(sides) == 1 and least <= n:
        others = f"at most {n - least:,}" if n > least else "none"
        passes = [_Way(f"{passes[0].seen} ({others} {_VERB[OTHER[sides[0][0]]]}ed or missing)")]
    errors = errors_of(rule, region, early=looks.early)
    error = achieved_error(**errors._asdict(), level=policy.confidence_level)
    return f"{_settled(passes, fails, rule, n)}; {error}"


def _needed(share: Fraction, *, side: Side, to_pass: bool, method: IntervalMethod, level: float) -> str:
    """How many cases a bound at ``share`` needs if all of them lie on ``side``."""
    needed = planning.needed_to_pass if to_pass else planning.needed_to_fail
    count = needed(share, method=method, level=level)
    if count is None:
        return _NEVER
    least = f"at least {count:,}" if count <= MOST_CASES else f"more than {MOST_CASES:,}"
    return f"{least}, all {_VERB[side]}ing"


def _quantile(rule: IntervalThreshold, policy: Policy, *, n: int, q: Fraction) -> str:
    """The bounds are the r-th and the s-th smallest of n values: at least n − r + 1 are no smaller than the one, and
    s no larger than the other."""
    level = policy.confidence_level
    r, s = quantile.ranks(n, q=q, level=level)

    def low(known: str) -> _Way:
        needed = f"at least {quantile.needed_for_upper_bound(1 - q, missing=0, level=level):,}, all {known}"
        return _Way(f"when at least {n - r + 1:,} of {counted(n, 'case')} are {known}") if r else _Way("", needed)

    def high(known: str) -> _Way:
        needed = f"at least {quantile.needed_for_upper_bound(q, missing=0, level=level):,}, all {known}"
        return _Way(f"when at least {s:,} of {counted(n, 'case')} are {known}") if s <= n else _Way("", needed)

    passes, fails = [], []
    if rule.min is not None:
        passes.append(low(f"known to be at least {amount(rule.min)}"))
        fails.append(high(f"known to be below {amount(rule.min)}"))
    if rule.max is not None:
        passes.append(high(f"known to be at most {amount(rule.max)}"))
        fails.append(low(f"known to be above {amount(rule.max)}"))
    return _settled(passes, fails, rule, n)


def _settled(passes: Sequence[_Way], fails: Sequence[_Way], rule: Rule, n: int) -> str:
    """A PASS keeps every bound, a FAIL breaks one, and neither is given where too many cases are missing."""
    needed = [way.needed for way in passes if way.needed]
    broken = [way.seen for way in fails if way.seen]
    parts = [
        f"cannot PASS with {counted(n, 'case')}: it needs {' and '.join(needed)}"
        if needed
        else f"PASS {' and '.join(way.seen for way in passes)}",
        f"FAIL {' or '.join(broken)}"
        if broken
        else f"cannot FAIL with {counted(n, 'case')}: it needs {' or '.join(way.needed for way in fails)}",
    ]
    allowed = allowed_missing(rule, n)
    if allowed < n:
        parts.append(f"neither when more than {allowed:,} are missing")
    return "; ".join(parts)
