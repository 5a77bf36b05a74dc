"""The Model Context Protocol: what a session calls becomes steps of the running case.

A session is wrapped rather than changed, so that one which several cases share tells each of them of its own calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol, TypeVar, cast
from uuid import uuid4

from oloproof.errors import RecordError
from oloproof.importers.otel.dialects.mcp import outcome
from oloproof.model.values import Json
from oloproof.record.case import current_case
from oloproof.record.trace import Trace
from oloproof.recorders.plain import plain


class Session(Protocol):
    """What calls tools: ``Client``, ``ClientSession`` and ``ClientSessionGroup`` of the package ``mcp``, and others."""

    @property
    def call_tool(self) -> Any: ...


S = TypeVar("S", bound=Session)


@contextmanager
def record_mcp(session: S, *, trace: Trace | None = None) -> Iterator[S]:
    """Record the tools that the running case calls over a session: ``with record_mcp(session) as session:``.

    The block gives a session that does what the given one does and records each call of ``call_tool``: its arguments,
    what came back, ``isError``, and what was raised instead. Calls that began before one of them came back share a
    turn. ``trace`` records into a trace of your own, beside your own steps and other sessions; None: the block is the
    trace of the case. When the block raises, the trajectory is truncated.

    Errors: RecordError outside a case, and where the case has been recorded already.
    """
    if trace is not None:
        yield cast(S, _Recorded(session, trace))
        return
    with current_case().trace() as own:
        turns = _Turns()
        yield cast(S, _Recorded(session, own, turns))
        if turns.under_way:
            own.finish(truncated=True)


class _Turns:
    """Which calls were made together: those that began before one of them came back. A turn is numbered after the step
    that began it, so that sessions with one trace do not share numbers. ``under_way``: so many have not come back."""

    def __init__(self) -> None:
        self._turn = 0
        self.under_way = 0

    def begin(self, step: int) -> int:
        self._turn = self._turn or step
        self.under_way += 1
        return self._turn

    def end(self) -> None:
        self._turn = 0
        self.under_way -= 1


class _Recorded:
    """A session whose calls are recorded. All else is the session's own."""

    def __init__(self, session: Session, trace: Trace, turns: _Turns | None = None) -> None:
        self._session = session
        self._trace = trace
        self._turns = turns or _Turns()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._session, name)
        if name == "session" and hasattr(found, "call_tool"):  # a client's, to which callers may go directly
            return _Recorded(found, self._trace, self._turns)
        return found

    async def call_tool(self, name: str, arguments: dict[str, Any] | None = None, *others: Any, **named: Any) -> Any:
        """The session's own, recorded."""
        trace, call_id = self._trace, uuid4().hex
        trace.tool_call(name, arguments or {}, call_id=call_id, turn=self._turns.begin(trace.index + 1))
        try:
            result = await self._session.call_tool(name, arguments, *others, **named)
        except BaseException as error:
            self._turns.end()
            with suppress(RecordError):  # what was raised matters more
                trace.tool_result(name, error=error, call_id=call_id)
            raise
        self._turns.end()
        given, said = _outcome(result)
        if said is None:
            trace.tool_result(name, given, error=None, call_id=call_id)
        else:
            trace.tool_result(name, error=said, call_id=call_id)
        return result


def _outcome(result: Any) -> tuple[Json, str | None]:
    """What a call gave and its error. Packages name the fields of a result in the one or the other way; one that cannot
    be written down may still say that it is an error."""
    told = plain(result)
    fields = told if isinstance(told, dict) else {}
    failed = any(fields.get(name) or getattr(result, name, False) for name in ("isError", "is_error"))
    if "content" not in fields:
        return told, "error" if failed else None
    structured = fields.get("structuredContent", fields.get("structured_content"))
    return outcome({**fields, "structuredContent": structured, "isError": failed})
