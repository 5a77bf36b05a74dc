"""How strongly the cases so far speak about a pass rate, whenever one looks: e-values and an anytime-valid interval.

After s passes and f failures the e-value against p ≤ t averages the likelihood ratio (θ / t)^s ((1 − θ) / (1 − t))^f
over the θ above t with their share of the prior Beta(a, b), here the uniform a = b = 1 (a mixture in the sense of
Robbins 1970, truncated to one side):

    E = B(s + a, f + b) (1 − I_t(s + a, f + b)) / (B(a, b) (1 − I_t(a, b)) t^s (1 − t)^f)

Under any p ≤ t each factor has mean at most 1, even given what came before; so E is a non-negative supermartingale, and
it ever reaches 1 / α with probability at most α, however often one looks and whenever one stops (Ville 1939). Against
p ≥ t it is the same with passes and failures exchanged. Each factor grows with a pass, so counting what is missing as
failed in the first and as passed in the second only lowers the evidence.
"""

from __future__ import annotations

from math import inf, lgamma, log
from typing import NamedTuple

from oloproof.stats.level import tail

# Halvings of an interval no wider than 1, far below the rounding error of a bound.
_HALVINGS = 60


# Below this doubles lose their digits.
_SMALLEST = 2.0**-1022


class Evidence(NamedTuple):
    """The logarithms of the e-values against "the rate is at most t" and against "it is at least t"."""

    above: float
    below: float


def log_e(passed: int, failed: int, missing: int, *, threshold: float) -> Evidence:
    """The evidence that the pass rate lies above ``threshold``, and that it lies below; both 0 before the first case.

    −∞ where a side's share of the posterior is too small for a double: there is no evidence for it then. Raises
    ValueError unless 0 < threshold < 1.
    """
    if not 0 < threshold < 1:
        raise ValueError(f"evidence is for or against a rate between 0 and 1, the threshold cannot be {threshold}")
    return Evidence(
        above=_log_e(passed, failed + missing, threshold=threshold, other=1 - threshold),
        below=_log_e(failed, passed + missing, threshold=1 - threshold, other=threshold),
    )


def interval(passed: int, failed: int, missing: int, *, level: float = 0.95) -> tuple[float, float]:
    """The bounds of the pass rate that hold at every moment of a run at once; (0, 1) before the first case.

    A rate is outside as soon as the evidence against it and all beyond it reaches 1 / ``tail(level)``, so the lower
    bound reaches a threshold exactly where the evidence above it does. Exactly 0 where nothing passed and exactly 1
    where nothing failed. Raises ValueError unless 0 < level < 1.
    """
    return _lower(passed, failed + missing, level=level), 1.0 - _lower(failed, passed + missing, level=level)


def _lower(passed: int, failed: int, *, level: float) -> float:
    """The supremum of the thresholds that the evidence lies above: it falls as they rise to the observed share."""
    if passed == 0:
        return 0.0
    wanted = -log(tail(level))
    bound, step = 0.0, passed / (passed + failed)
    for _ in range(_HALVINGS):
        step /= 2
        if _log_e(passed, failed, threshold=bound + step, other=1 - bound - step) >= wanted:
            bound += step
    return bound


def _log_e(passed: int, failed: int, *, threshold: float, other: float) -> float:
    """log E against p ≤ threshold; ``other`` is 1 − threshold, given so that both sides are equally precise."""
    from scipy.special import betaincc  # 0.3 s, and a run that never stops early does without

    # The share of Beta(s + 1, f + 1) above the threshold. Where it vanishes so does the evidence: put at the smallest
    # double instead, the other factors would make it overwhelming.
    share = float(betaincc(passed + 1, failed + 1, threshold))
    if share < _SMALLEST:
        return -inf
    mixture = lgamma(passed + 1) + lgamma(failed + 1) - lgamma(passed + failed + 2)
    return mixture + log(share) - log(other) - passed * log(threshold) - failed * log(other)
