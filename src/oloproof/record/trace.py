"""The ``.trace()`` builder: it numbers steps, checks them as they come and passes each on at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypedDict, Unpack, cast

from msgspec import UNSET, UnsetType
from msgspec.structs import force_setattr, replace

from oloproof.errors import RecordError
from oloproof.model.trajectory import CheckpointKind, Step, StepKind, TerminalStatus, inside_no_call, partly_named
from oloproof.model.values import snapshot
from oloproof.record.journal import CheckpointRecorded, CheckRecorded, Event, Finished, Opened
from oloproof.record.steps import (
    RECORD_IS_OVER,
    AgentCheckpoint,
    AgentConstraintCheck,
    AgentStep,
    refused,
    require_ending,
    require_settings,
)


class Sink(Protocol):
    """Where a trace's events go, with ``lock`` held. :meth:`lack` is called when one is refused, with it held, too."""

    lock: Lock

    @property
    def lacks(self) -> bool: ...

    def lack(self) -> None: ...

    def put(self, event: Event) -> None: ...

    def put_step(self, step: Step) -> None: ...


class StepFields(TypedDict, total=False):
    """What any step may carry. ``turn`` is shared by calls issued in parallel; ``inside`` is the index of the call
    whose agent-as-a-tool took this step."""

    agent: str | None
    turn: int | None
    inside: int | None
    latency_ms: float | None
    tokens: int | None
    cost_usd: float | None
    metadata: Mapping[str, Any] | None


_FIELDS = StepFields.__annotations__.keys()


class _Progress:
    """What a trace must remember to check the next step, shared by all views of it. Guarded by the sink's lock."""

    def __init__(self, sink: Sink, step_limit: int | None) -> None:
        self.sink = sink
        self.step_limit = step_limit
        self.kinds: list[StepKind] = []
        self.names_agents = False
        self.checkpoints: set[str] = set()
        self.unbegun: dict[Call, str] = {}
        self.under_way: set[Call] = set()
        self.ending: Finished | None = None
        self.over = False


