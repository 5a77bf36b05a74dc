"""One mistake, many recordings: a file that is named twice, ids of another dataset. It is told once."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from oloproof.errors import Problem, counted

MOST_NAMED = 3


class _Told(Struct):
    first: Problem
    more: int = 0
    cases: list[str] = []


class Alike:
    """Gathers problems of recordings. Of each code the first is told at its place, with how many more there are and
    the cases of a few of them."""

    def __init__(self) -> None:
        self._told: dict[str, _Told] = {}

    def __bool__(self) -> bool:
        return bool(self._told)

    def add(self, problem: Problem, *, case: str) -> None:
        """A problem of a recording of ``case``."""
        told = self._told.setdefault(problem.code, _Told(problem))
        if told.first is problem:
            return
        told.more += 1
        if len(told.cases) < MOST_NAMED and case not in told.cases:
            told.cases.append(case)

    def problems(self) -> Iterator[Problem]:
        """One of each code, in the order in which they were found."""
        for told in self._told.values():
            if not told.more:
                yield told.first
                continue
            named = ", ".join(map(repr, told.cases))
            others = " …" if told.more > len(told.cases) else ""
            message = f"{told.first.message}; the same of {counted(told.more, 'more recording')}, of {named}{others}"
            yield replace(told.first, message=message)
