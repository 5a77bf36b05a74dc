"""What is taken out whole: the paths of ``redact.fields``, followed as a value is walked through."""

from __future__ import annotations

from collections.abc import Sequence

from oloproof.model.redaction import ANY_DEPTH, ANY_KEY, Path

Places = frozenset[tuple[int, int]]
"""Which paths lead here, and how many of their keys were used up on the way."""

NOWHERE: Places = frozenset()


class Fields:
    """Paths from the roots of a record: ``input``, ``expected``, ``metadata``, ``output``, ``steps``, ``state`` …

    ``*`` is any one key or position, ``**`` any number of them. Positions of steps are left out:
    ``steps.arguments.password``.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self.start = self._closed({(number, 0) for number in range(len(paths))})

    def into(self, places: Places, key: str) -> Places:
        """The places one key further on."""
        if not places:
            return NOWHERE
        further = set()
        for number, used in places:
            path = self._paths[number]
            if used < len(path):
                if path[used] == ANY_DEPTH:
                    further.add((number, used))
                elif path[used] in (ANY_KEY, key):
                    further.add((number, used + 1))
        return self._closed(further)

    def are_whole(self, places: Places) -> bool:
        """Whether some path ends here."""
        return any(used == len(self._paths[number]) for number, used in places)

    def _closed(self, places: set[tuple[int, int]]) -> Places:
        pending = list(places)
        while pending:
            number, used = pending.pop()
            path = self._paths[number]
            if used < len(path) and path[used] == ANY_DEPTH and (number, used + 1) not in places:
                places.add((number, used + 1))
                pending.append((number, used + 1))
        return frozenset(places)
