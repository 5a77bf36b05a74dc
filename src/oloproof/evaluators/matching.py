"""Maximum matchings in bipartite graphs, by augmenting paths over integers."""

from __future__ import annotations

from collections.abc import Callable, Iterable


class Matching:
    """A one-to-one pairing of lefts and rights that grows by augmenting paths (Berge 1957).

    ``rights`` gives, for a left, the rights that it may be paired with; it may give more of them later. The size does
    not depend on the order in which lefts are added, nor which lefts *can* be covered together on how they are paired.
    """

    def __init__(self, rights: Callable[[int], Iterable[int]]) -> None:
        self._rights = rights
        self.left_of: dict[int, int] = {}
        self.right_of: dict[int, int] = {}

    def add(self, left: int) -> bool:
        """Pair ``left`` too, re-pairing others where that must be; False where no pairing covers it beside them.

        A left that found no partner finds none either after others were added: no need to ask again before ``rights``
        gives more.
        """
        reached: dict[int, int] = {}
        queue = [left]
        for asking in queue:
            for right in self._rights(asking):
                if right in reached:
                    continue
                reached[right] = asking
                owner = self.left_of.get(right)
                if owner is None:
                    self._flip(right, reached, left)
                    return True
                queue.append(owner)
        return False

    def add_all(self, lefts: Iterable[int]) -> list[int]:
        """Pair as many as can be; those that are left alone."""
        return [left for left in lefts if not self.add(left)]

    def _flip(self, right: int, reached: dict[int, int], start: int) -> None:
        while True:
            left = reached[right]
            given_up = self.right_of.get(left)
            self.left_of[right], self.right_of[left] = left, right
            if left == start or given_up is None:
                return
            right = given_up
