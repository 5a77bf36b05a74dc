"""Laws of adjusted p-values and of the family that they are adjusted for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oloproof.stats.multiplicity import benjamini_hochberg, tarone

p_values = st.lists(st.one_of(st.floats(0, 1), st.integers(0, 20).map(lambda n: n / 20)), max_size=30)


@settings(deadline=None, max_examples=80)
@given(p_values)
def test_adjusting_only_raises(p: list[float]) -> None:
    for raw, adjusted in zip(p, benjamini_hochberg(p), strict=True):
        assert 0 <= raw <= adjusted + 1e-15
        assert adjusted <= 1


@settings(deadline=None, max_examples=80)
@given(p_values, st.randoms(use_true_random=False))
def test_the_order_of_the_tests_does_not_matter(p: list[float], dice: object) -> None:
    order = list(range(len(p)))
    dice.shuffle(order)  # type: ignore[attr-defined]
    adjusted = benjamini_hochberg(p)
    shuffled = benjamini_hochberg([p[index] for index in order])
    assert shuffled == pytest.approx([adjusted[index] for index in order], rel=1e-12)


@settings(deadline=None, max_examples=80)
@given(p_values)
def test_adjusting_keeps_the_order_of_the_p_values(p: list[float]) -> None:
    adjusted = [value for _, value in sorted(zip(p, benjamini_hochberg(p), strict=True))]
    assert adjusted == sorted(adjusted)


@settings(deadline=None, max_examples=100)
@given(p_values, st.floats(0.001, 0.2))
def test_benjamini_and_hochberg_call_up_to_the_last_rank_below_the_line(p: list[float], level: float) -> None:
    ranked = sorted(p)
    count = max((k for k in range(1, len(p) + 1) if len(p) / k * ranked[k - 1] <= level), default=0)
    assert sum(value <= level for value in benjamini_hochberg(p)) == count


@settings(deadline=None, max_examples=80)
@given(p_values, st.floats(0.001, 0.2))
def test_the_family_is_tarones(smallest: list[float], error: float) -> None:
    def could(size: int) -> int:
        return sum(p <= error / size for p in smallest)

    size = min(k for k in range(1, len(smallest) + 2) if could(k) <= k)
    members = tarone(smallest, error=error)
    assert sum(members) == could(size) <= size
    assert all((p <= error / size) == member for p, member in zip(smallest, members, strict=True))
    # Bonferroni's correction over all of them would call no one who is left out.
    assert all(p > error / len(smallest) for p, member in zip(smallest, members, strict=True) if not member)
