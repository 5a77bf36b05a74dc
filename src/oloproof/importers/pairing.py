"""Which call a result answers, by id *and* order.

Real files use one id for several calls, leave ids out, and answer calls that never were. So no map from id to call is
kept, but the calls that still wait: of those a result fits, it answers the first one of the latest turn. A result that
names an id answers a call of its tool, where several have the id; one whose id no waiting call has may answer a call
without an id, never one with another; a result without an id answers by order, and by the tool's name where it gives
one.
"""

from __future__ import annotations

from collections import deque
from typing import TypeVar

from msgspec import Struct

K = TypeVar("K")


class Call(Struct, gc=False):
    """A call that a trajectory holds: its step's index, what it calls, its id ("" for none) and its agent's turn."""

    index: int
    name: str
    call_id: str
    turn: int
    agent: str | None = None
    answered: bool = False


class Waiting:
    """The calls of a trajectory, in order, and which of them a result answers. Every operation takes constant time on
    average, so that a million calls without results are no trap."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._by_id: dict[str, list[deque[Call]]] = {}
        self._otherwise: dict[tuple[str | bool, str | None], list[deque[Call]]] | None = None
        """Under an id and a tool, and without an id."""

    def add(self, call: Call) -> None:
        """One more call waits."""
        self.calls.append(call)
        if call.call_id:
            _push(self._by_id, call.call_id, call)
        if self._otherwise is not None:
            self._order(call)

    def answer(self, call_id: str, name: str | None = None) -> Call | None:
        """The call that a result with this id ("" for none) and tool answers, which then waits no more; None when no
        call fits."""
        call = _first(self._by_id, call_id) if call_id else None
        if call is None:
            call = _first(self._ordered(), (bool(call_id), name))
        elif name is not None and call.name != name:
            call = _first(self._ordered(), (call_id, name)) or call
        if call is not None:
            call.answered = True
        return call

    def knows(self, call_id: str) -> bool:
        """Whether a call has this id, answered or not."""
        return call_id in self._by_id

    def unanswered(self) -> list[Call]:
        """The calls that still wait, in order."""
        return [call for call in self.calls if not call.answered]

    def _ordered(self) -> dict[tuple[str | bool, str | None], list[deque[Call]]]:
        if self._otherwise is None:  # most files never come here, and do not pay for it
            self._otherwise = {}
            for waiting in self.unanswered():
                self._order(waiting)
        return self._otherwise

    def _order(self, call: Call) -> None:
        assert self._otherwise is not None
        if call.call_id:
            _push(self._otherwise, (call.call_id, call.name), call)
        for only_bare in (False, True) if not call.call_id else (False,):
            _push(self._otherwise, (only_bare, None), call)
            _push(self._otherwise, (only_bare, call.name), call)


def _push(waiting: dict[K, list[deque[Call]]], key: K, call: Call) -> None:
    turns = waiting.get(key)
    if turns is None:
        waiting[key] = [deque((call,))]
    elif turns and turns[-1] and turns[-1][0].turn == call.turn:
        turns[-1].append(call)
    else:
        turns.append(deque((call,)))


def _first(waiting: dict[K, list[deque[Call]]], key: K) -> Call | None:
    """The first call of the latest turn under the key that waits. Those that were answered go."""
    turns = waiting.get(key)
    while turns:
        latest = turns[-1]
        while latest and latest[0].answered:
            latest.popleft()
        if latest:
            return latest[0]
        turns.pop()
    return None
