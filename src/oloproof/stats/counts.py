"""Rules about the suite that ran, in three values: what every way to fill in the missing cases agrees on.

No interval and no chance enter here. With m cases missing, f failures can still become anything up to f + m; the rule
is settled when all of these have the same answer.
"""

from __future__ import annotations

from fractions import Fraction
from math import expm1, log
from typing import Literal

State = Literal["PASS", "FAIL", "INSUFFICIENT_EVIDENCE"]


def at_most_failures(passed: int, failed: int, missing: int, *, max_failures: int) -> State:
    """Whether at most ``max_failures`` cases fail; INSUFFICIENT_EVIDENCE where no case applies."""
    if failed > max_failures:
        return "FAIL"
    if failed + missing <= max_failures and passed + failed + missing > 0:
        return "PASS"
    return "INSUFFICIENT_EVIDENCE"


def failure_rate_bound(n: int, *, level: float = 0.95) -> float:
    """What n cases without a failure prove: the failure rate is at most this share, one-sided, 1 − (1 − level)^(1/n).

    A suite's PASS speaks of that suite; this is what it says of the cases that were not in it. 0.95 gives about 3/n.
    ``n`` is at least 1.
    """
    return -expm1(log(1 - Fraction(str(level))) / n)