class Trace:
    """The trace of one case. Steps are numbered in the order in which they are recorded, from any thread.

    Every method that records a step returns its index. Errors: RecordError, at once, for a step that contradicts
    itself or those before it, and for anything recorded after the block.
    """

    def __init__(self, progress: _Progress, fields: StepFields) -> None:
        self._progress = progress
        self._fields = fields

    @property
    def index(self) -> int:
        """The index of the last recorded step, 0 before the first."""
        return len(self._progress.kinds)

    def within(self, **fields: Unpack[StepFields]) -> Trace:
        """The same trace, whose steps carry these fields where they do not say otherwise.

        ``billing = trace.within(agent="billing")``, then ``billing.calling("issue_refund", order_id="ord-1")``.
        """
        _refuse_unknown("within", fields)
        return Trace(self._progress, {**self._fields, **fields})

    def message(self, content: Any = None, **fields: Unpack[StepFields]) -> int:
        """Something said, by the user or the agent; ``content`` is kept as the step's arguments."""
        return self._say("message", content, fields)

    def observation(self, content: Any = None, **fields: Unpack[StepFields]) -> int:
        """Something the agent saw without calling a tool."""
        return self._say("observation", content, fields)

    def decision(self, content: Any = None, **fields: Unpack[StepFields]) -> int:
        """Something the agent decided."""
        return self._say("decision", content, fields)

    def final(self, content: Any = None, **fields: Unpack[StepFields]) -> int:
        """The agent's answer."""
        return self._say("final", content, fields)

    def handoff(self, to_agent: str, **fields: Unpack[StepFields]) -> int:
        """Control passes to ``to_agent``, which may be one that takes no step (a person)."""
        return self._record("handoff", fields, to_agent=to_agent)

    def tool_call(
        self, tool_name: str, arguments: Any = None, *, call_id: str | None = None, **fields: Unpack[StepFields]
    ) -> int:
        """A tool is called. ``arguments`` None means that they are not recorded; ``{}`` means that there are none."""
        if not _is_plain(fields, self._fields, tool_name, call_id):
            return self._record("tool_call", fields, tool_name=tool_name, arguments=arguments, call_id=call_id)
        kept = self._copied(arguments)
        return self._put(Step(index=0, kind="tool_call", tool_name=tool_name, arguments=kept, call_id=call_id))

    def tool_result(
        self,
        tool_name: str,
        result: Any = UNSET,
        *,
        error: str | BaseException | UnsetType | None = UNSET,
        call_id: str | None = None,
        **fields: Unpack[StepFields],
    ) -> int:
        """A tool answered. ``error`` None means that it is known not to have failed."""
        if not _is_plain(fields, self._fields, tool_name, call_id) or not (error is UNSET or error is None):
            return self._record("tool_result", fields, tool_name=tool_name, result=result, error=error, call_id=call_id)
        kept = result if result is UNSET else self._copied(result)
        return self._put(
            Step(index=0, kind="tool_result", tool_name=tool_name, result=kept, error=error, call_id=call_id)
        )

    def calling(self, tool_name: str, arguments: Mapping[str, Any] | None = None, /, **named: Any) -> Call:
        """Record a call now and its result when the block ends.

        ``with trace.calling("lookup_order", order_id=order_id) as call: call.result = lookup_order(order_id)``. What
        the block raises is recorded as the result's error and raised again.
        """
        with self._kept_or_lacking():
            call = Call(self, tool_name, {**(arguments or {}), **named})
        self._progress.unbegun[call] = tool_name
        return call

    def check(self, name: str, passed: bool, *, detail: str | None = None, step_index: int | None = None) -> None:
        """The environment's word on a constraint: up to ``step_index``, or of the whole run without one."""
        with self._kept_or_lacking():
            check = AgentConstraintCheck(name=name, passed=passed, detail=detail, step_index=step_index)
            with self._progress.sink.lock:
                self._refuse_unless_there(check.step_index, f"the constraint {check.name!r}")
                self._progress.sink.put(CheckRecorded(check))

    def checkpoint(
        self,
        checkpoint_id: str,
        kind: CheckpointKind = "checkpoint",
        *,
        step_index: int | None = None,
        description: str | None = None,
        payload: Any = UNSET,
    ) -> None:
        """A point from which the run could be replayed."""
        progress = self._progress
        with self._kept_or_lacking():
            checkpoint = AgentCheckpoint(
                checkpoint_id=checkpoint_id, kind=kind, step_index=step_index, description=description, payload=payload
            )
            with progress.sink.lock:
                self._refuse_unless_there(checkpoint.step_index, f"the checkpoint {checkpoint.checkpoint_id!r}")
                if checkpoint.checkpoint_id in progress.checkpoints:
                    raise refused(f"the checkpoint {checkpoint.checkpoint_id!r} is there twice")
                progress.sink.put(CheckpointRecorded(checkpoint))
                progress.checkpoints.add(checkpoint.checkpoint_id)

    def finish(self, terminal_status: TerminalStatus = "unknown", *, truncated: bool = False) -> None:
        """Say how the run ended, after its last step: ``trace.finish("success")``.

        ``truncated`` says that the agent was cut off and might have gone on. Checks may still follow; the record
        itself is finished when the block ends.
        """
        progress = self._progress
        with self._kept_or_lacking(), progress.sink.lock:
            require_ending(terminal_status, truncated)
            self._refuse_when_over()
            if progress.ending is not None:
                raise refused("finish was called twice in one trace")
            limit, count = progress.step_limit, len(progress.kinds)
            if limit is not None and count > limit and not truncated:
                raise refused(f"step {limit + 1}: it is past the step_limit of {limit}, but the trace is not truncated")
            progress.ending = Finished(terminal_status, truncated)

    def _say(self, kind: StepKind, content: Any, fields: StepFields) -> int:
        if fields or self._fields:  # without these it is plain: there is no name
            return self._record(kind, fields, arguments=content)
        return self._put(Step(index=0, kind=kind, arguments=self._copied(content)))

    def _record(self, kind: StepKind, fields: StepFields, **own: Any) -> int:
        with self._kept_or_lacking():
            _refuse_unknown(kind, fields)
            given = cast(Any, {**self._fields, **fields})
            step = AgentStep(index=len(self._progress.kinds) + 1, kind=kind, **own, **given)
        return self._put(step)

    def _put(self, step: Step) -> int:
        """Keep a step that is right by itself, as a plain one is and as :meth:`_record` makes it.

        Its values were copied before the lock is taken, since copying may run user code; its number is settled inside.
        """
        progress = self._progress
        kinds = progress.kinds
        with progress.sink.lock:
            index = len(kinds) + 1
            force_setattr(step, "index", index)
            if progress.over or progress.ending is not None:
                self._refuse_when_over()
                raise self._lacking(f"step {index}: it was recorded after finish")
            if (step.agent is not None) is not progress.names_agents:
                if kinds:
                    raise self._lacking(partly_named(step))
                progress.names_agents = True
            if step.inside is not None and kinds[step.inside - 1] != "tool_call":
                raise self._lacking(inside_no_call(step, kinds[step.inside - 1]))
            progress.sink.put_step(step)
            kinds.append(step.kind)
        return index

    def _copied(self, value: Any) -> Any:
        try:
            return snapshot(value)
        except BaseException:  # user code runs to copy it, and may say that the process ends
            self._lack()
            raise

    def _lack(self) -> None:
        with self._progress.sink.lock:
            self._progress.sink.lack()

    @contextmanager
    def _kept_or_lacking(self) -> Iterator[None]:
        """What is refused in this block happened all the same, and the agent's code may go on without it."""
        try:
            yield
        except BaseException:
            self._lack()
            raise

    def _lacking(self, what: str) -> RecordError:
        self._progress.sink.lack()
        return refused(what)

    def _refuse_unless_there(self, step_index: int | None, what: str) -> None:
        self._refuse_when_over()
        if step_index is not None and not 1 <= step_index <= len(self._progress.kinds):
            raise refused(f"step {step_index}: {what} is there, but there is no such step yet")

    def _refuse_when_over(self) -> None:
        if self._progress.over:
            self._progress.sink.lack()
            raise RecordError("nothing can be recorded any more: the trace's block has ended", code=RECORD_IS_OVER)


