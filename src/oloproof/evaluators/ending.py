"""How the run ended, by the record's own word: ``agent_terminal_status``."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from oloproof.evaluators.base import TrajectoryEvaluator, open_reason, word
from oloproof.model.evidence import Evidence
from oloproof.model.judgment import Judgment
from oloproof.model.reading import Reading


class EndsWithStatus(
    TrajectoryEvaluator, frozen=True, kw_only=True, dict=True, tag_field="type", tag="agent_terminal_status"
):
    """The record's ``terminal_status`` is ``status`` (default: success).

    A recorded status speaks for the whole run, also where the steps are truncated. The status ``unknown`` says nothing:
    it is missing, on a truncated record for that reason, on a finished one as ``status_not_recorded``.
    """

    status: Annotated[Literal["success", "failure"], Meta(description="How the run must end.")] = "success"

    def judge_reading(self, reading: Reading, evidence: Evidence) -> Judgment:
        found = reading.trajectory.terminal_status
        if found == "unknown":
            return Judgment("missing", open_reason(reading, "status_not_recorded"), (), self.status, found)
        return Judgment(word(found == self.status), None, (), self.status, found)
