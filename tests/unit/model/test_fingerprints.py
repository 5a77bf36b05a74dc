"""What came twice is among what is said to be repeated; what came once seldom is."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from oloproof.model.fingerprints import Fingerprints

THINGS = st.one_of(st.integers(-3, 3), st.text(max_size=2), st.tuples(st.text(max_size=1), st.integers(1, 2)))


@given(st.lists(THINGS))
def test_what_came_twice_is_repeated(things: list[object]) -> None:
    prints = Fingerprints()
    for thing in things:
        prints.add(thing)
    hashes = Counter(map(hash, things))
    assert prints.repeated() == {value for value, count in hashes.items() if count > 1}
    assert (len(prints), prints.distinct()) == (len(things), len(hashes))
