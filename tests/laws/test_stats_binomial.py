"""Laws of binomial tails, against exact rational arithmetic."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oloproof.stats import binomial

shares = st.integers(0, 100).map(lambda percent: Fraction(percent, 100))
sizes = st.integers(0, 40)


def exact_cdf(k: int, n: int, p: Fraction) -> Fraction:
    return sum((comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k + 1)), start=Fraction(0))


@settings(deadline=None, max_examples=150)
@given(n=sizes, p=shares, data=st.data())
def test_tails_equal_rational_arithmetic(n: int, p: Fraction, data: st.DataObject) -> None:
    k = data.draw(st.integers(-1, n))
    below = exact_cdf(k, n, p)
    assert binomial.cdf(k, n=n, p=p) == pytest.approx(float(below), rel=1e-13, abs=1e-290)
    assert binomial.between(k + 1, n, n=n, p=p) == pytest.approx(float(1 - below), rel=1e-13, abs=1e-290)


@settings(deadline=None, max_examples=150)
@given(n=sizes, p=shares, limit=st.fractions(0, Fraction(99, 100), max_denominator=1000))
def test_tail_size_equals_rational_arithmetic_even_in_ties(n: int, p: Fraction, limit: Fraction) -> None:
    expected = next(k for k in range(n + 1) if exact_cdf(k, n, p) > limit)
    assert binomial.tail_size(float(limit), n=n, p=p) == expected


@settings(deadline=None, max_examples=60)
@given(n=st.integers(0, 3000), p=shares, data=st.data())
def test_tails_are_complementary_and_mirrored(n: int, p: Fraction, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    assert binomial.cdf(k, n=n, p=p) + binomial.between(k + 1, n, n=n, p=p) == pytest.approx(1, rel=0, abs=1e-14)
    assert binomial.cdf(k, n=n, p=p) == pytest.approx(binomial.between(n - k, n, n=n, p=1 - p), rel=1e-11, abs=1e-290)
