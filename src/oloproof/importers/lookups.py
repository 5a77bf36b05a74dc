"""What ``--metadata`` asks for: values that are looked up in every run as its file has it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import UNSET, Struct

from oloproof.errors import Problem, UsageError
from oloproof.model.values import Json, lookup

_CODE = "OLO694"


class Lookup(Struct, frozen=True):
    """``key=path``: what lies at the dotted path in a run, as its file has it, is the case's metadata ``key``."""

    key: str
    path: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Lookup:
        """``$.info.task[0].name`` and ``info.task.0.name`` are the same path. UsageError for what is none."""
        key, equals, path = text.partition("=")
        keys = tuple(re.sub(r"\[(\d+)\]", r".\1", path.removeprefix("$").removeprefix(".")).split("."))
        if not key or not equals or "" in keys:
            hint = "write --metadata key=path.to.the.value"
            raise UsageError(Problem(_CODE, f"--metadata {text}: it is not of the form key=path", hint))
        return cls(key, keys)

    @property
    def absent(self) -> Problem:
        """What is told where no run has anything there."""
        hint = "a path leads into the run as its file has it: attributes.user.id, of a span"
        return Problem(_CODE, f"--metadata {self.key}: no run has {'.'.join(self.path)}", hint)

    def of(self, run: Json) -> Json:
        """What lies there in a run, as its file has it; UNSET where nothing does."""
        return _at(run, self.path)


def _at(value: Json, path: Sequence[str]) -> Json:
    """The part of ``value`` at the path, UNSET where there is none. Keys may hold dots themselves, as the attributes
    of telemetry do; the longest key that is there is taken."""
    if not path:
        return value
    if isinstance(value, dict):
        for length in range(len(path), 0, -1):
            key = ".".join(path[:length])
            if key in value:
                return _at(value[key], path[length:])
    elif isinstance(value, list):
        found = lookup(value, path[:1])
        return found if found is UNSET else _at(found, path[1:])
    return UNSET
