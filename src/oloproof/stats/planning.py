"""What a number of cases can settle: before a run, and after one that settled nothing.

A rule over n cases is two integers, PASS from so many passes on and FAIL up to so many, and everything here counts with
them. A rule that wants *at most* t is the same rule about failures at 1 − t. Adding cases to a run because of what it
showed is peeking: these numbers are for planning a fresh one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache, partial
from math import ceil, inf, sqrt
from typing import TYPE_CHECKING, NamedTuple

from oloproof.stats import binomial, paired
from oloproof.stats.boundaries import turns
from oloproof.stats.level import tail, z
from oloproof.stats.paired import Pairs
from oloproof.stats.proportion import Method, interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

# How far a search for a number of cases goes, in steps: most end early, and what is beyond the last is told as such.
_REACHES = (1_250, 5_000, 20_000)

# What "likely" means, and how many further cases are too many to say so, or to say anything.
_LIKELY = 0.9
_FAR = 2**17
_NEVER = 2**24


class Sizes(NamedTuple):
    """The first number of cases that has the wanted chance, and the first that keeps it; None where it is too large.

    The chance moves up in saw-teeth. ``stable`` keeps it for the next max(60, n / 20) sizes.
    """

    first: int | None
    stable: int | None


Turns = Callable[[int], tuple[int | None, int | None]]
"""From so many cases on, from how many passes a rule is PASS and up to how many it is FAIL; None where no number is."""


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


class PairSettling(NamedTuple):
    """How many more pairs would settle a rule on a difference; None where no number would, or more than 131,072.

    ``all_good``: if both runs agree on all of them, or, for a rule that asks for a difference above 0, all are fixed.
    ``all_broken``: if all are broken. ``likely``: about how many settle it with a probability of 90 % if pairs go on to
    be fixed and broken as often as those in hand, by the normal approximation.
    """

    all_good: int | None
    all_broken: int | None
    likely: int | None


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


def needed_to_fail(threshold: Fraction, *, method: Method = "wilson", level: float = 0.95) -> int | None:
    """The smallest n that is a FAIL if no case passes; None where threshold is 0."""
    bar = float(threshold)

    def fails(n: int) -> bool:
        return n > 0 and interval(0, n, 0, method=method, level=level)[1] < bar

    return _smallest(fails) if threshold > 0 else None


def needed_for_chance(
    threshold: Fraction,
    *,
    truth: Fraction,
    chance: float = 0.8,
    method: Method = "wilson",
    level: float = 0.95,
    min_cases: int = 1,
) -> Sizes:
    """How many cases give the right verdict, PASS where ``truth`` reaches the threshold, with so much probability.
    Fewer than ``min_cases`` give none."""
    table = partial(_rate_table, threshold, method=method, level=level)
    return _sizes(table, truth=truth, right_is_pass=truth >= threshold, chance=chance, min_cases=min_cases)


def needed_for_quantile(
    q: Fraction, *, truth: Fraction, chance: float = 0.8, level: float = 0.95, min_cases: int = 1
) -> Sizes:
    """The same of "the q-quantile is at most x", where in truth the share ``truth`` of all values is at most x."""
    table = partial(_quantile_table, q, level=level)
    return _sizes(table, truth=truth, right_is_pass=truth >= q, chance=chance, min_cases=min_cases)


def settle(
    passed: int, failed: int, missing: int, *, threshold: Fraction, method: Method = "wilson", level: float = 0.95
) -> Settling:
    """How many more cases would settle "the pass rate is at least ``threshold``", what is missing staying so."""
    return settle_by(passed, failed, missing, turns=partial(turns, threshold=threshold, method=method, level=level))


def settle_by(passed: int, failed: int, missing: int, *, turns: Turns) -> Settling:
    """The same of any rule that is PASS from some number of passes on, and FAIL up to another one."""

    def passes(more: int) -> bool:
        pass_from, _ = turns(passed + failed + missing + more)
        return pass_from is not None and passed + more >= pass_from

    def fails(more: int) -> bool:
        _, fail_to = turns(passed + failed + missing + more)
        return fail_to is not None and passed + missing <= fail_to

    pass_from, _ = turns(passed + failed + missing)
    return Settling(
        all_pass=_smallest(passes, limit=_NEVER),
        all_fail=_smallest(fails, limit=_NEVER),
        likely=_likely(passed, failed, missing, turns=turns),
        recovered=pass_from is not None and passed + missing >= pass_from,
    )


def settle_pairs(pairs: Pairs, *, at_least: float, at_most: float = 1.0, level: float = 0.95) -> PairSettling:
    """How many more pairs would settle "the difference lies within [at_least, at_most]", what is missing staying so."""
    hopeful = "fixed" if at_least == 0 else "both_pass"

    def with_more(more: int, kind: str) -> tuple[float, float]:
        return paired.interval(pairs._replace(**{kind: getattr(pairs, kind) + more}), level=level)

    def good(more: int) -> bool:
        lower, upper = with_more(more, hopeful)
        return lower > 0 if at_least == 0 else lower >= at_least and upper <= at_most

    def bad(more: int) -> bool:
        return with_more(more, "broken")[1] < at_least

    all_good = _smallest(good, limit=_NEVER)
    likely = _likely_pairs(pairs, at_least=at_least, at_most=at_most, level=level)
    if likely is not None and all_good is not None and not pairs.fixed + pairs.broken:
        likely = max(likely, all_good)
    return PairSettling(all_good, _smallest(bad, limit=_NEVER), likely)


def pairs_needed(
    at_least: float,
    *,
    at_most: float = 1.0,
    discordant: float,
    difference: float = 0.0,
    chance: float = 0.8,
    level: float = 0.95,
) -> int | None:
    """About how many pairs show, with so much probability, that the difference lies within [at_least, at_most], where
    in truth it is ``difference`` and the share ``discordant`` of the pairs differs; None where it does not lie within,
    or where 16 million are not enough.

    For one side n = (z √v + z_chance √(ψ − d²))² / (d − x)², by the normal approximation to b − c. Its variance a pair
    is ψ − d² in truth, and v, that of the score interval under a difference of x, is taken at the pairs that are to be
    expected (Nam 1997): where no pair is discordant that is :func:`agreeing_needed`. With two sides, the chances to
    miss either add up.
    """
    if not at_least < difference < at_most:
        return None
    table = Pairs()
    fixed, broken = (discordant + difference) / 2, (discordant - difference) / 2
    course = _Course(table, fixed=fixed, broken=broken, at_least=at_least, at_most=at_most, half_width=z(level))
    return _smallest(lambda n: n > 0 and course.missed(n) <= 1 - chance, limit=_NEVER)


def agreeing_needed(margin: float, *, level: float = 0.95) -> int | None:
    """How many pairs show that the runs differ by less than ``margin`` if no pair differs, ⌈z² (1 − δ) / δ⌉; None where
    the margin is 0."""
    return ceil(z(level) ** 2 * (1 - margin) / margin) if margin > 0 else None


class _Turns(NamedTuple):
    """For each n in order: PASS from ``pass_from`` on (n + 1 for never) and FAIL up to ``fail_to`` (−1 for never)."""

    n: Integers
    pass_from: Integers
    fail_to: Integers


def _sizes(
    table: Callable[[int], _Turns], *, truth: Fraction, right_is_pass: bool, chance: float, min_cases: int
) -> Sizes:
    found = Sizes(None, None)
    for reach in _REACHES:
        turns = table(reach)
        if right_is_pass:
            power = binomial.tails(turns.pass_from, n=turns.n, p=float(truth))
        else:
            power = binomial.tails(turns.n - turns.fail_to, n=turns.n, p=float(1 - truth))
        found = _first_and_stable((power >= chance) & (turns.n >= min_cases))
        if found.stable is not None:
            break
    return found


@lru_cache(maxsize=16)
def _rate_table(threshold: Fraction, reach: int, *, method: Method, level: float) -> _Turns:
    """The boundaries of the sizes up to ``reach``, each found from the one before."""
    import numpy as np

    rows = np.array(list(_walk(reach, threshold, method=method, level=level)), dtype=np.int64)
    return _Turns(rows[:, 0], rows[:, 1], rows[:, 2])


@lru_cache(maxsize=16)
def _quantile_table(q: Fraction, reach: int, *, level: float) -> _Turns:
    """The ranks of the sizes up to ``reach``, by halving all of them at once, as of ``quantile.ranks``."""
    import numpy as np

    n, limit = np.arange(1, reach + 1), tail(level) * (1 + binomial.ROUNDING)

    def smallest(p: Fraction) -> Integers:
        """For each n, the smallest s with P(X ≥ s) ≤ limit for X ~ Binomial(n, p)."""
        low, high = np.zeros_like(n), n + 1
        while (low < high).any():
            middle = (low + high) // 2
            holds = binomial.tails(middle, n=n, p=float(p)) <= limit
            low, high = np.where(holds, low, middle + 1), np.where(holds, middle, high)
        return low

    return _Turns(n, smallest(q), n - smallest(1 - q))


def _walk(reach: int, threshold: Fraction, *, method: Method, level: float) -> Iterator[tuple[int, int, int]]:
    # One more case moves a boundary by one case or by none: bounds grow with a pass and fall with a failure.
    bar = float(threshold)
    pass_from, fail_to = (1 if threshold > 0 else 0), -1
    for n in range(1, reach + 1):
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


def _likely(passed: int, failed: int, missing: int, *, turns: Turns) -> int | None:
    """How many further cases settle the rule with 90 % at the observed rate; see :class:`Settling`."""
    if passed + failed == 0:
        return None
    rate = Fraction(passed, passed + failed)

    def enough(more: int) -> bool:
        pass_from, fail_to = turns(passed + failed + missing + more)
        undecided_from = 0 if fail_to is None else fail_to - passed - missing + 1
        undecided_to = more if pass_from is None else pass_from - passed - 1
        return more > 0 and binomial.between(undecided_from, undecided_to, n=more, p=rate) <= 1 - _LIKELY

    return _smallest(enough, limit=_FAR)


def _likely_pairs(pairs: Pairs, *, at_least: float, at_most: float, level: float) -> int | None:
    """See :class:`PairSettling`: the further pairs are fixed and broken as often as those in hand."""
    known = pairs.both_pass + pairs.fixed + pairs.broken + pairs.both_fail
    if not known:
        return None
    fixed, broken = pairs.fixed / known, pairs.broken / known
    course = _Course(pairs, fixed=fixed, broken=broken, at_least=at_least, at_most=at_most, half_width=z(level))
    return _smallest(lambda more: course.missed(more) <= 1 - _LIKELY, limit=_FAR)


class _Course(NamedTuple):
    """Where the interval of a difference goes if to ``pairs`` come further ones that are ``fixed`` and ``broken`` with
    these shares."""

    pairs: Pairs
    fixed: float
    broken: float
    at_least: float
    at_most: float
    half_width: float

    def missed(self, more: int) -> float:
        """About how likely the interval is not where the shares lead to, wholly within the bounds or wholly beyond."""
        difference = self.fixed - self.broken
        if difference < self.at_least:
            distances = [self._under(self.at_least, more)]
        elif difference > self.at_most:
            distances = [self._over(self.at_most, more)]
        else:
            distances = [self._over(self.at_least, more)]
            if self.at_most < 1:
                distances.append(self._under(self.at_most, more))
        spread = sqrt(max(0.0, self.fixed + self.broken - difference**2) * more)
        return sum(_beyond(distance, spread) for distance in distances)

    def _over(self, bar: float, more: int) -> float:
        """How far the lower bound is above the bar, in pairs."""
        table = self.pairs.worst()
        fixed, broken = table.fixed + more * self.fixed, table.broken + more * self.broken
        return paired.margin(bar, fixed=fixed, broken=broken, n=table.n + float(more), half_width=self.half_width)

    def _under(self, bar: float, more: int) -> float:
        """How far the upper bound is below it."""
        table = self.pairs.best()
        fixed, broken = table.fixed + more * self.fixed, table.broken + more * self.broken
        return paired.margin(-bar, fixed=broken, broken=fixed, n=table.n + float(more), half_width=self.half_width)


def _beyond(distance: float, spread: float) -> float:
    """The chance that a normal deviation of this spread exceeds the distance."""
    from statistics import NormalDist

    if spread == 0:
        return 0.0 if distance >= 0 else 1.0
    return NormalDist().cdf(-distance / spread)
