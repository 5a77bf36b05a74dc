"""A function of the user's own, which ran in the evaluation worker; here its verdict joins the others."""

from __future__ import annotations

from typing import Any

from msgspec import field

from oloproof.evaluators.base import EvaluatorBase, Name, verdict_from_worker
from oloproof.model.evidence import Evidence
from oloproof.model.judgment import Judgment, missing
from oloproof.model.values import Json


class UserEvaluator(EvaluatorBase, frozen=True, kw_only=True, dict=True):
    """The verdict of the function ``target`` (``module:function``), which is given ``options`` as further arguments.
    Default criterion: the function's name.

    A system that crashed or did not run is missing with that cause: of a function it is not known that what it says of
    a beginning holds for the whole run. A function that gave no verdict, because it raised, took too long or returned
    something else than a Verdict or a bool, is missing (``evaluator_error``); it costs no other its verdict.
    """

    target: Name
    options: dict[str, Any] = field(default_factory=dict)

    def default_criterion(self) -> str:
        return self.target.rpartition(":")[2]

    def judge_attempt(self, evidence: Evidence) -> Judgment:
        if evidence.error is not None:
            return missing(evidence.error.kind)
        return verdict_from_worker(self, evidence)

    @property
    def worker_function(self) -> tuple[str, dict[str, Json]]:
        return self.target, self.options
