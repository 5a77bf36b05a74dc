"""What a worker's supervisor asks of whoever gives it jobs: what each is to the worker, and what its end comes to."""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeVar

from msgspec import Struct

from oloproof.model.case import State
from oloproof.model.judgment import Judgment
from oloproof.model.trajectory import Trajectory
from oloproof.runner.protocol import JudgeCase, Judged, Ran, RunCase

J = TypeVar("J")
R = TypeVar("R", covariant=True)


class Loss(Struct, frozen=True):
    """Why a job was never answered, and what it had recorded, printed and judged (by criterion) by then."""

    kind: Literal["system_error", "timeout"]
    message: str
    trajectory: Trajectory | None = None
    state: State | None = None
    log: str = ""
    judgments: dict[str, Judgment] = {}


class Desk(Protocol[J, R]):
    """What a job is to the worker, and what its end is to whoever asked."""

    def order(self, n: int, job: J) -> RunCase | JudgeCase: ...

    def answered(self, job: J, word: Ran | Judged) -> R: ...

    def lost(self, job: J, loss: Loss) -> R: ...

    def again(self, job: J, result: Any) -> tuple[J, float] | None:
        """The job that is done anew in the place of one that came to ``result``, and after how many seconds; None where
        that is what it came to."""

    def not_run(self, job: J) -> R: ...
