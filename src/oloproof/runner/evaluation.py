"""The user's evaluators in a worker of their own, apart from the system.

So the system can neither see what is expected of it nor tamper with the functions that judge it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from oloproof.model.case import Attempt, Case
from oloproof.model.judgment import Judgment, missing
from oloproof.model.project import Project, RecordedSystem
from oloproof.runner.desk import Loss
from oloproof.runner.protocol import JudgeCase, Judged, LoadEvaluators, Ran
from oloproof.runner.supervisor import AHEAD, Supervisor

Pair = tuple[Case, Attempt]
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
        self._supervisor: Supervisor[Pair, Judgments] = Supervisor(
            LoadEvaluators(functions, os.fsencode(project.directory), timeout_s, project.spare_chars),
            _Verdicts(tuple(spec.criterion for spec in functions)),
            config=project.config,
            concurrency=concurrency,
            ahead=ahead,
        )

    @property
    def log(self) -> str:
        return self._supervisor.log

    def judge(self, pairs: Iterable[Pair]) -> Iterator[Judgments]:
        return self._supervisor.run(pairs)

    @contextmanager
    def started(self) -> Iterator[WorkerJudge]:
        """The evaluators once they are loaded, until the block ends."""
        try:
            self._supervisor.start()
            yield self
        except BaseException:
            self._supervisor.kill()
            raise
        self._supervisor.close()


class _Verdicts:
    """The desk of the evaluators: a pair becomes judgments, whatever its end."""

    def __init__(self, criteria: tuple[str, ...]) -> None:
        self._criteria = criteria

    def order(self, n: int, job: Pair) -> JudgeCase:
        return JudgeCase(n, *job)

    def answered(self, job: Pair, word: Ran | Judged) -> Judgments:
        if not isinstance(word, Judged):
            return self._all("the worker answered what was not asked")
        return self._all("the worker gave no verdict") | word.judgments

    def lost(self, job: Pair, loss: Loss) -> Judgments:
        reached = {name: judgment for name, judgment in loss.judgments.items() if name in self._criteria}
        return self._all(loss.message) | reached

    def again(self, job: Pair, result: Judgments) -> None:
        return None

    def not_run(self, job: Pair) -> Judgments:
        return self._all("the run was stopped")

    def _all(self, detail: str) -> dict[str, Judgment]:
        return dict.fromkeys(self._criteria, missing("evaluator_error", detail=detail))
