"""What the first cases of a suite in random order say about the suite itself: the total that its full run would show.

The order is one uniformly random one, fixed by a recorded seed before the first case. Of N cases let K pass in all; the
passes s among the first t are then hypergeometric. Against the uniform prior on K = 0 … N, under which every s of t is
equally likely, the ratio of prior to posterior of the true K is a martingale, so that it ever reaches 1 / α with
probability at most α (Waudby-Smith & Ramdas 2020, arXiv 2006.04347, the prior-posterior ratio): the totals still
below it are an anytime-valid set. It speaks of this suite, not of the cases that it stands for.
"""

from __future__ import annotations

from math import inf, log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def interval(passed: int, failed: int, missing: int, *, suite: int, level: float = 0.95) -> tuple[int, int]:
    """The least and the greatest total of passes in a suite of so many cases, at every moment of its run at once.

    Both ends grow with the passes, so what is missing is filled in at its worst for each. They lie within what is
    certain, from ``passed`` to ``suite − failed``. Raises ValueError unless 0 < level < 1.
    """
    if not 0 < level < 1:
        raise ValueError(f"a confidence level lies between 0 and 1, it cannot be {level}")
    launched = passed + failed + missing
    limit = log(1 - level) - log(launched + 1)
    lowest = (_log_masses(passed, launched, suite=suite) > limit).nonzero()[0][0]
    highest = (_log_masses(passed + missing, launched, suite=suite) > limit).nonzero()[0][-1]
    return int(lowest), int(highest)


def _log_masses(passed: int, launched: int, *, suite: int) -> NDArray[np.float64]:
    """For each total K = 0 … suite, log P(s passes among the first t | K); −∞ where that cannot be."""
    import numpy as np
    from scipy.special import gammaln

    def log_comb(n: NDArray[np.int64], k: int) -> NDArray[np.float64]:
        logs: NDArray[np.float64] = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
        return logs

    totals = np.arange(suite + 1)
    possible = (totals >= passed) & (totals <= suite - launched + passed)
    inside = totals[possible]
    masses = np.full(suite + 1, -inf)
    masses[possible] = log_comb(inside, passed) + log_comb(suite - inside, launched - passed)
    return masses - log_comb(np.array([suite]), launched)
