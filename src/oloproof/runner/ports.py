"""What the pipeline sees of the runner."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from msgspec import Struct

from oloproof.model.case import Attempt, Case
from oloproof.model.judgment import Judgment
from oloproof.model.project import Project
from oloproof.runner.launching import always
from oloproof.runner.protocol import Declared


class Listener:
    """Is told while a system runs. This one listens to nothing."""

    def began(self, case_id: str, trial: int) -> None:
        """An attempt begins. Called on any thread, and never after its answer was given."""

    def again(self, case: Case, earlier: Sequence[Attempt]) -> None:
        """The last of these attempts at a case has ended, and is to be made again. Called on any thread, before it
        waits for that."""

    def waiting(self) -> float | None:
        """Nothing more has ended yet, so what was held back until the next attempt need not be any longer. The seconds
        until this should be asked again, None where that makes no difference. On the thread that takes the attempts."""
        return None


SILENT = Listener()


class Launch(Struct, frozen=True, kw_only=True):
    """Which attempts at cases are launched, and who is asked and told.

    With a ``window``, no case begins that lies so many places or more behind the first whose attempt has not been
    taken: with 1, the next begins once whoever took the last one asks for another. None leaves it to the system.
    """

    trials: Sequence[int] = (1,)
    """Of each case, in this order."""

    window: int | None = None

    done: Container[tuple[str, int]] = frozenset()
    """By case id and trial: what is not launched."""

    may_launch: Callable[[], bool] = always
    """Asked before each attempt, from any thread; once it says no, nothing more is launched."""

    listener: Listener = SILENT


EACH_ONCE = Launch()


class LoadedSystem(Protocol):
    """A system that is ready to run cases."""

    @property
    def identity(self) -> Declared:
        """What its decorator declares."""

    @property
    def log(self) -> str:
        """The first 64 KiB of what it printed outside of any case so far."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What went wrong beside the cases, known once the system has ended."""

    def run(self, cases: Iterable[Case], launch: Launch = EACH_ONCE) -> Iterator[Attempt]:
        """Attempts in the order of the cases, which are read as they are needed, and of the trials of each.

        Each attempt is the last of those that were made: the others are its ``earlier`` ones.

        When the system can no longer be loaded, the attempts that are left are errors, each of them.
        """

    def stop(self) -> None:
        """Launch nothing more: what has not begun is not_run. For signal handlers and other threads too."""


class UserJudge(Protocol):
    """The user's evaluators, ready to judge."""

    @property
    def code(self) -> str:
        """Identifies what they are made of, "" where nobody looked."""

    @property
    def log(self) -> str:
        """The first 64 KiB of what they printed so far."""

    def judge(self, pairs: Iterable[tuple[Case, Attempt]]) -> Iterator[Mapping[str, Judgment]]:
        """The judgments of each pair by criterion, in the order of the pairs.

        When the evaluators can no longer be loaded, the verdicts that are left are missing.
        """


class UserCode(Protocol):
    """Where a project's own code runs."""

    def load(self, project: Project, *, in_process: bool) -> AbstractContextManager[LoadedSystem]:
        """The project's live system, ready for the length of a ``with`` block."""

    def evaluation_worker(self, project: Project) -> AbstractContextManager[UserJudge]:
        """The project's user evaluators, likewise."""
