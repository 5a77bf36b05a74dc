"""What evaluators of an answer share: where in it they look, and what they say when it is not there."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from oloproof.evaluators.base import (
    ConfigError,
    EvaluatorBase,
    Name,
    Reads,
    excerpt,
    split_path,
    verdict_from_worker,
)
from oloproof.model.case import Case
from oloproof.model.evidence import CaseProblem, Evidence
from oloproof.model.judgment import Judgment, MissingReason, excluded, missing
from oloproof.model.values import Json, has_unrepresentable, is_unrepresentable, lookup

NO_FINAL_ANSWER: Final = Judgment("fail", "no_final_answer", detail="the run ended without a final step")


_KINDS: Final = (
    (str, "a text"),
    (bool, "a truth value"),
    ((int, float), "a number"),
    (list, "a list"),
    (dict, "an object"),
)


def kind_of(value: Json) -> str:
    """What a value is, as JSON has it, with its article."""
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "null")


class OutputEvaluator(EvaluatorBase, frozen=True, kw_only=True, dict=True):
    """An evaluator of the output, or of its part at the dotted path ``field`` (``answer.total``, ``items.0``).

    Beside an error there is no output that could be trusted: what the system would have returned is not known. Where
    JSON could not carry the output, or what the path leads through, it was not recorded.

    A ``field`` that begins with ``metadata.`` leads into the case's metadata instead, where imported traces have the
    labels of their source (``metadata.reward``). It is judged whether the system crashed or not; where it is absent,
    what the label would have been is not known.

    With ``source: final`` the same is asked of what the trajectory's last ``final`` step says. A finished record
    without such a step fails (``no_final_answer``). A truncated one may go on with another answer, and settles nothing.
    """

    source: Annotated[
        Literal["output", "final"], Meta(description="Judge the output, or the trajectory's last final step.")
    ] = "output"
    field: Annotated[
        Name | None, Meta(description="A dotted path into the output, or metadata.<path>; default: all of it.")
    ] = None

    def __post_init__(self) -> None:
        EvaluatorBase.__post_init__(self)
        if self.label_path and self.worker_function is not None:
            raise ConfigError("field", "metadata is judged by exact_match, numeric, contains and regex on re2")

    @cached_property
    def path(self) -> tuple[str, ...]:
        return () if self.field is None else split_path("field", self.field)

    @cached_property
    def label_path(self) -> tuple[str, ...]:
        """The path into the case's metadata, () where ``field`` leads elsewhere."""
        return self.path[1:] if self.source == "output" and self.path[:1] == ("metadata",) else ()

    @property
    def _answer(self) -> str:
        return "output" if self.source == "output" else "final answer"

    @property
    def reads(self) -> Reads:
        return "output" if self.source == "output" else "trajectory"

    def judge_attempt(self, evidence: Evidence) -> Judgment:
        if self.label_path:
            return self._judge_label(evidence.case)
        if self.source == "final":
            return self._judge_final(evidence)
        if evidence.error is not None:
            return missing(evidence.error.kind)
        if evidence.output is UNSET or self._is_lost(evidence.output, evidence):
            return missing("output_not_recorded")
        return self._judge_answer(evidence.output, evidence)

    def _judge_final(self, evidence: Evidence) -> Judgment:
        reading, error = evidence.reading, evidence.error
        if reading is None or reading.truncated:
            unseen: MissingReason = "no_trajectory" if reading is None else "truncated_trajectory"
            return missing(unseen if error is None else error.kind)
        if reading.final is None:
            return NO_FINAL_ANSWER
        if reading.final.arguments is None or self._is_lost(reading.final.arguments, evidence):
            return missing("arguments_not_recorded")
        judgment = self._judge_answer(reading.final.arguments, evidence)
        return replace(judgment, steps=(reading.final.index,))

    def _judge_answer(self, answer: Json, evidence: Evidence) -> Judgment:
        if self.worker_function is not None:
            return verdict_from_worker(self, evidence)
        found = lookup(answer, self.path)
        if evidence.veiled and (found is UNSET or has_unrepresentable(found)) and has_unrepresentable(answer):
            return self.judge_veiled(found, evidence.case)
        if found is UNSET:
            why = "" if isinstance(answer, (dict, list)) else f": it is {kind_of(answer)}"
            return Judgment("fail", "field_absent", detail=f"the {self._answer} has no {self.field}{why}")
        return self.judge_value(found, evidence.case)

    def judge_veiled(self, found: Json | UnsetType, case: Case) -> Judgment:
        """The verdict on a value out of which a secret may have been taken, UNSET where its key may have been one."""
        return missing("redacted")

    def _judge_label(self, case: Case) -> Judgment:
        label = lookup(case.metadata, self.label_path)
        if label is UNSET or is_unrepresentable(label):
            return missing("metadata_not_recorded")
        return self.judge_value(label, case)

    def _is_lost(self, output: Json, evidence: Evidence) -> bool:
        """JSON could not carry the output, or a part in which the path goes on. Of what a secret was taken out of, the
        rest is looked at."""
        return not evidence.veiled and any(
            is_unrepresentable(lookup(output, self.path[:length])) for length in range(len(self.path) or 1)
        )

    def no_text(self, found: Json, reference: Json) -> Judgment:
        """The verdict where a text is asked for and something else is found."""
        part = "; `field` names a part of it" if isinstance(found, dict) and self.field is None else ""
        detail = f"it is {kind_of(found)}, and no text{part}"
        return Judgment("fail", "not_text", expected=reference, found=excerpt(found), detail=detail)

    def judge_value(self, found: Json, case: Case) -> Judgment:
        """The verdict on the value that was found in the output."""
        raise NotImplementedError


