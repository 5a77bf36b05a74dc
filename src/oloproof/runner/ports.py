"""What the pipeline sees of the runner."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from oloproof.model.case import Attempt, Case
from oloproof.model.judgment import Judgment
from oloproof.runner.protocol import Declared

Progress = Callable[[Attempt], None]


class LoadedSystem(Protocol):
    """A system that is ready to run cases."""

    @property
    def identity(self) -> Declared:
        """What its decorator declares."""

    @property
    def log(self) -> str:
        """What it printed outside of any case so far, up to 256 KiB."""

    def run(self, cases: Iterable[Case], *, trials: int = 1, progress: Progress | None = None) -> Iterator[Attempt]:
        """Attempts in the order of the cases, each case's trials one after the other.

        ``progress`` is told each attempt as it is over, before its turn comes. The cases are read as they are needed.

        Errors: BrokenError when the system can no longer be loaded.
        """

    def stop(self) -> None:
        """Launch nothing more: what has not begun is not_run. For signal handlers and other threads too."""


class UserJudge(Protocol):
    """The user's evaluators, ready to judge."""

    @property
    def log(self) -> str:
        """What they printed so far, up to 256 KiB."""

    def judge(self, pairs: Iterable[tuple[Case, Attempt]]) -> Iterator[Mapping[str, Judgment]]:
        """The judgments of each pair by criterion, in the order of the pairs.

        Errors: BrokenError when the evaluators can no longer be loaded.
        """
