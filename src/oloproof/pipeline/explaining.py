"""What a stored verdict looks like to a person who asks why."""

from __future__ import annotations

from oloproof.model.alignment import Alignment
from oloproof.model.run import CaseRecord


def alignments(record: CaseRecord) -> dict[str, Alignment]:
    """By criterion, the calls of the case beside the ones that it declares, where these were compared and differ."""
    from oloproof.evaluators.alignment import alignment  # most runs are not asked why

    trajectory = record.attempt.trajectory
    found = ((criterion, alignment(record.case, trajectory, judgment)) for criterion, judgment in record.judgments)
    return {criterion: aligned for criterion, aligned in found if aligned is not None}
