"""Which call a result answers, by id *and* order.

Real files use one id for several calls, leave ids out, and answer calls that never were. So no map from id to call is
kept, but the calls that still wait: of those a result fits, it answers the first one of the latest turn. A result that
names an id which no waiting call has may answer a call without an id, never one with another; a result without an id
answers by order, and by the tool's name where it gives one.
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
        self._by_order: dict[tuple[bool, str | None], list[deque[Call]]] | None = None

    def add(self, call: Call) -> None:
        """One more call waits."""
        self.calls.append(call)
        if call.call_id:
            _push(self._by_id, call.call_id, call)
        if self._by_order is not None:
            self._order(call)

    def answer(self, call_id: str, name: str | None = None) -> Call | None:
        """The call that a result with this id ("" for none) and tool answers, which then waits no more; None when no
        call fits."""
        call = _pop(self._by_id, call_id) if call_id else None
        if call is None:
            if self._by_order is None:  # most files never come here, and do not pay for it
                self._by_order = {}
                for waiting in self.unanswered():
                    self._order(waiting)
            call = _pop(self._by_order, (bool(call_id), name))
        if call is not None:
            call.answered = True
        return call

    def knows(self, call_id: str) -> bool:
        """Whether a call has this id, answered or not."""
        return call_id in self._by_id

    def unanswered(self) -> list[Call]:
        """The calls that still wait, in order."""
        return [call for call in self.calls if not call.answered]

    def _order(self, call: Call) -> None:
        assert self._by_order is not None
        for only_bare in (False, True) if not call.call_id else (False,):
            _push(self._by_order, (only_bare, None), call)
            _push(self._by_order, (only_bare, call.name), call)


def _push(waiting: dict[K, list[deque[Call]]], key: K, call: Call) -> None:
    turns = waiting.get(key)
    if turns is None:
        waiting[key] = [deque((call,))]
    elif turns and turns[-1] and turns[-1][0].turn == call.turn:
        turns[-1].append(call)
    else:
        turns.append(deque((call,)))


def _pop(waiting: dict[K, list[deque[Call]]], key: K) -> Call | None:
    """The first call of the latest turn under the key. Calls that were answered under another key are skipped."""
    turns = waiting.get(key)
    while turns:
        latest = turns[-1]
        while latest:
            call = latest.popleft()
            if not call.answered:
                return call
        turns.pop()
    return None
