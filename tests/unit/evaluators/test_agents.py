"""Routes and permissions."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.evidence import call, case, of_steps, problems
from oloproof.evaluators.agents import Route, ToolPermissions
from oloproof.model.judgment import Judgment
from oloproof.model.trajectory import Step


def message(agent: str | None, inside: int | None = None) -> Step:
    return Step(index=0, kind="message", agent=agent, inside=inside)


def handoff(agent: str, to_agent: str) -> Step:
    return Step(index=0, kind="handoff", agent=agent, to_agent=to_agent)


ESCALATED = [message("triage"), handoff("triage", "billing"), message("billing"), handoff("billing", "person")]


def routed(steps: list[Step], route: list[str], **options: Any) -> Judgment:
    return Route().judge(of_steps(steps, {"route": route}, **options))


def test_receivers_of_handoffs_are_on_the_route():
    assert routed(ESCALATED, ["triage", "billing", "person"]).verdict == "pass"


def test_control_changes_without_a_handoff_too():
    assert routed([message("p"), message("p"), message("q"), message("p")], ["p", "q", "p"]).verdict == "pass"


def test_steps_inside_an_agent_used_as_a_tool_change_nothing():
    steps = [call("ask_expert", {}, agent="p"), message("expert", inside=1), message("p")]
    assert routed(steps, ["p"]).verdict == "pass"


@pytest.mark.parametrize(
    ("route", "truncated", "word", "steps"),
    [
        (["triage", "tech"], False, "fail", (2,)),
        (["triage", "tech"], True, "fail", (2,)),
        (["triage", "billing"], True, "fail", (4,)),
        (["triage", "billing", "person", "triage"], False, "fail", ()),
        (["triage", "billing", "person", "triage"], True, "missing", ()),
        (["triage", "billing", "person"], True, "missing", ()),
    ],
)
def test_where_the_route_leaves_the_reference(route: list[str], truncated: bool, word: str, steps: tuple[int, ...]):
    judgment = routed(ESCALATED, route, truncated=truncated)
    assert (judgment.verdict, judgment.steps) == (word, steps)
    assert (judgment.expected, judgment.found) == (route, ["triage", "billing", "person"])


@pytest.mark.parametrize(
    ("route", "problem"),
    [
        ([], "expected.route must name an agent; leave the key out where no route is expected"),
        ("p", "expected.route must be a list of agent names"),
        (None, "expected.route must be a list of agent names"),
        (["p", ""], "expected.route must be a list of agent names"),
        (["p", "p"], "expected.route names an agent twice in a row, which no run can satisfy: repeats are collapsed"),
        (["p", "q", "p"], None),
    ],
)
def test_routes_that_are_problems(route: Any, problem: str | None):
    assert problems(Route(), case({"route": route})) == problem


def test_a_case_without_a_route_has_no_problem():
    assert problems(Route(), case({})) is None


PERMISSIONS = ToolPermissions(permissions={"triage": (), "billing": ("lookup", "refund")})


@pytest.mark.parametrize(
    ("agent", "tool", "allowed"),
    [("billing", "refund", True), ("billing", "delete", False), ("triage", "lookup", False), ("tech", "lookup", False)],
)
def test_the_table_is_closed(agent: str, tool: str, allowed: bool):
    steps = [message("tech"), call(tool, {}, agent=agent)]
    judgment = PERMISSIONS.judge(of_steps(steps))
    assert judgment.verdict == ("pass" if allowed else "fail")
    if not allowed:
        tools = ["lookup", "refund"] if agent == "billing" else []
        assert judgment == Judgment("fail", None, (2,), {agent: tools}, {agent: tool})


def test_steps_inside_an_agent_used_as_a_tool_need_permission():
    inner = Step(index=0, kind="tool_call", tool_name="refund", agent="expert", inside=1)
    steps = [call("lookup", {}, agent="billing"), inner]
    assert PERMISSIONS.judge(of_steps(steps)).steps == (2,)


@pytest.mark.parametrize("evaluator", [Route(), PERMISSIONS])
def test_unnamed_agents_are_missing_and_no_steps_are_not_unnamed(evaluator: Any):
    expected = {"route": ["p"]}
    assert evaluator.judge(of_steps([message(None)], expected)) == Judgment("missing", "unnamed_agents")
    assert evaluator.judge(of_steps([], expected)).reason is None
