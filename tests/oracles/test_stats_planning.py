"""Planning against published-form tables and scipy, chances against enumeration in another way."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import ceil, log

import pytest
from scipy.stats import binom, multinomial, norm

from fakes.bounds import Boundaries, boundaries
from oloproof.stats import chances, paired, planning, quantile
from oloproof.stats.paired import Pairs
from oloproof.stats.proportion import interval


@pytest.mark.parametrize("t", ["0.5", "0.8", "0.9", "0.95", "0.99", "0.999"])
def test_sizes_for_all_pass_have_closed_forms(t: str) -> None:
    share, z = float(t), norm.isf(0.025)
    assert planning.needed_to_pass(Fraction(t)) == ceil(z * z * share / (1 - share))
    assert planning.needed_to_pass(Fraction(t), method="exact") == ceil(log(0.025) / log(share))


# Threshold, truth, and the first and stable sizes for 80 % and for 90 % power of the Wilson rule.
POWER_SIZES = [
    ("0.8", "0.85", (454, 481), (607, 634)),
    ("0.8", "0.9", (100, 112), (130, 142)),
    ("0.8", "0.95", (40, 40), (47, 54)),
    ("0.9", "0.95", (217, 254), (291, 315)),
    ("0.95", "0.99", (142, 173), (173, 202)),
    ("0.99", "0.995", (2470, 2717), (3204, 3445)),
]


@pytest.mark.parametrize(("t", "truth", "eighty", "ninety"), POWER_SIZES)
def test_sizes_for_power(t: str, truth: str, eighty: tuple[int, int], ninety: tuple[int, int]) -> None:
    assert planning.needed_for_chance(Fraction(t), truth=Fraction(truth)) == eighty
    assert planning.needed_for_chance(Fraction(t), truth=Fraction(truth), chance=0.9) == ninety


def test_sizes_for_a_right_fail() -> None:
    found = planning.needed_for_chance(Fraction("0.9"), truth=Fraction("0.8"))

    def chance(n: int) -> float:
        fail_to = boundaries(n, Fraction("0.9")).fail_to
        return 0.0 if fail_to is None else float(binom.cdf(fail_to, n, 0.8))

    assert found.first == next(n for n in range(1, 500) if chance(n) >= 0.8)
    assert found.stable == next(n for n in range(1, 500) if all(chance(m) >= 0.8 for m in range(n, n + 61)))


def test_missing_budgets() -> None:
    wanted = {"0.8": [3, 12, 64, 175], "0.9": [0, 4, 28, 81], "0.95": [None, 0, 11, 36], "0.99": [None, None, 0, 3]}
    for t, budgets in wanted.items():
        turns = [(n, boundaries(n, Fraction(t)).pass_from) for n in (40, 100, 400, 1000)]
        assert [None if pass_from is None else n - pass_from for n, pass_from in turns] == budgets


@pytest.mark.parametrize("discordant", [0.02, 0.05, 0.1, 0.2])
@pytest.mark.parametrize("chance", [0.8, 0.9])
@pytest.mark.parametrize(
    ("at_least", "at_most", "difference"),
    [(-0.02, 1.0, 0.0), (-0.05, 1.0, 0.0), (-0.05, 1.0, -0.01), (-0.05, 0.05, 0.0), (-0.05, 0.05, 0.01)],
)
def test_so_many_pairs_as_are_needed_have_the_chance_by_enumeration(
    at_least: float, at_most: float, difference: float, discordant: float, chance: float
) -> None:
    """About: a normal curve for what is counted. Where few pairs differ it takes a few too many."""
    n = planning.pairs_needed(at_least, at_most=at_most, discordant=discordant, difference=difference, chance=chance)
    assert n is not None
    fixed, broken = (discordant + difference) / 2, (discordant - difference) / 2
    found = chances.of_difference(n, fixed=fixed, broken=broken, at_least=at_least, at_most=at_most)
    assert chance - 0.002 <= found.passes <= chance + 0.045


def test_what_would_settle_by_trying_every_number() -> None:
    for passed, failed, missing, t in ((33, 7, 0, "0.8"), (39, 0, 1, "0.9"), (28, 2, 10, "0.8"), (0, 0, 0, "0.8")):
        found = planning.settle(passed, failed, missing, threshold=Fraction(t))
        bar = float(t)
        assert found.all_pass == next(m for m in range(999) if interval(passed + m, failed, missing)[0] >= bar)
        assert found.all_fail == next(m for m in range(999) if interval(passed, failed + m, missing)[1] < bar)


def region(rule: Boundaries, n: int) -> chances.Region:
    """The rule's, without a maximum."""
    pass_from = n + 1 if rule.pass_from is None else rule.pass_from
    return chances.Region(n, pass_from, n, -1 if rule.fail_to is None else rule.fail_to, n + 1)


