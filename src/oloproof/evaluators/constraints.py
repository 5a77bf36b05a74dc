"""The environment's word: ``agent_constraints_satisfied``."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

from msgspec import Meta

from oloproof.evaluators.base import Name, TrajectoryEvaluator
from oloproof.model.evidence import Evidence
from oloproof.model.judgment import Judgment
from oloproof.model.reading import Reading


class ConstraintsSatisfied(
    TrajectoryEvaluator, frozen=True, kw_only=True, dict=True, tag_field="type", tag="agent_constraints_satisfied"
):
    """The environment checked the named ``constraints``, and none was broken.

    Any failed check settles a fail. A pass needs, for every name, a check of the whole run that passed, or checks of
    steps that passed in a record that is not truncated; checks kept from a system that raised, timed out or was killed
    never settle one. A constraint that was not checked is missing (``constraint_not_recorded``).
    """

    constraints: Annotated[tuple[Name, ...], Meta(min_length=1, description="The names of the checks.")]

    @cached_property
    def wanted(self) -> frozenset[str]:
        return frozenset(self.constraints)

    @cached_property
    def kept(self) -> dict[str, bool]:
        """What is expected, as evidence."""
        return dict.fromkeys(self.constraints, True)

    @cached_property
    def _passed(self) -> Judgment:
        return Judgment("pass", None, (), self.kept)

    def judge_reading(self, reading: Reading, evidence: Evidence) -> Judgment:
        wanted = self.wanted
        settled = set()
        checked = set()
        for check in reading.trajectory.constraints:
            if check.name not in wanted:
                continue
            if not check.passed:
                steps = () if check.step_index is None else (check.step_index,)
                return Judgment("fail", None, steps, self.kept, {check.name: False}, check.detail)
            checked.add(check.name)
            if check.step_index is None or not reading.truncated:
                settled.add(check.name)
        if evidence.error is not None:
            return Judgment("missing", evidence.error.kind, (), self.kept)
        if wanted <= settled:
            return self._passed
        unchecked = [name for name in self.constraints if name not in checked]
        if unchecked:
            return Judgment("missing", "constraint_not_recorded", (), self.kept, detail=f"no check of {unchecked[0]!r}")
        return Judgment("missing", "truncated_trajectory", (), self.kept)
