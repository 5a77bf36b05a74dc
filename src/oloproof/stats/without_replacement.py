"""What the first cases of a suite in random order say about the suite itself: the total that its full run would show.

The order is one uniformly random one, fixed by a recorded seed before the first case. Of N cases let K pass in all; the
passes s among the first t are then hypergeometric. Against the uniform prior on K = 0 … N, under which every s of t is
equally likely, the ratio of prior to posterior of the true K is a martingale, so that it ever reaches 1 / α with
probability at most α (Waudby-Smith & Ramdas 2020, arXiv 2006.04347, the prior-posterior ratio): the totals still
below it are an anytime-valid set. It speaks of this suite, not of the cases that it stands for.
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from math import inf, lgamma, log, ulp


def interval(passed: int, failed: int, missing: int, *, suite: int, level: float = 0.95) -> tuple[int, int]:
    """The least and the greatest total of passes in a suite of so many cases, at every moment of its run at once.

    Both ends grow with the passes, so what is missing is filled in at its worst for each. They lie within what is
    certain, from ``passed`` to ``suite − failed``. Raises ValueError unless 0 < level < 1.
    """
    if not 0 < level < 1:
        raise ValueError(f"a confidence level lies between 0 and 1, it cannot be {level}")
    launched = passed + failed + missing
    # The logarithms of factorials are rounded: a total that is at the limit but for that stays in.
    limit = log(1 - Fraction(str(level))) - log(launched + 1) - 16 * ulp(lgamma(suite + 1))
    best = passed + missing
    return (
        _first(passed, launched, suite=suite, limit=limit),
        suite - _first(launched - best, launched, suite=suite, limit=limit),
    )


def _first(passed: int, launched: int, *, suite: int, limit: float) -> int:
    """The least total that is likelier than the limit. The probability rises up to the observed share of the suite."""
    least, most = passed, suite - launched + passed
    likeliest = min(most, (suite + 1) * passed // launched) if launched else least
    totals = range(least, likeliest + 1)
    return least + bisect_left(totals, True, key=lambda total: _log_mass(passed, launched, suite, total) > limit)


def _log_mass(passed: int, launched: int, suite: int, total: int) -> float:
    """log P(s passes among the first t | K); −∞ where that cannot be."""
    if not passed <= total <= suite - launched + passed:
        return -inf
    chosen = _log_comb(total, passed) + _log_comb(suite - total, launched - passed)
    return chosen - _log_comb(suite, launched)


def _log_comb(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
