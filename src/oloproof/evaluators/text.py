"""Text in the output: ``contains`` and ``regex``."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, UnsetType

from oloproof.evaluators.base import (
    Name,
    excerpt,
    word,
)
from oloproof.evaluators.output import OutputEvaluator, ReferenceEvaluator
from oloproof.evaluators.patterns import compile_pattern
from oloproof.model.case import Case
from oloproof.model.judgment import Judgment
from oloproof.model.values import TAG, Json, is_unrepresentable

PYTHON_SEARCH: Final = {
    "output": "oloproof.runner.patterns:search",
    "final": "oloproof.runner.patterns:search_final",
}


class Contains(ReferenceEvaluator, frozen=True, kw_only=True, dict=True, tag_field="type", tag="contains"):
    """The text at ``field`` (default: the whole output) contains the reference text.

    The reference is ``expected_field``, a dotted path into ``expected``, or the literal ``value``; one of them is
    given, and it is a text that is not empty. Case and spaces count. An output that is no text fails (``not_text``);
    one without the field fails (``field_absent``). A case without the reference is excluded (``no_reference``).
    """

    value: Annotated[Name | UnsetType, Meta(description="The text itself, the same for every case.")] = UNSET

    def value_problem(self, reference: Json) -> str | None:
        return None if type(reference) is str and reference else "must be a text that is not empty"

    def judge_veiled(self, found: Json | UnsetType, case: Case) -> Judgment:
        reference = self.reference(case)
        clear = found[TAG] if type(found) is dict and is_unrepresentable(found) else ()
        parts = [part for part in clear if type(part) is str] if type(clear) is list else []
        if type(reference) is str and any(reference in part for part in parts):
            return Judgment("pass", expected=reference)
        return OutputEvaluator.judge_veiled(self, found, case)

    def compare(self, found: Json, reference: Json) -> Judgment:
        if type(found) is not str:
            return self.no_text(found, reference)
        return Judgment(word(reference in found), expected=reference, found=excerpt(found))


class Regex(OutputEvaluator, frozen=True, kw_only=True, dict=True, tag_field="type", tag="regex"):
    """The text at ``field`` (default: the whole output) matches ``pattern`` somewhere; anchor it with ``^`` and ``$``.

    Patterns run on RE2, in time linear in the text. It has neither lookaround nor back-references: ``engine: python``
    has, and runs apart, under the time-out of a case, after which it is missing (``evaluator_error``). An output that
    is no text fails (``not_text``).
    """

    pattern: Annotated[Name, Meta(description="A regular expression.")]
    engine: Annotated[Literal["re2", "python"], Meta(description="What matches it.")] = "re2"

    def __post_init__(self) -> None:
        OutputEvaluator.__post_init__(self)
        _ = self.compiled

    @cached_property
    def compiled(self) -> Any:
        return compile_pattern("pattern", self.pattern, engine=self.engine)

    @property
    def worker_function(self) -> tuple[str, dict[str, Json]] | None:
        if self.engine == "re2":
            return None
        return PYTHON_SEARCH[self.source], {"pattern": self.pattern, "path": list(self.path)}

    def judge_value(self, found: Json, case: Case) -> Judgment:
        if type(found) is not str:
            return self.no_text(found, self.pattern)
        return Judgment(word(self.compiled.search(found) is not None), expected=self.pattern, found=excerpt(found))
