"""What every evaluator shares: its name, the cases it is for, and what it says when there is nothing to judge.

The order of the questions is fixed. First those that the case and the configuration answer alone (not selected, no
reference): a system cannot take itself out of the denominator. Then the crash, then what was not recorded, and only
then the judgment itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import force_setattr

from oloproof.model.case import Case
from oloproof.model.condition import Condition, parse
from oloproof.model.evidence import CaseProblem, Evidence
from oloproof.model.judgment import Judgment, MissingReason, Word, excluded, missing
from oloproof.model.reading import Reading
from oloproof.model.values import Json

EXCERPT_LENGTH: Final = 2000
NOT_SELECTED: Final = excluded("not_selected")
UNNAMED_AGENTS: Final = missing("unnamed_agents")

Reads = Literal["output", "trajectory", "anything"]

Name = Annotated[str, Meta(min_length=1)]
Size = Annotated[int, Meta(ge=0)]


class ConfigError(ValueError):
    """A configuration that types cannot refuse: ``field`` is the key at fault, ``path`` leads to a place in its value.

    ``code`` is its own where the kind of mistake has one. ``position`` is how many characters of a text come before the
    place, None where it is about all of it.
    """

    def __init__(
        self,
        field: str,
        message: str,
        path: Sequence[str | int] = (),
        *,
        code: str | None = None,
        position: int | None = None,
    ) -> None:
        self.field = field
        self.message = message
        self.path = path
        self.code = code
        self.position = position
        super().__init__(f"{field}: {message}")


class EvaluatorBase(Struct, frozen=True, kw_only=True, dict=True, forbid_unknown_fields=True):
    """The keys of every evaluator.

    ``criterion`` names what is counted. ``only`` is a condition on the case; other cases are excluded
    (``not_selected``). ``on_system_error`` says what it is when the system raised or timed out: ``missing`` where the
    record up to there leaves the verdict open (default), or always a ``fail``.
    """

    criterion: Annotated[Name, Meta(description="The name under which it is counted; each type has a default.")] = ""
    only: Annotated[Name | None, Meta(description="A condition on the case: metadata.surface == chat")] = None
    on_system_error: Annotated[
        Literal["missing", "fail"], Meta(description="Whether a crash of the system counts as a failure.")
    ] = "missing"

    def __post_init__(self) -> None:
        if not self.criterion:
            force_setattr(self, "criterion", self.default_criterion())
        try:
            _ = self.condition
        except ValueError as error:
            raise ConfigError("only", str(error)) from None

    def default_criterion(self) -> str:
        """The criterion's name where the configuration gives none."""
        return str(self.__struct_config__.tag)

    @cached_property
    def condition(self) -> Condition | None:
        """``only``, parsed."""
        return None if self.only is None else parse(self.only)

    @property
    def reads(self) -> Reads:
        """What it needs of an attempt."""
        return "anything"

    @property
    def expected_fields(self) -> tuple[str, ...]:
        """The keys of ``expected`` that it reads, each once."""
        paths = () if self.condition is None else self.condition.paths
        selecting = (path[1] for path in paths if path[0] == "expected")
        return tuple(dict.fromkeys((*self.reference_fields(), *selecting)))

    @property
    def reads_reference(self) -> bool:
        """Some case could be wrong for it."""
        return bool(self.expected_fields)

    def reference_fields(self) -> tuple[str, ...]:
        """The keys of ``expected`` that hold what it compares with."""
        return ()

    @property
    def worker_function(self) -> tuple[str, dict[str, Json]] | None:
        """The function (``module:function``) and further arguments with which the evaluation worker must judge, None
        where the verdict is reached here."""
        return None

    @property
    def compares_within(self) -> bool:
        """Whether it compares parts of one attempt with each other alone, so that markers in the place of secrets are
        as good to it as the secrets."""
        return False

    @property
    def reads_results(self) -> bool:
        """Whether it looks into what tools gave back, which recordings then have to be decoded for."""
        return False

    def tools_named(self) -> tuple[str, ...]:
        """The tools that the configuration names, which some case should call."""
        return ()

    def case_problems(self, case: Case) -> tuple[CaseProblem, ...]:
        """What is wrong with the case's reference; nothing where the case is not for this evaluator."""
        if self.condition is not None and not self.condition.holds(case):
            return ()
        return self.reference_problems(case)

    def reference_problems(self, case: Case) -> tuple[CaseProblem, ...]:
        """What is wrong with the reference of a case that was selected."""
        return ()

    def exclusion(self, case: Case) -> Judgment | None:
        """Why the criterion does not apply to a selected case, by the case and the configuration alone."""
        return None

    def judge(self, evidence: Evidence) -> Judgment:
        """The verdict. Total: whatever goes wrong while judging is ``missing(evaluator_error)``."""
        try:
            condition = self.condition
            if condition is not None and not condition.holds(evidence.case):
                return NOT_SELECTED
            exclusion = self.exclusion(evidence.case)
            if exclusion is not None:
                return exclusion
            error = evidence.error
            if error is not None and error.kind != "not_run" and self.on_system_error == "fail":
                return Judgment("fail", error.kind)
            return self.judge_attempt(evidence)
        except Exception as error:
            return missing("evaluator_error", detail=excerpt(f"{type(error).__name__}: {error}"))

    def judge_attempt(self, evidence: Evidence) -> Judgment:
        """The verdict on an attempt at a case to which the criterion applies."""
        raise NotImplementedError


