"""The world that the agent acted on, as the system recorded it: ``state_matches`` and ``state_unchanged``.

A state is compared part by part. Where JSON could not carry a part, it may be anything: a difference elsewhere settles
a fail, and otherwise the state was not recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct

from oloproof.evaluators.base import EvaluatorBase, Name, excerpt, split_path
from oloproof.model.case import Case, State
from oloproof.model.evidence import CaseProblem, Evidence
from oloproof.model.judgment import Judgment, excluded, missing
from oloproof.model.values import UNKNOWN, Json, equal, has_unrepresentable, is_incomplete, lookup

NOT_RECORDED = missing("state_not_recorded")

Path = tuple[str, ...]


class StateEvaluator(EvaluatorBase, frozen=True, kw_only=True, dict=True):
    """An evaluator of the recorded state. Beside an error the state after is not known: the case was not over."""

    def judge_attempt(self, evidence: Evidence) -> Judgment:
        if evidence.error is not None:
            return missing(evidence.error.kind)
        state = evidence.attempt.state
        if state is None or state.after is UNSET:
            return NOT_RECORDED
        return self.judge_state(state, evidence.case)

    def judge_state(self, state: State, case: Case) -> Judgment:
        """The verdict on a state of which at least the end was recorded."""
        raise NotImplementedError


class StateMatches(StateEvaluator, frozen=True, kw_only=True, dict=True, tag_field="type", tag="state_matches"):
    """The state after the case, as recorded with ``current_case().state(…)``, is ``expected.state``.

    With ``path``, only the part at this dotted path of both is compared. ``mode: exact`` (default) compares as JSON;
    ``subset`` lets objects have further keys, at any depth, and compares arrays and plain values exactly. A case
    without ``expected.state``, or without the path in it, is excluded (``no_reference``). A state that was not
    recorded, or of which JSON could not carry what matters, is missing (``state_not_recorded``).
    """

    path: Annotated[Name | None, Meta(description="A dotted path into the state; default: all of it.")] = None
    mode: Annotated[Literal["exact", "subset"], Meta(description="Whether objects may have further keys.")] = "exact"

    def __post_init__(self) -> None:
        EvaluatorBase.__post_init__(self)
        _ = self.keys

    @cached_property
    def keys(self) -> Path:
        """``path``, split."""
        return () if self.path is None else split_path("path", self.path)

    def reference_fields(self) -> tuple[str, ...]:
        return ("state",)

    def reference(self, case: Case) -> Json:
        """What the case expects at the path, UNSET where it expects nothing."""
        return lookup(case.expected, ("state", *self.keys))

    def exclusion(self, case: Case) -> Judgment | None:
        return excluded("no_reference") if self.reference(case) is UNSET else None

    def reference_problems(self, case: Case) -> tuple[CaseProblem, ...]:
        reference = self.reference(case)
        path = ("state", *self.keys)
        if has_unrepresentable(reference):
            return (CaseProblem("holds a value that JSON cannot carry, which nothing equals", path),)
        if self.mode == "subset" and reference == {}:
            return (CaseProblem("is empty, and every object holds that", path),)
        return ()

    def judge_state(self, state: State, case: Case) -> Judgment:
        reference = self.reference(case)
        return _verdict(_differences(_part(state.after, self.keys), reference, self.keys, subset=self.mode == "subset"))


class StateUnchanged(StateEvaluator, frozen=True, kw_only=True, dict=True, tag_field="type", tag="state_unchanged"):
    """The case left the state as it was: ``current_case().state(before=…)`` and ``current_case().state(…)`` are equal.

    With ``paths``, only the parts at these dotted paths must be; a part that is absent before and after is unchanged.
    A state that was not recorded at both times, or of which JSON could not carry what matters, is missing
    (``state_not_recorded``).
    """

    paths: Annotated[
        Annotated[tuple[Name, ...], Meta(min_length=1)] | None,
        Meta(description="Dotted paths into the state; default: all of it."),
    ] = None

    def __post_init__(self) -> None:
        EvaluatorBase.__post_init__(self)
        _ = self.keys

    @cached_property
    def keys(self) -> tuple[Path, ...]:
        """``paths``, split."""
        return ((),) if self.paths is None else tuple(split_path("paths", path) for path in self.paths)

    @property
    def compares_within(self) -> bool:
        return self.paths is None

    def judge_state(self, state: State, case: Case) -> Judgment:
        if state.before is UNSET:
            return NOT_RECORDED
        return _verdict(
            difference
            for path in self.keys
            for difference in _differences(_part(state.after, path), _part(state.before, path), path)
        )


class _Difference(Struct, frozen=True, gc=False):
    """A part that differs, or (``certain`` False) that may. UNSET where one side has none."""

    path: Path
    expected: Json
    found: Json
    certain: bool


def _differences(found: Json, expected: Json, path: Path, *, subset: bool = False) -> Iterator[_Difference]:
    if found is not UNKNOWN and expected is not UNKNOWN and (found is UNSET) != (expected is UNSET):
        yield _Difference(path, expected, found, True)
    elif _is_unknown(found) or _is_unknown(expected):
        yield _Difference(path, expected, found, False)
    elif type(found) is dict and type(expected) is dict:
        for key, part in expected.items():
            yield from _differences(found.get(key, UNSET), part, (*path, key), subset=subset)
        if not subset:
            for key in found.keys() - expected.keys():
                yield from _differences(found[key], UNSET, (*path, key))
    elif type(found) is list and type(expected) is list and len(found) == len(expected):
        for index, (part, wanted) in enumerate(zip(found, expected, strict=True)):
            yield from _differences(part, wanted, (*path, str(index)))
    elif found is not UNSET and not equal(found, expected):
        yield _Difference(path, expected, found, True)


def _is_unknown(value: Json) -> bool:
    return value is UNKNOWN or is_incomplete(value)


def _part(value: Json, path: Path) -> Json:
    """The part at the path: UNSET where there is none, UNKNOWN where JSON could not carry what it lies in."""
    for key in path:
        if is_incomplete(value):
            return UNKNOWN
        value = lookup(value, (key,))
    return value


def _verdict(differences: Iterator[_Difference]) -> Judgment:
    doubtful: _Difference | None = None
    for difference in differences:
        if difference.certain:
            detail = f"{_named(difference)} is not what it must be"
            return Judgment("fail", None, (), _shown(difference.expected), _shown(difference.found), detail)
        doubtful = doubtful or difference
    if doubtful is None:
        return Judgment("pass")
    return missing("state_not_recorded", detail=f"JSON could not carry {_named(doubtful)}")


def _named(difference: _Difference) -> str:
    return ".".join(("state", *difference.path))


def _shown(value: Json) -> Json:
    return value if value is UNSET else excerpt(value)
