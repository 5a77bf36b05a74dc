"""Whose turn it is: which trials of which cases are asked for, what a system is told, and what its answer becomes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple
from zlib import crc32

from oloproof.model.case import Attempt, AttemptError, Case
from oloproof.model.project import Retry
from oloproof.runner.launching import wait_before_next
from oloproof.runner.ports import Launch, Listener
from oloproof.runner.protocol import Ran, RunCase


class Turn(NamedTuple):
    """A case, which of its trials, and the attempts ``earlier`` than the one that is to be made."""

    case: Case
    trial: int
    earlier: tuple[Attempt, ...] = ()

    @property
    def seed(self) -> int:
        """The same whenever this trial of this case runs: CRC-32 of ``TRIAL:ID`` in UTF-8."""
        return crc32(f"{self.trial}:{self.case.id}".encode())


def turns(cases: Iterable[Case], launch: Launch) -> Iterator[Turn]:
    """One case after the other, each with all its trials but those that are done."""
    done = launch.done
    return (Turn(case, trial) for case in cases for trial in launch.trials if not done or (case.id, trial) not in done)


class Again(NamedTuple):
    """The turn of an attempt that is made again, after ``wait_s`` seconds."""

    turn: Turn
    wait_s: float


def again(retry: Retry | None, turn: Turn, attempt: Attempt, listener: Listener) -> Again | None:
    """Whether an attempt is made again, of which the ``listener`` is told; None where it stands."""
    if retry is None or attempt.error is None:  # nearly all of them
        return None
    wait_s = wait_before_next(retry, attempt.error, made=len(turn.earlier) + 1, seed=turn.seed)
    if wait_s is None:
        return None
    listener.again(turn.case, attempt.made)
    return Again(turn._replace(earlier=attempt.made), wait_s)


def order_of(n: int, turn: Turn) -> RunCase:
    """What the system may know of a case: not what is expected of it."""
    case = turn.case
    return RunCase(n, case.id, case.input, turn.seed, turn.trial, case.metadata)


def attempt_of(turn: Turn, ran: Ran) -> Attempt:
    """The attempt that an answer describes."""
    return Attempt(
        case_id=turn.case.id,
        trial=turn.trial,
        output=ran.output,
        error=ran.error,
        trajectory=ran.trajectory,
        state=ran.state,
        log=ran.log,
        duration_ms=ran.duration_ms,
        earlier=turn.earlier,
    )


def not_run(turn: Turn) -> Attempt:
    """The attempt that the run ended before."""
    what = "was made again" if turn.earlier else "began"
    error = AttemptError(kind="not_run", message=f"the run was stopped before this case {what}")
    return Attempt(case_id=turn.case.id, trial=turn.trial, error=error, earlier=turn.earlier)
