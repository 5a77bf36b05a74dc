"""``current_case()``: the case that this code runs for, and the one record that it may leave.

A context variable carries it, so it is right under asyncio and in the runner's threads. It never holds what is
expected of the case.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, Token
from threading import Lock, current_thread, main_thread
from typing import Any, Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from oloproof.errors import RecordError, with_article
from oloproof.model.case import State
from oloproof.model.trajectory import Step, Trajectory
from oloproof.model.values import snapshot
from oloproof.record.forks import Mark
from oloproof.record.journal import (
    Event,
    Finished,
    HandedOver,
    StateRecorded,
    StepRecorded,
    as_beginning,
    as_sent,
    decode,
    encode,
    recorded,
    recorded_state,
)
from oloproof.record.steps import RECORD_IS_OVER, AgentTrajectory, refused
from oloproof.record.trace import TraceBlock


class Recorder:
    """The record of one attempt. ``sink`` is told each event in the order of the record, one at a time, as JSON.

    Of the steps no more than that is kept: it is what is sent, too.
    """

    def __init__(self, sink: Callable[[bytes], None]) -> None:
        self.lock = Lock()
        self._sink = sink
        self._steps: list[bytes] = []
        self._events: list[Event] = []
        """The other ones."""
        self._claimed = False
        self._over = ""
        self._is_copy = False
        self._lacks = False
        self._mark = Mark(self)

    def forked(self) -> None:
        """Of the copy that a forked process has: refuse everything. Whoever held the lock is not there."""
        self.lock = Lock()
        self._is_copy = True
        self._over = self._over or "this process was forked from the one that the case runs in; use threads"

    def claim(self) -> None:
        """A case leaves one record. Errors: RecordError for a second one."""
        with self.lock:
            if self._claimed:
                if not any(isinstance(event, HandedOver) for event in self._events):  # that one was said to be whole
                    self.lack()
                raise RecordError(
                    "this case has been recorded already: one trajectory or one trace a case", code=RECORD_IS_OVER
                )
            self._refuse_when_over()
            self._claimed = True

    @property
    def lacks(self) -> bool:
        """Something was refused, or a forked process wanted to add to the record."""
        return self._lacks or self._mark.is_set

    def lack(self) -> None:
        """Something was refused, and happened all the same. The caller holds :attr:`lock`.

        Of a trace that has ended the end is told anew: the process may be killed before the record is sent.
        """
        if self._is_copy:
            self._mark.set()
            return
        was, self._lacks = self._lacks, True
        ended = next((event for event in reversed(self._events) if isinstance(event, Finished)), None)
        if ended is not None and not (was or self._over):
            self.put(replace(ended, lacks=True))

    def put(self, event: Event) -> None:
        """Keep an event that is no step. The caller holds :attr:`lock`."""
        self._refuse_when_over()
        line = encode(event)
        self._events.append(event)
        self._sink(line)

    def put_step(self, step: Step) -> None:
        """Keep a step. The caller holds :attr:`lock`."""
        if self._over:
            self._refuse_when_over()
        line = encode(StepRecorded(step))
        self._steps.append(line)
        self._sink(line)

    def so_far(self) -> Trajectory | None:
        """What is recorded now, None when nothing is."""
        with self.lock:
            return self._as_known(recorded([*map(decode, self._steps), *self._events]))

    def to_send(self) -> Trajectory | None:
        """The same, for nothing but being encoded: its steps are JSON already."""
        with self.lock:
            return self._as_known(recorded(self._events, as_sent(self._steps)))

    def put_state(self, state: State) -> None:
        """Keep the state before or after the case. Errors: RecordError where it was kept already."""
        with self.lock:
            kept = recorded_state(self._events)
            for name in state.__struct_fields__:
                if getattr(state, name) is not UNSET and getattr(kept, name, UNSET) is not UNSET:
                    raise RecordError(f"the state {name} the case has been recorded already", code=RECORD_IS_OVER)
            self.put(StateRecorded(state))

    def state(self) -> State | None:
        """The state that is recorded now, None when none is."""
        with self.lock:
            return recorded_state(self._events)

    def close(self, why: str) -> None:
        """End the record; later events are refused with ``why``."""
        with self.lock:
            self._over = self._over or why
            self._mark.close()

    def _as_known(self, trajectory: Trajectory | None) -> Trajectory | None:
        """A beginning where it :attr:`lacks` something."""
        return as_beginning(trajectory) if trajectory is not None and self.lacks else trajectory

    def _refuse_when_over(self) -> None:
        if self._over:
            if self._is_copy:
                self._mark.set()
            raise RecordError(f"nothing can be recorded any more: {self._over}", code=RECORD_IS_OVER)


class CurrentCase(Struct, frozen=True, kw_only=True):
    """The running case: ``id``, ``input``, ``metadata``, ``trial`` (from 1) and ``seed``.

    The seed is the same whenever the same trial of the same case runs.
    """

    id: str
    input: Any
    metadata: dict[str, Any]
    seed: int
    trial: int
    _recorder: Recorder

    def agent_trajectory(self, trajectory: Trajectory) -> None:
        """Hand over the finished trajectory of this case. It stays finished whatever happens next.

        Errors: RecordError when the case has been recorded already.
        """
        if not isinstance(trajectory, Trajectory):
            raise refused(f"agent_trajectory takes an AgentTrajectory, not {with_article(type(trajectory).__name__)}")
        if not isinstance(trajectory, AgentTrajectory):
            trajectory = AgentTrajectory(**{name: getattr(trajectory, name) for name in trajectory.__struct_fields__})
        self._recorder.claim()
        with self._recorder.lock:
            self._recorder.put(HandedOver(trajectory))

    def state(self, after: Any = UNSET, /, *, before: Any = UNSET) -> None:
        """Record the state of the world that this case acts on: ``case.state(before=orders())`` before the agent acts,
        ``case.state(orders())`` when it is done. Values are copied into JSON as they are now.

        Errors: RecordError when it is given neither, or what has been recorded already.
        """
        if after is UNSET and before is UNSET:
            raise refused("state() takes the state after the case, or before=")
        kept = {name: snapshot(value) for name, value in (("before", before), ("after", after)) if value is not UNSET}
        self._recorder.put_state(State(**kept))

    def trace(self, *, step_limit: int | None = None, errors_recorded: bool = True) -> TraceBlock:
        """Record step by step: ``with current_case().trace() as trace:``.

        The record is finished when the block ends normally, as ``trace.finish(...)`` said or with the status
        "unknown". When the block raises, or the process ends inside it, what was recorded is a truncated prefix. So it
        is when a call goes on in a thread as the block ends, and when a step is refused, as those after the block are.

        Errors: RecordError when the case has been recorded already.
        """
        block = TraceBlock(self._recorder, step_limit=step_limit, errors_recorded=errors_recorded)
        self._recorder.claim()
        return block


_current: ContextVar[CurrentCase] = ContextVar("oloproof_current_case")


_IN_THE_MAIN_THREAD: Final = (
    "To run one case alone: `oloproof run --case ID --in-process`. "
    "In a test of your own: `from oloproof.testing import recorded_case`, then `with recorded_case(input):`"
)
_IN_A_THREAD: Final = (
    "A thread knows of its case where it runs in a copy of its context: "
    "`pool.submit(contextvars.copy_context().run, function)`, "
    "`Thread(target=contextvars.copy_context().run, args=(function,))`"
)


def current_case() -> CurrentCase:
    """The case that this code runs for.

    Errors: RecordError outside a case, which includes threads that user code starts without its context.
    """
    try:
        return _current.get()
    except LookupError:
        told = _IN_THE_MAIN_THREAD if current_thread() is main_thread() else _IN_A_THREAD
        raise RecordError(f"current_case() was called outside a case. {told}", code="OLO703") from None


def enter(case: CurrentCase) -> Token[CurrentCase]:
    """Make ``case`` the current one in this context, until :func:`leave` or the context's end."""
    return _current.set(case)


def leave(entered: Token[CurrentCase]) -> None:
    """Undo an :func:`enter`, in the same context."""
    _current.reset(entered)