@pytest.mark.parametrize("n", [40, 100, 1000])
@pytest.mark.parametrize("truth", ["0.8", "0.9", "0.98"])
def test_power_by_scipy(n: int, truth: str) -> None:
    rule = boundaries(n, Fraction("0.9"))
    found = chances.of_region(region(rule, n), truth=Fraction(truth))
    passes = 0.0 if rule.pass_from is None else binom.sf(rule.pass_from - 1, n, float(truth))
    fails = 0.0 if rule.fail_to is None else binom.cdf(rule.fail_to, n, float(truth))
    assert found == pytest.approx((passes, fails, 1 - passes - fails), rel=0, abs=1e-10)


@pytest.mark.parametrize(("at_least", "at_most"), [(-0.2, 1.0), (0.0, 1.0), (-0.25, 0.25)])
def test_chances_of_a_difference_by_enumeration(at_least: float, at_most: float) -> None:
    n, fixed, broken = 25, 0.3, 0.15
    passes = fails = 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            mass = multinomial.pmf([b, c, n - b - c], n, [fixed, broken, 1 - fixed - broken])
            lower, upper = paired.interval(Pairs(n - b - c, b, c, 0))
            passes += mass * (lower >= at_least and upper <= at_most)
            fails += mass * (upper < at_least or lower > at_most)
    found = chances.of_difference(n, fixed=fixed, broken=broken, at_least=at_least, at_most=at_most)
    assert found == pytest.approx((passes, fails, 1 - passes - fails), rel=0, abs=1e-9)


@pytest.mark.parametrize(("discordant", "power"), [(0.02, 0.66), (0.04, 0.45), (0.1, 0.23), (0.2, 0.14)])
def test_power_of_non_inferiority(discordant: float, power: float) -> None:
    found = chances.of_difference(400, fixed=discordant / 2, broken=discordant / 2, at_least=-0.02)
    assert found.passes == pytest.approx(power, rel=0, abs=5e-3)


def test_five_thousand_cases() -> None:
    rule = boundaries(5000, Fraction("0.9"))
    assert rule.pass_from is not None
    assert rule.fail_to is not None
    found = chances.of_region(region(rule, 5000), truth=Fraction("0.9"))
    wanted = binom.sf(rule.pass_from - 1, 5000, 0.9), binom.cdf(rule.fail_to, 5000, 0.9)
    assert found[:2] == pytest.approx(wanted, rel=0, abs=1e-10)
    assert chances.of_difference(5000, fixed=0.25, broken=0.25, at_least=-0.02).passes == pytest.approx(
        0.5161, abs=5e-5
    )


# --- rules on quantiles and on pairs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("q", ["0.5", "0.9", "0.95", "0.2"])
def test_where_a_quantile_turns_is_found_for_all_sizes_at_once(q: str) -> None:
    """The sizes for power take the ranks from one vectorised search; decisions compute them one by one."""
    table = planning._quantile_table(Fraction(q), 1250, level=0.95)
    for n in (*range(1, 120), 367, 368, 1250):
        pass_from, fail_to = quantile.turns(n, q=Fraction(q))
        row = int(table.pass_from[n - 1]), int(table.fail_to[n - 1])
        assert row == (n + 1 if pass_from is None else pass_from, -1 if fail_to is None else fail_to)


