"""What a number of cases can settle: before a run, and after one that settled nothing.

A rule over n cases is two integers, PASS from so many passes on and FAIL up to so many, and everything here counts with
them. A rule that wants *at most* t is the same rule about failures at 1 − t. Adding cases to a run because of what it
showed is peeking: these numbers are for planning a fresh one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import ceil, inf
from typing import TYPE_CHECKING, NamedTuple

from oloproof.stats import binomial
from oloproof.stats.boundaries import boundaries
from oloproof.stats.level import z
from oloproof.stats.proportion import Method, interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

# How far a search for a number of cases goes, in steps: most end early, and what is beyond the last is told as such.
_REACHES = (1_250, 5_000, 20_000)

# What "likely" means, and how many further cases are too many to say so.
_LIKELY = 0.9
_FAR = 2**17


class Sizes(NamedTuple):
    """The first number of cases that has the wanted chance, and the first that keeps it; None where it is too large.

    The chance moves up in saw-teeth. ``stable`` keeps it for the next max(60, n / 20) sizes.
    """

    first: int | None
    stable: int | None


class Settling(NamedTuple):
    """How many more cases would settle a rule, if all of them pass or if all fail; None where no number would.

    ``likely`` settles it with a probability of 90 % if the observed rate is the true one, given what is in hand, and
    one case less would not; None as well where nothing was observed or 131,072 are not enough, as where that rate is
    the threshold. The chance rises in saw-teeth, so that a few smaller numbers may do too; and it is hopeful, since the
    observed rate is itself uncertain. ``recovered`` says whether the missing cases would settle the rule as PASS if
    they all passed.
    """

    all_pass: int | None
    all_fail: int | None
    likely: int | None
    recovered: bool


def needed_to_pass(
    threshold: Fraction, *, failures: int = 0, method: Method = "wilson", level: float = 0.95
) -> int | None:
    """The smallest n that passes with so many failures; None where threshold is 1.

    Without failures it is ⌈z² t / (1 − t)⌉ for the Wilson interval and ⌈ln(tail) / ln t⌉ for the exact one.
    """
    bar = float(threshold)

    def passes(n: int) -> bool:
        return n > failures and interval(n - failures, failures, 0, method=method, level=level)[0] >= bar

    return _smallest(passes) if threshold < 1 else None


def missing_budget(n: int, threshold: Fraction, *, method: Method = "wilson", level: float = 0.95) -> int | None:
    """How many of n cases may fail or be missing in a PASS; None where even none is too many."""
    pass_from = boundaries(n, threshold, method=method, level=level).pass_from
    return None if pass_from is None else n - pass_from


def needed_for_chance(
    threshold: Fraction, *, truth: Fraction, chance: float = 0.8, method: Method = "wilson", level: float = 0.95
) -> Sizes:
    """How many cases give the right verdict, PASS where ``truth`` reaches the threshold, with so much probability."""
    right_is_pass = truth >= threshold

    def power(n: Integers, turns: _Turns) -> Floats:
        if right_is_pass:
            return _at_least(turns.pass_from, n=n, p=float(truth))
        return _at_least(n - turns.fail_to, n=n, p=float(1 - truth))

    found = Sizes(None, None)
    for reach in _REACHES:
        turns = _turns(0, reach, threshold, method=method, level=level)
        found = _first_and_stable(power(turns.n, turns) >= chance)
        if found.stable is not None:
            return found
    return found


def settle(
    passed: int, failed: int, missing: int, *, threshold: Fraction, method: Method = "wilson", level: float = 0.95
) -> Settling:
    """How many more cases would settle "the pass rate is at least ``threshold``", what is missing staying so."""
    bar = float(threshold)

    def passes(more: int) -> bool:
        counted = passed + more + failed + missing > 0
        return counted and interval(passed + more, failed, missing, method=method, level=level)[0] >= bar

    def fails(more: int) -> bool:
        return interval(passed, failed + more, missing, method=method, level=level)[1] < bar

    return Settling(
        all_pass=_smallest(passes) if threshold < 1 else None,
        all_fail=_smallest(fails) if threshold > 0 else None,
        likely=_likely(passed, failed, missing, threshold=threshold, method=method, level=level),
        recovered=interval(passed + missing, failed, 0, method=method, level=level)[0] >= bar,
    )


def pairs_needed(margin: float, *, discordant: float, chance: float = 0.8, level: float = 0.95) -> int:
    """About how many pairs show, with so much probability, that an unchanged system is not worse by ``margin``.

    n = (z + z_chance)² ψ / δ² where the share ψ of the pairs is discordant, by the normal approximation to b − c with
    variance n ψ; and at least z² (1 − δ) / δ, which the score interval wants where no pair is discordant.
    """
    from statistics import NormalDist

    reach = z(level) + NormalDist().inv_cdf(chance)
    return ceil(max(reach**2 * discordant / margin**2, z(level) ** 2 * (1 - margin) / margin))


class _Turns(NamedTuple):
    """For each n in order: PASS from ``pass_from`` on (n + 1 for never) and FAIL up to ``fail_to`` (−1 for never)."""

    n: Integers
    pass_from: Integers
    fail_to: Integers


def _turns(start: int, more: int, threshold: Fraction, *, method: Method, level: float) -> _Turns:
    """The boundaries of the ``more`` sizes after ``start``, each found from the one before."""
    import numpy as np

    rows = np.array(list(_walk(start, more, threshold, method=method, level=level)), dtype=np.int64)
    return _Turns(rows[:, 0], rows[:, 1], rows[:, 2])


def _walk(
    start: int, more: int, threshold: Fraction, *, method: Method, level: float
) -> Iterator[tuple[int, int, int]]:
    # One more case moves a boundary by one case or by none: bounds grow with a pass and fall with a failure.
    bar = float(threshold)
    rule = boundaries(start, threshold, method=method, level=level)
    never = start + 1 if threshold > 0 else 0
    pass_from = never if rule.pass_from is None else rule.pass_from
    fail_to = -1 if rule.fail_to is None else rule.fail_to
    for n in range(start + 1, start + more + 1):
        if interval(pass_from, n - pass_from, 0, method=method, level=level)[0] < bar:
            pass_from += 1
        if interval(fail_to + 1, n - fail_to - 1, 0, method=method, level=level)[1] < bar:
            fail_to += 1
        yield n, pass_from, fail_to


def _first_and_stable(enough: NDArray[np.bool_]) -> Sizes:
    """Of the sizes 1, 2, 3, …, those that :class:`Sizes` names; what lies beyond the last counts as not enough."""
    import numpy as np

    sizes = np.flatnonzero(enough) + 1
    short = np.append(np.flatnonzero(~enough) + 1, enough.size + 1)
    kept = short[np.searchsorted(short, sizes)] - sizes
    stable = sizes[kept > np.maximum(60, sizes // 20)]
    return Sizes(int(sizes[0]) if sizes.size else None, int(stable[0]) if stable.size else None)


def _smallest(holds: Callable[[int], bool], *, limit: float = inf) -> int | None:
    """The smallest number for which it holds, where it then holds for all that follow; None if that exceeds limit."""
    enough = 1
    while not holds(enough):
        enough *= 2
        if enough > limit:
            return None
    return bisect_left(range(enough), True, key=holds)


def _likely(passed: int, failed: int, missing: int, *, threshold: Fraction, method: Method, level: float) -> int | None:
    """How many further cases settle the rule with 90 % at the observed rate; see :class:`Settling`."""
    if passed + failed == 0:
        return None
    rate = Fraction(passed, passed + failed)

    def enough(more: int) -> bool:
        turn = boundaries(passed + failed + missing + more, threshold, method=method, level=level)
        settled = 0.0
        if turn.pass_from is not None:
            settled += binomial.sf(turn.pass_from - passed - 1, n=more, p=rate)
        if turn.fail_to is not None:
            settled += binomial.cdf(turn.fail_to - passed - missing, n=more, p=rate)
        return more > 0 and settled >= _LIKELY

    return _smallest(enough, limit=_FAR)


def _at_least(k: Integers, *, n: Integers, p: float) -> Floats:
    """P(X ≥ k) for X ~ Binomial(n, p), element by element: the incomplete beta function I_p(k, n − k + 1)."""
    import numpy as np
    from scipy.special import betainc

    inside = np.clip(k, 1, n)
    tails: Floats = np.where(k < 1, 1.0, np.where(k > n, 0.0, betainc(inside, n - inside + 1, p)))
    return tails