class ReferenceEvaluator(OutputEvaluator, frozen=True, kw_only=True, dict=True):
    """An output evaluator that compares with a reference: ``expected_field``, a dotted path into the case's
    ``expected``, or the literal ``value``. A case without the former is excluded."""

    expected_field: Annotated[Name | None, Meta(description="A dotted path into the case's expected.")] = None
    value: Annotated[Any, Meta(description="The reference itself, the same for every case.")] = UNSET

    def __post_init__(self) -> None:
        OutputEvaluator.__post_init__(self)
        if (self.expected_field is None) == (self.value is UNSET):
            raise ConfigError("expected_field", "give either expected_field or value")
        _ = self.expected_path
        if self.value is not UNSET and (problem := self.value_problem(self.value)) is not None:
            raise ConfigError("value", f"value {problem}")

    @cached_property
    def expected_path(self) -> tuple[str, ...]:
        return () if self.expected_field is None else split_path("expected_field", self.expected_field)

    def reference_fields(self) -> tuple[str, ...]:
        return self.expected_path[:1]

    def reference(self, case: Case) -> Json | UnsetType:
        """What to compare with in this case, UNSET where it gives nothing."""
        return self.value if self.expected_field is None else lookup(case.expected, self.expected_path)

    def exclusion(self, case: Case) -> Judgment | None:
        return excluded("no_reference") if self.reference(case) is UNSET else None

    def reference_problems(self, case: Case) -> tuple[CaseProblem, ...]:
        reference = self.reference(case)
        problem = None if reference is UNSET else self.value_problem(reference)
        return () if problem is None else (CaseProblem(problem, self.expected_path),)

    def value_problem(self, reference: Json) -> str | None:
        """What makes ``reference`` no reference, as the end of a sentence."""
        return "holds a value that JSON cannot carry, which nothing equals" if has_unrepresentable(reference) else None

    def judge_value(self, found: Json, case: Case) -> Judgment:
        reference = self.reference(case)
        problem = self.value_problem(reference)
        if problem is not None:
            return missing("evaluator_error", detail=f"the reference {problem}")
        return self.compare(found, reference)

    def compare(self, found: Json, reference: Json) -> Judgment:
        """The verdict on a found value beside a sound reference."""
        raise NotImplementedError
