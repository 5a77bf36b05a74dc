from __future__ import annotations

import pytest

from oloproof.reports.points import assumed_text, axis_texts, interval_text, margin_text


def test_bounds_of_a_difference_are_rounded_outward() -> None:
    assert interval_text((-0.0371, 0.0301)) == "[-3.8, +3.1] pp"
    assert interval_text((0.0301, 0.0371)) == "[+3.0, +3.8] pp"
    assert interval_text((-0.0371, -0.0301)) == "[-3.8, -3.0] pp"
    assert interval_text((-1e-14, 1e-14)) == "[-0.1, +0.1] pp"
    assert interval_text((-0.0371, 0.0301), digits=2) == "[-3.71, +3.01] pp"


@pytest.mark.parametrize(
    ("margin", "below", "around"),
    [(0.05, "-5 pp", "±5 pp"), (0.0195, "-1.95 pp", "±1.95 pp"), (0.0, "0 pp", "±0 pp"), (1.0, "-100 pp", "±100 pp")],
)
def test_a_margin_is_told_as_it_was_written(margin: float, below: str, around: str) -> None:
    assert (margin_text(margin, two_sided=False), margin_text(margin, two_sided=True)) == (below, around)


def test_an_axis_is_labelled_in_points() -> None:
    assert axis_texts(0.05) == ("-5 pp", "+5 pp")
    assert axis_texts(1.0) == ("-100 pp", "+100 pp")


@pytest.mark.parametrize(
    ("difference", "text"),
    [(1 / 60, "+1.667 pp"), (-0.02, "-2 pp"), (0.0, "+0 pp"), (1e-7, "+0.00001 pp"), (1.0, "+100 pp")],
)
def test_an_assumed_difference_is_told_without_an_exponent(difference: float, text: str) -> None:
    assert assumed_text(difference) == text
