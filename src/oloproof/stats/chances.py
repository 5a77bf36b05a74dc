"""How likely a rule comes to each verdict under a given truth, by enumeration: power, and flips without any change.

Nothing is simulated or approximated by a normal curve. Two runs of one and the same system get different verdicts with
probability 1 − Σ P(verdict)² each time; a gate that flips often says little when it turns red.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import fsum, sqrt
from typing import TYPE_CHECKING, NamedTuple

from oloproof.stats import binomial
from oloproof.stats.level import z
from oloproof.stats.paired import margin

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

# Numbers of discordant pairs that are rarer than this are left out.
_NEGLIGIBLE = 1e-16

# What is left of 1 where nothing is.
_ROUNDING = 1e-15


class Region(NamedTuple):
    """Which numbers of passes among n cases are called PASS and which FAIL; whatever is in between is undecided.

    PASS from ``pass_from`` to ``pass_to``, both included, and FAIL up to ``fail_to`` and from ``fail_from`` on. No
    number is where the first exceeds the second, ``fail_to`` is −1 and ``fail_from`` exceeds n.
    """

    n: int
    pass_from: int
    pass_to: int
    fail_to: int
    fail_from: int

    def passes(self, count: int) -> bool:
        """Whether so many passes are called PASS."""
        return self.pass_from <= count <= self.pass_to

    def fails(self, count: int) -> bool:
        """Whether so many are called FAIL."""
        return count <= self.fail_to or count >= self.fail_from


class Chances(NamedTuple):
    """The probabilities of the three verdicts."""

    passes: float
    fails: float
    undecided: float

    @property
    def flips(self) -> float:
        """The probability that two independent runs under the same truth differ in their verdict."""
        return 1 - self.passes**2 - self.fails**2 - self.undecided**2


def of_region(region: Region, *, truth: Fraction) -> Chances:
    """The region's n cases each pass with probability ``truth``: fresh cases of one kind every time.

    A rule on a quantile is such a rule about the cases within its bound, and one on observed counts, failures or new
    failures, is PASS from n − F on and FAIL up to n − F − 1.
    """
    first, found = binomial.masses(region.n, truth)

    def between(low: int, high: int) -> float:
        return fsum(found[max(0, low - first) : max(0, high + 1 - first)])

    fails = between(0, region.fail_to) + between(region.fail_from, region.n)
    return _chances(between(region.pass_from, region.pass_to), fails)


def of_difference(
    n: int, *, fixed: float, broken: float, at_least: float, at_most: float = 1.0, level: float = 0.95
) -> Chances:
    """n pairs of which the shares ``fixed`` and ``broken`` are so on average: equal where nothing has changed.

    PASS where the score interval of the difference lies within [at_least, at_most], FAIL where it lies wholly outside.
    The trinomial outcomes are taken by the number of discordant pairs, and of these by how many are broken.
    """
    import numpy as np

    discordant = min(1.0, fixed + broken)
    first, found = binomial.masses(n, Fraction(discordant))
    masses = np.array(found)
    common = np.flatnonzero(masses > _NEGLIGIBLE)
    sizes = first + common
    given = _Given(sizes, n=n, share=broken / discordant if discordant else 0.0, half_width=z(level))
    above_least, below_least = given.lower_exceeds(at_least), given.upper_falls_below(at_least)
    within, outside = given.fewer_than(above_least), given.at_least(below_least)
    if at_most < 1:
        above_most, below_most = given.lower_exceeds(at_most), given.upper_falls_below(at_most)
        within = np.where(below_most < above_least, within - given.fewer_than(below_most), 0.0)
        outside = outside + given.fewer_than(above_most)
    weights = masses[common]
    return _chances(float((weights * within).sum()), float((weights * outside).sum()))


class _Given:
    """What holds given each of these numbers of discordant pairs, each of which is broken with a chance of ``share``.

    Both bounds of the interval fall with every pair that is broken instead of fixed, so whether one has passed a bar
    turns at one number of broken pairs, which is found by halving for all sizes at once.
    """

    def __init__(self, sizes: Integers, *, n: int, share: float, half_width: float) -> None:
        self._sizes, self._n, self._share, self._half_width = sizes, float(n), share, half_width

    def lower_exceeds(self, bar: float) -> Integers:
        """The number of broken pairs from which on the lower bound no longer lies above ``bar``."""
        # Strictly, since without a discordant pair both sides are 0 at a bar of 0, which the bounds are far from.
        return self._turn(lambda fixed, broken: self._margin(bar, fixed=fixed, broken=broken) <= 0)

    def upper_falls_below(self, bar: float) -> Integers:
        """The number from which on the upper bound lies below ``bar``."""
        return self._turn(lambda fixed, broken: self._margin(-bar, fixed=broken, broken=fixed) > 0)

    def at_least(self, broken: Integers) -> Floats:
        """The chance that so many or more are broken."""
        return binomial.tails(broken, n=self._sizes, p=self._share)

    def fewer_than(self, broken: Integers) -> Floats:
        """The chance that fewer are broken, which is that more are fixed."""
        return binomial.tails(self._sizes - broken + 1, n=self._sizes, p=1 - self._share)

    def _margin(self, bar: float, *, fixed: Floats, broken: Floats) -> Floats:
        import numpy as np

        at, n = np.full_like(fixed, bar), np.full_like(fixed, self._n)
        return margin(at, fixed=fixed, broken=broken, n=n, half_width=self._half_width)

    def _turn(self, holds: Callable[[Floats, Floats], NDArray[np.bool_]]) -> Integers:
        import numpy as np

        low, high = np.zeros_like(self._sizes), self._sizes + 1
        while (low < high).any():
            middle = (low + high) // 2
            broken = np.minimum(middle, self._sizes).astype(np.float64)
            reached = (middle > self._sizes) | holds(self._sizes - broken, broken)
            low, high = np.where(reached, low, np.minimum(middle + 1, high)), np.where(reached, middle, high)
        return low


def _chances(passes: float, fails: float) -> Chances:
    undecided = 1 - passes - fails
    return Chances(passes, fails, undecided if undecided > _ROUNDING else 0.0)


def of_staying_broken(fixed: float, broken: float, *, times: int, mostly_passes: bool = True) -> float:
    """The share of pairs that are broken and fail at least one of ``times`` re-runs, where every case has the same
    chances: of passing before, b, and now, c.

    ``fixed`` = (1 − b) c and ``broken`` = b (1 − c) leave two pairs of such chances, b and c or 1 − c and 1 − b:
    ``mostly_passes`` takes the larger ones. Where no two chances come to so many of both, those that come nearest.
    """
    if not times:
        return broken
    difference = fixed - broken
    root = sqrt(max(0.0, (1 - difference) ** 2 - 4 * broken))
    before = (1 - difference + (root if mostly_passes else -root)) / 2
    now = min(1.0, max(0.0, before + difference))
    return float(broken * (1 - now**times))