def test_sizes_for_a_quantile() -> None:
    found = planning.needed_for_quantile(Fraction("0.9"), truth=Fraction("0.95"))

    def chance(n: int) -> float:
        _, s = quantile.ranks(n, q=Fraction("0.9"), level=0.95)
        return float(binom.sf(s - 1, n, 0.95))

    assert found.first == next(n for n in range(1, 999) if chance(n) >= 0.8)
    assert found.stable == next(n for n in range(1, 999) if all(chance(m) >= 0.8 for m in range(n, n + 61)))


def test_what_would_settle_a_quantile_by_trying_every_number() -> None:
    turns = partial(quantile.turns, q=Fraction("0.95"))
    found = planning.settle_by(36, 3, 1, turns=turns)

    def at_most(within: int, beyond: int) -> str:
        values = quantile.interval([1.0] * within + [9.0] * beyond, [1.0], q=Fraction("0.95"))
        return "PASS" if values.upper == 1.0 else "FAIL" if values.lower == 9.0 else ""

    assert found.all_pass == next(m for m in range(999) if at_most(36 + m, 3) == "PASS")
    assert found.all_fail == next(m for m in range(999) if at_most(36, 3 + m) == "FAIL")


@pytest.mark.parametrize(
    ("pairs", "at_least", "at_most"),
    [
        (Pairs(83, 10, 8, 19), -0.05, 1.0),
        (Pairs(40, 5, 2, 3, was_pass=2), 0.0, 1.0),
        (Pairs(90, 5, 5, 0), -0.05, 0.05),
        (Pairs(100, 0, 0, 0), -0.02, 1.0),
    ],
)
def test_what_would_settle_pairs_by_trying_every_number(pairs: Pairs, at_least: float, at_most: float) -> None:
    found = planning.settle_pairs(pairs, at_least=at_least, at_most=at_most)
    kind = "fixed" if at_least == 0 else "both_pass"

    def bounds(more: int, of: str) -> tuple[float, float]:
        return paired.interval(pairs._replace(**{of: getattr(pairs, of) + more}))

    def passes(more: int) -> bool:
        lower, upper = bounds(more, kind)
        return lower >= at_least and upper <= at_most

    assert found.all_good == next(m for m in range(999) if passes(m))
    assert found.all_broken == next(m for m in range(999) if bounds(m, "broken")[1] < at_least)


def test_pairs_that_likely_settle_do_so_in_nine_of_ten_cases() -> None:
    """A normal approximation, against the exact chance of a fresh run of that size, which is a little smaller than with
    the pairs in hand."""
    pairs = Pairs(83, 10, 8, 19)
    likely = planning.settle_pairs(pairs, at_least=-0.05).likely
    assert likely is not None
    n = pairs.n + likely
    fresh = chances.of_difference(n, fixed=10 / 120, broken=8 / 120, at_least=-0.05)
    assert 0.84 < fresh.passes + fresh.fails < 0.95


def test_no_number_of_pairs_shows_what_is_not_so() -> None:
    assert planning.pairs_needed(-0.02, discordant=0.1, difference=-0.02) is None
    assert planning.pairs_needed(0.0, discordant=0.1) is None
    assert planning.agreeing_needed(0.0) is None
    assert planning.agreeing_needed(0.02) == 189


def test_chances_of_a_rule_with_two_bounds() -> None:
    region = chances.Region(50, 30, 40, 20, 48)
    found = chances.of_region(region, truth=Fraction("0.7"))
    passes = binom.cdf(40, 50, 0.7) - binom.cdf(29, 50, 0.7)
    fails = binom.cdf(20, 50, 0.7) + binom.sf(47, 50, 0.7)
    assert found == pytest.approx((passes, fails, 1 - passes - fails), rel=0, abs=1e-12)
    nowhere = chances.of_region(chances.Region(50, 51, 50, -1, 51), truth=Fraction("0.7"))
    assert nowhere == chances.Chances(0.0, 0.0, 1.0)
