"""The recorded state beside what is expected, and before beside after."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from fakes.evidence import problems
from oloproof.evaluators import ConfigError
from oloproof.evaluators.state import StateMatches, StateUnchanged
from oloproof.model.case import Attempt, AttemptError, Case, State
from oloproof.model.evidence import Evidence
from oloproof.model.judgment import Judgment
from oloproof.model.values import TAG

LOST = {TAG: "float nan"}


def judged(
    evaluator: Any, after: Any = UNSET, expected: Any = UNSET, *, before: Any = UNSET, error: str | None = None
) -> Judgment:
    state = None if after is UNSET and before is UNSET else State(before=before, after=after)
    crash = None if error is None else AttemptError(kind=error, message="it broke")
    case = Case(id="c", expected={} if expected is UNSET else {"state": expected})
    return evaluator.judge(Evidence(case, Attempt(case_id="c", state=state, error=crash)))


ORDERS = {"orders": {"o1": {"status": "paid", "items": [1, 2]}}}


@pytest.mark.parametrize(
    ("options", "after", "word"),
    [
        ({}, ORDERS, "pass"),
        ({}, {**ORDERS, "log": []}, "fail"),
        ({"mode": "subset"}, {**ORDERS, "log": []}, "pass"),
        ({"mode": "subset"}, {"orders": {"o1": {"status": "paid", "items": [1, 2, 3]}}}, "fail"),
        ({"path": "orders.o1.status"}, {"orders": {"o1": {"status": "paid"}}, "log": LOST}, "pass"),
        ({"path": "orders.o1.items.1"}, {"orders": {"o1": {"items": [1, 2.0]}}}, "pass"),
        ({"path": "orders.o1"}, {"orders": {}}, "fail"),
        ({"path": "orders.o1"}, {"orders": LOST}, "missing"),
        ({}, {"orders": {"o1": {"status": "open", "items": LOST}}}, "fail"),
        ({}, {"orders": {"o1": {"status": "paid", "items": LOST}}}, "missing"),
    ],
)
def test_modes_and_paths(options: dict[str, Any], after: Any, word: str) -> None:
    judgment = judged(StateMatches(**options), after, ORDERS)
    assert judgment.verdict == word
    assert judgment.reason == ("state_not_recorded" if word == "missing" else None)


def test_the_evidence_is_the_first_part_that_differs() -> None:
    after = {"orders": {"o1": {"status": "open", "items": [1, 2]}}}
    assert judged(StateMatches(path="orders"), after, ORDERS) == Judgment(
        "fail", None, (), "paid", "open", "state.orders.o1.status is not what it must be"
    )


def test_cases_without_a_reference_are_excluded() -> None:
    assert judged(StateMatches(), ORDERS).reason == "no_reference"
    assert judged(StateMatches(path="customers"), ORDERS, ORDERS).reason == "no_reference"


@pytest.mark.parametrize("evaluator", [StateMatches(), StateUnchanged()])
def test_without_a_record_or_beside_a_crash_nothing_is_known(evaluator: Any) -> None:
    assert judged(evaluator, UNSET, 1).reason == "state_not_recorded"
    assert judged(evaluator, UNSET, 1, before=1).reason == "state_not_recorded"
    assert judged(evaluator, 1, 1, before=1, error="timeout").reason == "timeout"


@pytest.mark.parametrize(
    ("paths", "before", "after", "word"),
    [
        (None, {"a": 1}, {"a": 1.0}, "pass"),
        (None, {"a": 1}, {"a": True}, "fail"),
        (None, {"a": 1}, {"a": 1, "b": None}, "fail"),
        (("a",), {"a": 1}, {"a": 1, "b": 2}, "pass"),
        (("a", "b"), {"a": 1}, {"a": 1, "b": 2}, "fail"),
        (("c.d",), {"a": 1}, {"a": 2}, "pass"),
        (None, {"a": LOST}, {"a": LOST}, "missing"),
        (("a.b",), {"a": LOST}, {"a": {}}, "missing"),
        (None, {"a": LOST}, {}, "fail"),
    ],
)
def test_unchanged(paths: tuple[str, ...] | None, before: Any, after: Any, word: str) -> None:
    assert judged(StateUnchanged(paths=paths), after, before=before).verdict == word


@pytest.mark.parametrize(
    ("options", "expected", "problem"),
    [
        ({}, {"a": LOST}, "expected.state holds a value that JSON cannot carry, which nothing equals"),
        ({"mode": "subset"}, {}, "expected.state is empty, and every object holds that"),
        ({"mode": "subset", "path": "a"}, {"a": {}}, "expected.state.a is empty, and every object holds that"),
        ({}, {}, None),
        ({"path": "b"}, {"a": LOST}, None),
    ],
)
def test_references(options: dict[str, Any], expected: Any, problem: str | None) -> None:
    assert problems(StateMatches(**options), Case(id="c", expected={"state": expected})) == problem


def test_paths_have_no_empty_keys() -> None:
    with pytest.raises(ConfigError, match=r"'a\.\.b' is no dotted path"):
        StateUnchanged(paths=("a..b",))
