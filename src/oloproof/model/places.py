"""Where the files of a repository say what a report is about."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field


class Place(Struct, frozen=True):
    """A place in a file. ``file`` is its path from the repository's root, with ``/``; ``line`` counts from 1, 0 where
    it is not known (any more)."""

    file: str
    line: int = 0


class Places(Struct, frozen=True, kw_only=True):
    """The places of a run's cases, by id and trial, of its criteria and rules by name, and of the configuration.

    What has no place is absent: a file outside of the repository, say, or recordings that were not kept as a file.
    """

    config: Place | None = None
    rules: Mapping[str, Place] = field(default_factory=dict)
    criteria: Mapping[str, Place] = field(default_factory=dict)
    cases: Mapping[tuple[str, int], Place] = field(default_factory=dict)
