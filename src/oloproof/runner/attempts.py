"""An attempt as the worker makes it: the system is called, and whatever it does becomes a value."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from time import perf_counter
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from oloproof.model.case import AttemptError, system_error
from oloproof.model.values import Json, snapshot
from oloproof.record.case import CurrentCase, Recorder, enter
from oloproof.runner.causes import with_cause
from oloproof.runner.loading import Loaded
from oloproof.runner.output import CaseLog, Log, log_here
from oloproof.runner.protocol import Ran, RunCase, encode, encoded
from oloproof.runner.tracebacks import message_of, users_traceback


class CaseJob:
    """One attempt. :meth:`run` and :meth:`run_async` never raise; each belongs in a context of its own."""

    def __init__(
        self,
        order: RunCase,
        system: Loaded,
        *,
        timeout_s: float,
        sink: Callable[[bytes], None],
        log: Log | None = None,
        spare: int = 0,
    ) -> None:
        self.n = order.n
        self._order = order
        self._function = system.function
        self._timeout_s = timeout_s
        self._recorder = Recorder(sink)
        self._log = log or CaseLog()
        self._spare = spare
        self._started = perf_counter()

    def run(self) -> Ran:
        """Call a system that is a plain function."""
        self._enter()
        try:
            output = self._function(self._order.input)
        except BaseException as exc:  # sys.exit and KeyboardInterrupt of user code are that case's too
            return self._ended_by(exc)
        return self._returned(output)

    async def run_async(self) -> Ran:
        """Call a system that is a coroutine function."""
        self._enter()
        try:
            output = await self._function(self._order.input)
        except BaseException as exc:
            return self._ended_by(exc)
        return self._returned(output)

    def give_up(self) -> Ran:
        """What is there at the deadline; the call itself may go on, unheard."""
        why = f"no answer within {self._timeout_s:g} s"
        return self._ran(UNSET, AttemptError(kind="timeout", message=why), f"the case timed out ({why})")

    def line(self, result: Ran) -> bytes:
        """The result as it is sent, without what cannot be."""
        line = encoded(result)
        for left_out in ({"output": UNSET}, {"state": None}, {"trajectory": None}):
            if isinstance(line, bytes):
                return line
            why = f"what the case left cannot be sent: {line}"
            result = replace(result, error=result.error or system_error(why), **left_out)
            line = encoded(result)
        return line if isinstance(line, bytes) else encode(Ran(self.n, error=system_error(line)))

    def _enter(self) -> None:
        order = self._order
        log_here(self._log)
        enter(
            CurrentCase(
                id=order.case_id,
                input=order.input,
                metadata=order.metadata,
                seed=order.seed,
                trial=order.trial,
                _recorder=self._recorder,
            )
        )

    def _returned(self, output: Any) -> Ran:
        wrong = _no_value(output)
        if wrong is not None:
            return self._ran(UNSET, system_error(wrong))
        try:
            return self._ran(snapshot(output), None)
        except BaseException as exc:  # the output's own code runs to copy it
            return self._ended_by(exc)

    def _ended_by(self, exc: BaseException) -> Ran:
        error = system_error(message_of(exc, self._spare), traceback=users_traceback(exc, self._spare))
        return self._ran(UNSET, with_cause(error, exc))

    def _ran(self, output: Json | UnsetType, error: AttemptError | None, over: str = "the case is over") -> Ran:
        self._recorder.close(over)
        return Ran(
            self.n,
            output=output,
            error=error,
            trajectory=self._recorder.to_send(),
            state=self._recorder.state(),
            log=self._log.end(),
            printed_before=self._log.before,
            duration_ms=(perf_counter() - self._started) * 1000,
        )


def _no_value(output: Any) -> str | None:
    """What was returned in the place of an output, None when an output was."""
    if inspect.iscoroutine(output):
        output.close()
        return "the system returned a coroutine: declare it with `async def`, or await it"
    if inspect.isgenerator(output) or inspect.isasyncgen(output):
        return "the system returned a generator, not a value: collect what it yields first"
    return None
