"""How strongly values in [0, 1] speak about their mean, whenever one looks: for scores of cases with several trials.

Whoever says that the mean is at most m must offer this bet: a stake λ turns a fortune into 1 + λ (x − m) times itself.
If that is true it has mean at most 1, and it is not negative for λ ≤ 1 / m. A fortune divided among the stakes
j / ((G + 1) m), j = 1 … G, is then a non-negative supermartingale, and ever reaches 1 / α with probability at most α
(Waudby-Smith & Ramdas 2024, JRSS B 86:1, the one-sided grid of stakes). It needs no model of the values.

Where the values come without replacement from a suite of N, in one uniformly random order, the mean of those still to
come is m_i = (N m − sum so far) / (N − i + 1), and the bet is on that (Waudby-Smith & Ramdas 2020, arXiv 2006.04347).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log
from typing import NamedTuple

from oloproof.stats.level import tail

_STAKES = 50

# Halvings of an interval no wider than 1: enough for 1e-12.
_HALVINGS = 40


class Score(NamedTuple):
    """A value in [0, 1] of which a part may be missing: at least ``low``, at most ``high``."""

    low: float
    high: float


def log_e(values: Sequence[float], *, mean: float) -> float:
    """The logarithm of the e-value against "the mean is at most ``mean``", 0 before the first value.

    Raises ValueError unless 0 < mean < 1.
    """
    _check(mean)
    import numpy as np

    stakes = np.arange(1, _STAKES + 1) / (_STAKES + 1)
    distinct, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    fortunes = counts @ np.log1p(np.outer(distinct / mean - 1, stakes))
    return float(np.logaddexp.reduce(fortunes)) - log(_STAKES)


def log_e_of_suite(values: Sequence[float], *, mean: float, suite: int) -> float:
    """The same against a mean of the suite's own ``suite`` values, of which these are the first in random order.

    ∞ where they rule it out, having come to more than its whole sum.
    """
    _check(mean)
    import numpy as np

    stakes = np.arange(1, _STAKES + 1) / (_STAKES + 1)
    fortunes = np.zeros(_STAKES)
    left = suite * mean
    for done, value in enumerate(values):
        expected = min(1.0, left / (suite - done))
        if expected < 0 or expected == 0 < value:
            return inf
        if expected > 0:
            fortunes += np.log1p(stakes * (value / expected - 1))
        left -= value
    return float(np.logaddexp.reduce(fortunes)) - log(_STAKES)


def interval(scores: Sequence[Score], *, level: float = 0.95) -> tuple[float, float]:
    """The bounds of the mean that hold at every moment of a run at once; (0, 1) before the first value.

    What is missing is filled in at its worst for each end. The evidence against a mean falls as that mean rises, so
    each bound is where it is 1 / ``tail(level)``. Raises ValueError unless 0 < level < 1.
    """
    wanted = -log(tail(level))
    return (
        _lower([score.low for score in scores], wanted=wanted),
        1.0 - _lower([1.0 - score.high for score in scores], wanted=wanted),
    )


def _lower(values: Sequence[float], *, wanted: float) -> float:
    bound, step = 0.0, 1.0
    for _ in range(_HALVINGS):
        step /= 2
        if log_e(values, mean=bound + step) >= wanted:
            bound += step
    return bound


def _check(mean: float) -> None:
    if not 0 < mean < 1:
        raise ValueError(f"evidence is against a mean between 0 and 1, it cannot be {mean}")
