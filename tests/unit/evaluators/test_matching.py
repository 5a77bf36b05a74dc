"""Maximum matchings beside every pairing there is."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from oloproof.evaluators.matching import Matching

EDGES = st.lists(st.sets(st.integers(0, 4)), max_size=5)


def largest(edges: list[set[int]]) -> int:
    """The size of the best of all injective pairings."""
    orders = permutations([*range(5), *[None] * len(edges)], len(edges))
    return max(sum(right in rights for right, rights in zip(order, edges, strict=True)) for order in orders)


@given(EDGES, st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_as_many_as_can_be_are_paired_in_whatever_order_they_come(edges: list[set[int]], dice: object):
    order = list(range(len(edges)))
    dice.shuffle(order)  # type: ignore[attr-defined]
    matching = Matching(edges.__getitem__)
    alone = matching.add_all(order)
    assert len(edges) - len(alone) == largest(edges) == len(matching.left_of)
    assert {left: right for right, left in matching.left_of.items()} == matching.right_of
    assert all(right in edges[left] for left, right in matching.right_of.items())


def test_a_long_chain_is_flipped_without_recursion():
    matching = Matching(lambda left: (left, left + 1) if left < 5000 else (0,))
    assert matching.add_all(range(5001)) == []
