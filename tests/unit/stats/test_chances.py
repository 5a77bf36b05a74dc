from __future__ import annotations

from fractions import Fraction

import pytest

from fakes.bounds import boundaries
from oloproof.stats.chances import Chances, Region, of_difference, of_region, of_staying_broken


def test_power_of_a_hundred_cases() -> None:
    rule = boundaries(100, Fraction("0.9"))
    assert (rule.pass_from, rule.fail_to) == (96, 84)
    found = of_region(Region(100, 96, 100, 84, 101), truth=Fraction("0.95"))
    assert found == pytest.approx((0.436, 0.0, 0.564), rel=0, abs=5e-4)


def test_flips() -> None:
    assert Chances(1.0, 0.0, 0.0).flips == 0.0
    assert Chances(0.5, 0.5, 0.0).flips == 0.5
    assert Chances(0.25, 0.25, 0.5).flips == 0.625


def test_a_rule_that_no_count_settles() -> None:
    never = Region(10, 11, 10, -1, 11)
    assert of_region(never, truth=Fraction(1, 2)) == Chances(0.0, 0.0, 1.0)


def test_an_unchanged_system_without_discordant_pairs() -> None:
    assert of_difference(100, fixed=0.0, broken=0.0, at_least=-0.02) == Chances(0.0, 0.0, 1.0)
    assert of_difference(200, fixed=0.0, broken=0.0, at_least=-0.02) == Chances(1.0, 0.0, 0.0)


def test_superiority_equivalence_and_their_opposites() -> None:
    assert of_difference(100, fixed=0.0, broken=0.0, at_least=0.0).passes == 0.0
    assert of_difference(200, fixed=0.0, broken=0.0, at_least=-0.02, at_most=0.02).passes == 1.0
    assert of_difference(50, fixed=1.0, broken=0.0, at_least=-0.02, at_most=0.02) == Chances(0.0, 1.0, 0.0)
    assert of_difference(50, fixed=0.0, broken=1.0, at_least=-0.02) == Chances(0.0, 1.0, 0.0)


@pytest.mark.parametrize(("before", "now"), [(0.9, 0.9), (0.95, 0.8), (0.8, 0.95), (1.0, 0.7), (0.3, 0.3), (0.2, 0.6)])
@pytest.mark.parametrize("times", [0, 1, 3])
def test_what_stays_broken(before: float, now: float, times: int) -> None:
    fixed, broken = (1 - before) * now, before * (1 - now)
    found = of_staying_broken(fixed, broken, times=times, mostly_passes=before + now >= 1)
    assert found == pytest.approx(broken * (1 - now**times) if times else broken)
