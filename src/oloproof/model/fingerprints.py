"""Whether something came twice, of so many things that they cannot all be kept: eight bytes each."""

from __future__ import annotations

from array import array
from collections.abc import Hashable
from itertools import pairwise

_BUCKETS = 256  # so that what is sorted at a time stays small


class Fingerprints:
    """The hashes of what it was shown. Two different things may have the same one, so whoever asks looks again at those
    that are said to be :meth:`repeated`."""

    def __init__(self) -> None:
        self._buckets = [array("q") for _ in range(_BUCKETS)]
        self._add = [bucket.append for bucket in self._buckets]

    def add(self, thing: Hashable) -> None:
        """The next thing."""
        value = hash(thing)
        self._add[value % _BUCKETS](value)

    def __len__(self) -> int:
        """How many things it was shown."""
        return sum(map(len, self._buckets))

    def repeated(self) -> frozenset[int]:
        """The hashes that came more than once."""
        return frozenset(a for bucket in self._buckets for a, b in pairwise(sorted(bucket)) if a == b)

    def distinct(self) -> int:
        """How many different hashes there are."""
        return sum(len(set(bucket)) for bucket in self._buckets)