def _is_plain(fields: StepFields, view: StepFields, tool_name: Any, call_id: Any) -> bool:
    """Whether a step of these names is one in which :class:`AgentStep` would find nothing to settle and nothing to
    refuse: it has no further fields, its own or its view's, and its names are texts as they should be. Most steps are,
    and checking one costs more than recording it."""
    if fields or view:
        return False
    is_name = type(tool_name) is str and tool_name.isascii() and tool_name != ""
    return is_name and (call_id is None or (type(call_id) is str and call_id.isascii()))


def _refuse_unknown(method: str, fields: StepFields) -> None:
    """Errors: TypeError for what is no field of a step, with the place where it belongs."""
    unknown = [name for name in fields if name not in _FIELDS]
    if not unknown:
        return
    given = f"{{{', '.join(f'{name!r}: …' for name in unknown)}}}"
    match method:
        case "tool_call":
            place = f"what the tool is given goes into arguments={given}"
        case "tool_result":
            place = "what the tool gave goes into result="
        case "within":
            place = f"a view may set {', '.join(_FIELDS)}"
        case _:
            place = f"your own facts go into metadata={given}"
    raise TypeError(f"trace.{method}() takes no {', '.join(map(repr, unknown))}: {place}")


class Call:
    """A tool call in progress. Set ``result``; ``error`` too when the tool failed without raising.

    ``index`` is the index of the call's step, for ``inside=`` of the steps that an agent used as a tool takes.
    """

    def __init__(self, trace: Trace, tool_name: str, arguments: dict[str, Any]) -> None:
        self._trace = trace
        self._tool_name = tool_name
        self._arguments = arguments
        self.index = 0
        self.result: Any = UNSET
        self.error: str | BaseException | None = None

    def __enter__(self) -> Call:
        progress = self._trace._progress
        progress.unbegun.pop(self, None)
        progress.under_way.add(self)
        self.index = self._trace.tool_call(self._tool_name, self._arguments)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            error = self.error if exc is None else exc
            self._trace.tool_result(self._tool_name, self.result, error=error)
            self._trace._progress.under_way.discard(self)
        except RecordError:
            if exc is None:  # otherwise what the block raised matters more
                raise


class TraceBlock:
    """``with current_case().trace() as trace:``, whose normal end finishes the record."""

    def __init__(self, sink: Sink, *, step_limit: int | None, errors_recorded: bool) -> None:
        require_settings(step_limit, errors_recorded)
        self._opened = Opened(step_limit, errors_recorded)
        self._progress = _Progress(sink, step_limit)
        self._trace = Trace(self._progress, {})

    if not TYPE_CHECKING:  # a type checker finds it by itself

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(
                f"trace() opens a block and has no {name!r} itself: use `with current_case().trace() as trace:`"
            )

    def __enter__(self) -> Trace:
        with self._progress.sink.lock:
            self._progress.sink.put(self._opened)
        return self._trace

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        progress = self._progress
        ending: Finished | None = None
        try:
            if exc is None:
                self._refuse_unbegun_calls()
                if progress.ending is None:
                    self._trace.finish()
                ending = progress.ending
        finally:
            with progress.sink.lock:
                progress.over = True
                if ending is not None:  # the result of a call that still goes on comes too late, and what follows it
                    lacks = bool(progress.under_way) or progress.sink.lacks
                    progress.sink.put(replace(ending, lacks=lacks))

    def _refuse_unbegun_calls(self) -> None:
        first = next(iter(self._progress.unbegun.values()), None)
        if first is not None:
            call = f"trace.calling({first!r})"
            raise refused(f"{call} was used without `with`, so no call was recorded: use `with {call} as call:`")
