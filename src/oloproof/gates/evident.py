"""Which rules evidence may settle, and by what such a rule is decided: for whoever decides one, and whoever says
beforehand what it could come to."""

from __future__ import annotations

from typing import NamedTuple, TypeGuard

from oloproof.gates.sides import sides_of
from oloproof.model.decision import IntervalThreshold, Policy, Rule


class Looks(NamedTuple):
    """By what a rule is decided: by the interval over all of its cases at ``level``, and before that by evidence with
    the error ``early`` on each side, None where it is by none."""

    early: float | None
    level: float


def looks_of(rule: Rule, policy: Policy, *, evident: bool) -> Looks:
    """The looks at a rule that evidence may settle, or may not."""
    if not (evident and isinstance(rule, IntervalThreshold)):
        return Looks(None, policy.confidence_level)
    from oloproof.stats import sequential  # here and below: most policies let no evidence settle a rule

    (_, share), *_ = sides_of(rule)
    return Looks(*sequential.split(share, level=policy.confidence_level))


def may_be_evident(rule: Rule, policy: Policy, *, n: int) -> TypeGuard[IntervalThreshold]:
    """Whether evidence may settle the rule, as the policy would have it, before all of its ``n`` cases ran."""
    named = policy.early_stopping is not None and rule.id in policy.early_stopping.rules
    return named and isinstance(rule, IntervalThreshold) and not why_no_evidence(rule, n=n)


def why_no_evidence(rule: Rule, *, n: int) -> str:
    """Why evidence may not settle a rule that is named, "" where it may."""
    from oloproof.stats.sequential import HYBRID_MIN_CASES

    if n < HYBRID_MIN_CASES:
        return f"of {n} cases, fewer than {HYBRID_MIN_CASES}"
    if isinstance(rule, IntervalThreshold) and {0, 1} & {share for _, share in sides_of(rule)}:
        return "since there is none against a rate of 0 or 1"
    return ""
