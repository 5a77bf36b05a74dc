"""What an evaluator function may look at, all in one."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from oloproof.model.case import Attempt, Case, State
from oloproof.model.judgment import Judgment, MissingReason, missing
from oloproof.model.reading import final_answer
from oloproof.model.trajectory import Trajectory


class NotSettled(BaseException):
    """The function asked for what the record does not settle. No exception that it would handle."""


class Context:
    """A case and the attempt at it: ``case``, ``expected``, ``output``, ``trajectory``, ``final`` and ``state``.

    Asking for what was not recorded, or for a trajectory that is cut, makes the case missing for that reason, whatever
    the function does then.
    """

    def __init__(self, case: Case, attempt: Attempt) -> None:
        self._case = case
        self._attempt = attempt
        self.unsettled: Judgment | None = None
        """Why the case is missing, None while it is not."""

    @property
    def case(self) -> Case:
        """The case: ``id``, ``input``, ``expected``, ``metadata``."""
        return self._case

    @property
    def expected(self) -> dict[str, Any]:
        """What is expected of the case."""
        return self._case.expected

    @property
    def output(self) -> Any:
        """What the system returned, a JSON value."""
        self._settle("output")
        return self._attempt.output

    @property
    def trajectory(self) -> Trajectory:
        """The finished trajectory."""
        self._settle("trajectory")
        assert self._attempt.trajectory is not None
        return self._attempt.trajectory

    @property
    def final(self) -> Any:
        """What the trajectory's last final step says, None where there is no such step."""
        return final_answer(self.trajectory)

    @property
    def state(self) -> State:
        """The state ``before`` (UNSET where it was not recorded) and ``after`` the case."""
        self._settle("state")
        assert self._attempt.state is not None
        return self._attempt.state

    def _settle(self, name: str) -> None:
        unsettled = unsettled_by(name, self._attempt)
        if unsettled is not None:
            self.unsettled = self.unsettled or unsettled
            raise NotSettled


def unsettled_by(name: str, attempt: Attempt) -> Judgment | None:
    """Why a function that asks for this part of an attempt has no answer; None where the part is there, and whole."""
    error, trajectory, state = attempt.error, attempt.trajectory, attempt.state
    reason: MissingReason | None = None
    if name == "output" and attempt.output is UNSET:
        reason = "output_not_recorded"
    elif name == "trajectory" and trajectory is None:
        reason = "no_trajectory"
    elif name == "trajectory" and trajectory is not None and trajectory.truncated:
        reason = "truncated_trajectory"
    elif name == "state" and (state is None or state.after is UNSET):
        reason = "state_not_recorded"
    if reason is None:
        return None
    return missing(reason if error is None else error.kind)
