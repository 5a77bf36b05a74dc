"""What a rule with one bound comes to, as the gate decides it."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from oloproof.gates.regions import Errors, errors_of, rate_region
from oloproof.model.decision import IntervalThreshold
from oloproof.stats.boundaries import turns
from oloproof.stats.proportion import Method


class Boundaries(NamedTuple):
    """PASS from ``pass_from`` passes on, FAIL up to ``fail_to``; how often either is wrong at the threshold."""

    pass_from: int | None
    fail_to: int | None
    false_pass: float
    false_fail: float


def boundaries(n: int, threshold: Fraction, *, method: Method = "wilson", level: float = 0.95) -> Boundaries:
    """The boundaries of "the pass rate is at least ``threshold``" over n cases."""
    rule = IntervalThreshold(id="bound", metric="rate", min=str(threshold))
    region = rate_region(rule, n=n, method=method, level=level)
    errors = errors_of(rule, region) if n else Errors(0.0, 0.0)
    return Boundaries(*turns(n, threshold, method=method, level=level), *errors)
