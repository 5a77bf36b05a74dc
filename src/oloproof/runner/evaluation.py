"""The user's evaluators in a worker of their own, apart from the system.

So the system can neither see what is expected of it nor tamper with the functions that judge it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from msgspec import Struct

from oloproof.model.case import Attempt, Case
from oloproof.model.judgment import Judgment, missing
from oloproof.model.project import Project, RecordedSystem
from oloproof.runner.desk import Loss
from oloproof.runner.protocol import JudgeCase, Judged, LoadEvaluators, Ran
from oloproof.runner.seat import Seat
from oloproof.runner.supervisor import AHEAD, Supervisor

Judgments = Mapping[str, Judgment]

RECORDED_TIMEOUT_S = 60.0
"""How long the evaluators may take over one attempt where the project sets no time-out for the system."""


class WorkerJudge:
    """The evaluators in a worker process.

    Attempts of a running system are judged as many at a time as it makes, none ahead of that, so that no verdict waits
    for a case that is slow; recorded ones are there at once, and sent ahead.
    """

    def __init__(self, project: Project) -> None:
        functions = project.user_evaluators
        match project.system.kind:
            case RecordedSystem():
                concurrency, timeout_s, ahead = 1, RECORDED_TIMEOUT_S, AHEAD
            case live:
                concurrency, timeout_s, ahead = live.concurrency, live.timeout_s, 0
        load = LoadEvaluators(functions, os.fsencode(project.directory), timeout_s, project.spare_chars)
        self._seat = Seat(load, config=project.config, slots=concurrency)
        self._supervisor: Supervisor[ToJudge, Reply] = Supervisor(
            self._seat, Verdicts(tuple(spec.criterion for spec in functions)), ahead=ahead
        )
        self.code = ""

    @property
    def log(self) -> str:
        return self._seat.printed

    def judge(self, pairs: Iterable[tuple[Case, Attempt]]) -> Iterator[Judgments]:
        replies = self._supervisor.run(ToJudge(case, attempt) for case, attempt in pairs)
        return (reply.judgments for reply in replies)

    @contextmanager
    def started(self) -> Iterator[WorkerJudge]:
        """The evaluators once they are loaded, until the block ends."""
        try:
            self.code = self._seat.start().code
            yield self
        except BaseException:
            self._seat.kill()
            raise
        self._seat.close()


class ToJudge(Struct, frozen=True):
    """An attempt to be judged, and what is known of it from before: functions that had their turn have it no more."""

    case: Case
    attempt: Attempt
    had: Judgments = {}


class Reply(Struct, frozen=True):
    """A judgment for each criterion. Those in ``unasked`` are there for want of a verdict: another one took the time,
    or the worker, before it was their turn."""

    judgments: Judgments
    unasked: frozenset[str] = frozenset()


class Verdicts:
    """The desk of the evaluators: an attempt to be judged becomes judgments, whatever its end.

    A function that never ends, or ends its worker, costs its own verdict: the attempt goes anew to those behind it.
    """

    def __init__(self, criteria: tuple[str, ...]) -> None:
        self._criteria = criteria

    def order(self, n: int, job: ToJudge) -> JudgeCase:
        return JudgeCase(n, job.case, job.attempt, tuple(job.had))

    def answered(self, job: ToJudge, word: Ran | Judged) -> Reply:
        if not isinstance(word, Judged):
            return self._reply(job.had, "the worker answered what was not asked")
        found = self._found(job, word.judgments)
        if len(found) == len(job.had):  # nobody else is to blame, and to ask again would never end
            return self._reply(found, "the worker gave no verdict")
        return self._reply(found, "it was not asked", unasked=True)

    def lost(self, job: ToJudge, loss: Loss) -> Reply:
        found = self._found(job, loss.judgments)
        whose = next((name for name in self._criteria if name not in found), None)
        if whose is not None:
            found[whose] = _without_verdict(loss.message)
        return self._reply(found, loss.message, unasked=True)

    def again(self, job: ToJudge, result: Reply) -> tuple[ToJudge, float] | None:
        if not result.unasked:
            return None
        had = {name: judgment for name, judgment in result.judgments.items() if name not in result.unasked}
        return ToJudge(job.case, job.attempt, had), 0.0

    def not_run(self, job: ToJudge) -> Reply:
        return self._reply(job.had, "the run was stopped")

    def _found(self, job: ToJudge, judgments: Judgments) -> dict[str, Judgment]:
        """What is known by now; a verdict that was there stays."""
        new = {name: judgment for name, judgment in judgments.items() if name in self._criteria}
        return new | dict(job.had)

    def _reply(self, found: Judgments, otherwise: str, *, unasked: bool = False) -> Reply:
        others = frozenset(self._criteria).difference(found)
        judgments = {name: found[name] if name in found else _without_verdict(otherwise) for name in self._criteria}
        return Reply(judgments, others if unasked else frozenset())


def _without_verdict(detail: str) -> Judgment:
    return missing("evaluator_error", detail=detail)
