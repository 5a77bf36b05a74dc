"""What a rule demands of its evidence before that may settle it: ``min_cases`` and ``max_missing``."""

from __future__ import annotations

from fractions import Fraction
from math import floor

from oloproof.model.decision import Reason, Rule, State

Answer = tuple[State, Reason]
"""What is said of a rule, and why."""


def held_back(rule: Rule, *, n: int, missing: int) -> Answer | None:
    """Why a rule may not be settled at all on so few cases, or with so many missing; None when it may."""
    if n == 0:
        return "INSUFFICIENT_EVIDENCE", "no_observation"
    if n < rule.min_cases:
        return "INSUFFICIENT_EVIDENCE", "below_min_cases"
    if rule.max_missing is not None and Fraction(missing, n) > Fraction(rule.max_missing):
        return "INSUFFICIENT_EVIDENCE", "missing_exceeds_policy"
    return None


def allowed_missing(rule: Rule, n: int) -> int:
    """How many of n cases may be missing where the rule is settled."""
    return n if rule.max_missing is None else floor(Fraction(rule.max_missing) * n)
