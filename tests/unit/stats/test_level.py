from __future__ import annotations

import pytest

from oloproof.stats.level import tail, z


def test_the_tail_is_taken_from_the_decimal_that_was_written() -> None:
    assert tail(0.9) == 0.05
    assert tail(0.95) == 0.025
    assert tail(0.999) == 0.0005


def test_z() -> None:
    assert z(0.95) == pytest.approx(1.9599639845400543, rel=0, abs=1e-15)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, -0.5])
def test_a_level_outside_0_to_1_is_refused(level: float) -> None:
    with pytest.raises(ValueError, match="a confidence level lies between 0 and 1"):
        tail(level)
