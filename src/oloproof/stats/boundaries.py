"""Where a rule on an interval turns, in whole cases.

A rule that wants at least ``threshold`` passes when the lower bound reaches it and fails when the upper bound is below
it. Bounds grow with the number of passes, so for a given n the rule is two integers; and the probability that a system
which passes exactly at the threshold is called PASS or FAIL is a binomial tail. Nominally each is (1 − level) / 2. The
Wilson interval misses that near the ends (Cai 2005): in a small suite a FAIL at a high threshold, or a PASS at a low
one, can be wrong several times as often. That is why the achieved error is worth printing.
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from math import ulp

from oloproof.stats.proportion import Method, interval

_SMALLEST = ulp(0.0)


def turns(
    n: int, threshold: Fraction, *, method: Method = "wilson", level: float = 0.95
) -> tuple[int | None, int | None]:
    """Where "the pass rate is at least ``threshold``" turns over n cases: PASS from ``pass_from`` passes on, FAIL up to
    ``fail_to``, undecided between; None where no count decides so, as of no case.

    With missing cases compare ``passed`` with the first and ``passed + missing`` with the second. A rule that wants *at
    most* t is the same rule about failures: ask for ``1 − t`` and count failures instead of passes. Raises ValueError
    unless 0 ≤ threshold ≤ 1 and 0 < level < 1.
    """
    if not 0 <= threshold <= 1:
        raise ValueError(f"a threshold for a rate lies between 0 and 1, it cannot be {threshold}")
    if n == 0:
        return None, None

    # Compared as doubles: where a bound equals the threshold in exact arithmetic (one failure of one case under the
    # exact method, 0.975), the binary tail of the double must not decide. A threshold above 0 stays above it, also
    # where no double is so small: no pass at all would reach it else.
    bar = max(float(threshold), _SMALLEST) if threshold else 0.0

    def lower_reaches(k: int) -> bool:
        return interval(k, n - k, 0, method=method, level=level)[0] >= bar

    def upper_reaches(k: int) -> bool:
        return interval(k, n - k, 0, method=method, level=level)[1] >= bar

    counts = range(n + 1)
    pass_from = bisect_left(counts, True, key=lower_reaches)
    undecided_from = bisect_left(counts, True, key=upper_reaches)
    return pass_from if pass_from <= n else None, undecided_from - 1 if undecided_from > 0 else None
