"""The calls of a run that are known so far, so that further records of them are recognised.

An id may be several calls' (they are taken in order), may be missing, or may be another one in every record of a call.
So a record is matched by id, tool and arguments first, then by id and tool, then by tool and arguments, and then by
tool alone where one side has no arguments.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Final

from msgspec import UNSET
from msgspec.json import encode

from oloproof.importers.foreign import arguments_of
from oloproof.importers.otel.story import Planned, Turn
from oloproof.model.values import Json, equal

MOST_COMPARED: Final = 64
"""Of so many calls of one tool in one turn the arguments are compared; then order decides."""


class Pending:
    """Calls that a model asked for and whose execution was not seen yet, by whatever key one looks for them."""

    def __init__(self) -> None:
        self._turns: dict[Hashable, list[tuple[Turn, deque[Planned]]]] = {}

    def add(self, planned: Planned, *keys: Hashable) -> None:
        for key in keys:
            turns = self._turns.setdefault(key, [])
            if not turns or turns[-1][0] is not planned.turn:
                turns.append((planned.turn, deque()))
            turns[-1][1].append(planned)

    def take(self, key: Hashable, arguments: Json = UNSET) -> Planned | None:
        """A call of the latest turn that has one under the key: that with these arguments, or the first."""
        turns = self._turns.get(key)
        while turns:
            waiting = turns[-1][1]
            while waiting and waiting[0].spanned:
                waiting.popleft()
            if waiting:
                found = _with_arguments(waiting, arguments) or waiting[0]
                found.spanned = True
                return found
            turns.pop()
        return None


def _with_arguments(waiting: deque[Planned], arguments: Json) -> Planned | None:
    if arguments is UNSET or len(waiting) == 1:
        return None
    wanted = arguments_of(arguments)
    for _, planned in zip(range(MOST_COMPARED), waiting, strict=False):
        if not planned.spanned and planned.arguments is not UNSET and equal(arguments_of(planned.arguments), wanted):
            return planned
    return None


class Known:
    """Every call of a run."""

    def __init__(self) -> None:
        self._calls: dict[Hashable, list[Planned]] = {}

    def add(self, planned: Planned) -> None:
        for key in self._keys(planned.name, planned.call_id, planned.arguments):
            self._calls.setdefault(key, []).append(planned)

    def by_id(self, call_id: str) -> list[Planned]:
        """The calls with an id, in order."""
        return self._calls.get(("id", call_id), []) if call_id else []

    def _keys(self, name: str, call_id: str, arguments: Json) -> list[Hashable]:
        keys: list[Hashable] = [("name", name, arguments is UNSET)]
        if call_id:
            keys += [("id", call_id), ("id", call_id, name)]
        if arguments is not UNSET:
            key = arguments_key(arguments)
            keys.append(("arguments", name, key))
            if call_id:
                keys.append(("same", call_id, name, key))
        return keys

    def history(self) -> History:
        return History(self._calls)


class History:
    """One history of messages, whose calls are matched from its end: its beginning may have been cut off."""

    def __init__(self, calls: dict[Hashable, list[Planned]]) -> None:
        self._calls = calls
        self._next: dict[Hashable, int] = {}
        self._taken: set[int] = set()

    def match_same(self, name: str, call_id: str, arguments: Json) -> Planned | None:
        """The latest known call with the id, the tool and the arguments that is not matched yet."""
        if not call_id or arguments is UNSET:
            return None
        return self._take(("same", call_id, name, arguments_key(arguments)))

    def match_id(self, name: str, call_id: str) -> Planned | None:
        """The latest known call with the id and the tool that is not matched yet."""
        return self._take(("id", call_id, name)) if call_id else None

    def match(self, name: str, arguments: Json) -> Planned | None:
        """The latest known call with the tool and the arguments, or without arguments on one side."""
        if arguments is UNSET:
            return self._take(("name", name, True)) or self._take(("name", name, False))
        return self._take(("arguments", name, arguments_key(arguments))) or self._take(("name", name, True))

    def _take(self, key: Hashable) -> Planned | None:
        calls = self._calls.get(key)
        if calls is None:
            return None
        at = self._next.get(key, len(calls)) - 1
        while at >= 0 and id(calls[at]) in self._taken:
            at -= 1
        self._next[key] = max(at, 0)
        if at < 0:
            return None
        self._taken.add(id(calls[at]))
        return calls[at]


def arguments_key(arguments: Json) -> bytes:
    """Equal for equal arguments, however they are written."""
    try:
        return encode(arguments_of(arguments), order="sorted")
    except RecursionError:
        return b"too deep to compare"
