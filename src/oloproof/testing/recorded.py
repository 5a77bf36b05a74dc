"""A case to call an agent in, for its own tests: ``with recorded_case({"order_id": 1}) as case: run(case.input)``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from oloproof.model.case import State
from oloproof.model.trajectory import Trajectory
from oloproof.model.values import snapshot
from oloproof.record.case import CurrentCase, Recorder, enter, leave


class RecordedCase:
    """A case that a test has opened: what the agent is asked, and what it has recorded so far."""

    def __init__(self, case_input: Any, recorder: Recorder) -> None:
        self.input = case_input
        self._recorder = recorder

    @property
    def trajectory(self) -> Trajectory | None:
        """What is recorded now: a truncated prefix while a trace is open, None before anything is."""
        return self._recorder.so_far()

    @property
    def state(self) -> State | None:
        """The state ``before`` and ``after`` the case as far as it is recorded now, None before any is."""
        return self._recorder.state()


@contextmanager
def recorded_case(
    case_input: Any = None,
    /,
    *,
    case_id: str = "case",
    metadata: Mapping[str, Any] | None = None,
    seed: int = 0,
    trial: int = 1,
) -> Iterator[RecordedCase]:
    """Make this the current case until the block ends, so that an agent can be called outside of any run.

    What ``current_case()`` shows is given here. Values are copied into JSON, as a run does. Coroutine functions work
    with ``asyncio.run(run(case.input))``, and under a test runner's own loop.
    """
    recorder = Recorder(_nowhere)
    case = CurrentCase(
        id=case_id,
        input=snapshot(case_input),
        metadata=snapshot(metadata or {}),
        seed=seed,
        trial=trial,
        _recorder=recorder,
    )
    entered = enter(case)
    try:
        yield RecordedCase(case.input, recorder)
    finally:
        leave(entered)
        recorder.close("the block of recorded_case has ended")


def _nowhere(event: bytes) -> None:
    """Nobody outlives this process to read what it recorded."""