class TrajectoryEvaluator(EvaluatorBase, frozen=True, kw_only=True, dict=True):
    """An evaluator of what the agent did. It obeys the prefix law: a record stands for every finished run that it may
    be the beginning of, and a verdict is settled when all of them share it."""

    @property
    def reads(self) -> Reads:
        return "trajectory"

    def judge_attempt(self, evidence: Evidence) -> Judgment:
        reading = evidence.reading
        error = evidence.error
        if reading is None:
            return missing("no_trajectory" if error is None else error.kind)
        judgment = self.judge_reading(reading, evidence)
        if error is not None and judgment.reason == "truncated_trajectory":
            return msgspec.structs.replace(judgment, reason=error.kind)
        return judgment

    def judge_reading(self, reading: Reading, evidence: Evidence) -> Judgment:
        """The verdict on a recorded trajectory."""
        raise NotImplementedError


def verdict_from_worker(evaluator: EvaluatorBase, evidence: Evidence) -> Judgment:
    """What the evaluation worker said; a function that gave no verdict is missing."""
    verdict = evidence.user_verdicts.get(evaluator.criterion)
    return missing("evaluator_error", detail="no verdict came back") if verdict is None else verdict


def word(holds: bool) -> Word:
    """The word for a question that the record answers."""
    return "pass" if holds else "fail"


def open_reason(reading: Reading, unrecorded: MissingReason = "arguments_not_recorded") -> MissingReason:
    """Why a verdict that values could settle is open.

    Truncation, where there is any: of no evaluator does an open verdict on a truncated record close under every choice
    of the values that were not recorded. Otherwise only those values can be what is missing.
    """
    return "truncated_trajectory" if reading.truncated else unrecorded


def excerpt(value: Json) -> Json:
    """``value`` as evidence: itself while it is small, the beginning of its text (or JSON text) where it is not."""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return value if len(text) <= EXCERPT_LENGTH else text[: EXCERPT_LENGTH - 1] + "…"


def split_path(field: str, path: str) -> tuple[str, ...]:
    """The keys of a dotted path. ConfigError, on ``field``, where one is empty."""
    keys = tuple(path.split("."))
    if "" in keys:
        raise ConfigError(field, f"'{path}' is no dotted path: a key in it is empty")
    return keys


def names_problem(value: Json, what: str) -> str | None:
    """What makes ``value`` no list of names, as the end of a sentence."""
    if type(value) is not list or not _TEXT.issuperset(map(type, value)) or "" in value:
        return f"must be a list of {what}"
    return None


_TEXT: Final = frozenset({str})


def listed(reference: Json, what: str) -> list[Any]:
    """A reference that is a list. TypeError where it is not, which no checked dataset has."""
    if type(reference) is not list:
        raise TypeError(f"{what} must be a list")
    return reference
