"""What a test may ask of one trajectory, and what it is told."""

from __future__ import annotations

import subprocess
import sys
import traceback
from typing import Any, get_args, get_type_hints

import pytest

from oloproof import AgentConstraintCheck, AgentStep, AgentTrajectory, current_case
from oloproof.errors import UsageError
from oloproof.evaluators import EVALUATORS
from oloproof.model.recording import read
from oloproof.model.trajectory import Step, Trajectory
from oloproof.recorders import record_anthropic, record_openai
from oloproof.testing import assert_trajectory, recorded_case
from oloproof.testing.asking import _EACH, _KEYS, _REFERENCES
from oloproof.testing.assertions import Asked


def trajectory(*tools: str, truncated: bool = False, **fields: Any) -> AgentTrajectory:
    steps = [AgentStep(index=at, kind="tool_call", tool_name=tool, arguments={}) for at, tool in enumerate(tools, 1)]
    return AgentTrajectory(steps=steps, truncated=truncated, **fields)


REFUND = trajectory(
    "lookup_order",
    "issue_refund",
    terminal_status="success",
    constraints=[AgentConstraintCheck(name="no_deletion", passed=True)],
)


@pytest.mark.parametrize(
    ("holds", "fails"),
    [
        ({"tools": ["lookup_order", "issue_refund"]}, {"tools": ["issue_refund", "lookup_order"]}),
        ({"tools": ["issue_refund"], "mode": "superset"}, {"tools": ["issue_refund"]}),
        ({"any_of": [["search"], ["lookup_order", "issue_refund"]]}, {"any_of": [["search"], ["lookup_order"]]}),
        (
            {"tools": [{"tool": "lookup_order", "arguments": {"x": 1}}, "issue_refund"], "arguments_mode": "ignore"},
            {"tools": [{"tool": "lookup_order", "arguments": {"x": 1}}, "issue_refund"]},
        ),
        ({"allowed_tools": ("lookup_order", "issue_refund", "search")}, {"allowed_tools": ["lookup_order"]}),
        ({"called": "lookup_order"}, {"called": ["lookup_order", "search"]}),
        ({"not_called": ["search", "delete"]}, {"not_called": "issue_refund"}),
        ({"rule": "lookup_order before issue_refund"}, {"rule": ["never search", "never issue_refund"]}),
        ({"constraints": "no_deletion"}, {"constraints": ["no_deletion", "no_transfer"]}),
        ({"max_steps": 2}, {"max_steps": 1}),
        ({"max_tool_calls": 2}, {"max_tool_calls": 1}),
        ({"status": "success"}, {"status": "failure"}),
        (
            {"evaluators": [{"type": "agent_tool_call_counts", "bounds": {"issue_refund": {"max": 1}}}]},
            {"evaluators": [{"type": "agent_tool_call_counts", "bounds": {"issue_refund": {"max": 0}}}]},
        ),
        (
            {"evaluators": [{"type": "agent_tool_sequence"}], "expected": {"tools": ["lookup_order", "issue_refund"]}},
            {"evaluators": [{"type": "agent_tool_sequence"}], "expected": {"tools": []}},
        ),
    ],
)
def test_what_holds_is_silent_and_what_does_not_is_told(holds, fails):
    assert_trajectory(REFUND, **holds)
    with pytest.raises(AssertionError):
        assert_trajectory(REFUND, **fails)


def test_loops_errors_budgets_agents_and_the_last_word():
    steps = [
        AgentStep(index=1, kind="tool_call", tool_name="search", arguments={}, agent="triage", tokens=40),
        AgentStep(index=2, kind="tool_result", tool_name="search", error="timed out", agent="triage", tokens=0),
        AgentStep(index=3, kind="handoff", agent="triage", to_agent="billing", tokens=0),
        AgentStep(index=4, kind="final", arguments="refunded", agent="billing", tokens=2),
    ]
    record = AgentTrajectory(steps=steps)
    assert_trajectory(record, max_errors=1, max_tokens=42, max_handoffs=1, route=["triage", "billing"], no_loop=1)
    assert_trajectory(record, final="refunded")
    for asked in ({"max_errors": 0}, {"max_tokens": 41}, {"max_handoffs": 0}, {"route": ["triage"]}, {"final": "no"}):
        with pytest.raises(AssertionError):
            assert_trajectory(record, **asked)
    with pytest.raises(AssertionError, match="missing: metric_not_recorded"):
        assert_trajectory(record, max_cost_usd=1.0)
    with pytest.raises(AssertionError, match="missing: metric_not_recorded"):
        assert_trajectory(record, max_latency_ms=1)
    with pytest.raises(AssertionError, match=r"no_loop: fail: .*\"times\": 3"):
        assert_trajectory(trajectory("a", "a", "a"), no_loop=2)


def test_every_keyword_is_of_an_evaluator_that_is_there():
    kinds = [kind for kind, _ in (*_REFERENCES.values(), *_KEYS.values(), *_EACH.values())]
    assert set(kinds) <= EVALUATORS.keys()
    assert set(get_type_hints(Asked)) >= {*_REFERENCES, *_KEYS, *_EACH}
    for keyword, (kind, key) in (*_KEYS.items(), *_EACH.items()):
        assert key in EVALUATORS[kind].__struct_fields__, keyword
    assert "exact" in get_args(get_type_hints(Asked)["mode"])


def test_the_message_names_what_does_not_hold_and_marks_the_steps():
    with pytest.raises(AssertionError) as caught:
        assert_trajectory(
            trajectory("lookup_order", "delete\x1b[31m", "a", "a", "a"),
            tools=["lookup_order"],
            no_loop=2,
            rule="lookup_order before a",
        )
    told = str(caught.value)
    assert told.startswith(r"tools: fail: expected no call, found 'delete\x1b[31m'")
    assert "rule" not in told
    assert r"   2  tool_call delete\x1b[31m  ✗ tools" in told
    assert "   4  tool_call a  ✗ no_loop" in told
    assert "declared calls beside found ones" in told
    assert "\x1b" not in told


@pytest.mark.parametrize(
    ("trace", "reason"),
    [
        (trajectory("a", truncated=True), "truncated_trajectory"),
        (None, "no_trajectory"),
        (read(b'{"case": "c1", "error": "killed"}'), "system_error"),
    ],
)
def test_what_is_not_known_fails_with_the_reason(trace, reason):
    with pytest.raises(AssertionError, match=f"tools: missing: {reason}"):
        assert_trajectory(trace, tools=["a"])


def test_a_criterion_that_does_not_apply_is_no_pass():
    with pytest.raises(AssertionError, match="agent_tool_sequence: excluded: no_declared_tools"):
        assert_trajectory(REFUND, evaluators=[{"type": "agent_tool_sequence"}])


def test_a_recorded_case_also_when_the_agent_raised_in_it():
    def agent(request):
        with current_case().trace() as trace:
            trace.tool_call("lookup_order", request)
            raise ValueError("no such order")

    with pytest.raises(ValueError, match="no such order"), recorded_case({"order": 1}) as case:
        agent(case.input)
    assert_trajectory(case, called="lookup_order")
    with pytest.raises(AssertionError, match="missing: truncated_trajectory"):
        assert_trajectory(case, tools=["lookup_order"])
    with recorded_case() as empty:
        pass
    with pytest.raises(AssertionError, match="no_trajectory"):
        assert_trajectory(empty, max_steps=3)


def test_what_an_importer_read_and_what_contradicts_itself():
    line = b'{"case": "c1", "trajectory": {"steps": [{"index": 1, "kind": "tool_call", "tool_name": "a"}]}}'
    recording = read(line)
    assert_trajectory(recording, tools=["a"])
    assert_trajectory(recording.trajectory, tools=["a"])
    with pytest.raises(UsageError, match="its index is 7"):
        assert_trajectory(Trajectory(steps=(Step(index=7, kind="message"),)), max_steps=1)


@pytest.mark.parametrize(
    ("asked", "error", "told"),
    [
        ({"tols": ["a"]}, TypeError, "did you mean 'tools'"),
        ({}, TypeError, "asked nothing"),
        ({"mode": "exact"}, TypeError, "asked nothing"),
        ({"mode": "exact", "max_steps": 3}, TypeError, r"mode say how tools"),
        ({"expected": {}, "max_steps": 3}, TypeError, "expected is what evaluators"),
        ({"max_steps": None}, TypeError, "max_steps is None"),
        ({"evaluators": []}, TypeError, "evaluators is empty"),
        ({"max_steps": "12"}, UsageError, r"max_steps: Expected `int`, got `str` \[OLO731\]"),
        ({"no_loop": True}, UsageError, "no_loop"),
        ({"no_loop": 0}, UsageError, ">= 1"),
        ({"tools": "lookup_order"}, UsageError, r"write \['lookup_order'\]"),
        ({"tools": [3]}, UsageError, "tools"),
        ({"tools": ["a"], "mode": "exactly"}, UsageError, r"mode must be .* or superset, found 'exactly'\n.*'exact'"),
        ({"tools": ["a"], "mode": "zzz"}, UsageError, r"or superset, found 'zzz' \[OLO731\]$"),
        ({"tools": ["a"], "mode": 3}, UsageError, "mode"),
        ({"status": "succes"}, UsageError, r"status must be .*, found 'succes'\n.*did you mean 'success'\?"),
        ({"called": []}, UsageError, "name something"),
        ({"rule": "a befor b"}, UsageError, r"did you mean 'before'\? \[OLO670\]"),
        ({"evaluators": [{"type": "agent_max_step"}]}, UsageError, "did you mean 'agent_max_steps'"),
        ({"evaluators": [{"type": "equals"}]}, UsageError, "exact_match asks for an equal value"),
        ({"evaluators": [{"type": "agent_max_steps"}]}, UsageError, "number 1"),
        ({"evaluators": ["agent_max_steps"]}, UsageError, "must be a mapping"),
    ],
)
def test_what_cannot_be_asked(asked, error, told):
    with pytest.raises(error, match=told) as caught:
        assert_trajectory(REFUND, **asked)
    frames = traceback.extract_tb(caught.tb)
    assert not any("asking.py" in frame.filename for frame in frames)


def test_what_is_no_trajectory():
    with pytest.raises(TypeError, match="a list, which is no trajectory"):
        assert_trajectory([], max_steps=1)  # type: ignore[arg-type]


def test_importing_it_costs_next_to_nothing_and_needs_no_pytest():
    code = "import sys; from oloproof.testing import assert_trajectory; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert not {"pytest", "rich", "numpy", "re2", "oloproof.evaluators"} & set(done.stdout.split())


@pytest.mark.parametrize("record", [record_openai, record_anthropic])
def test_a_recorded_answer_is_told_by_its_text_or_as_the_message_that_it_is(record):
    with recorded_case() as case:
        record([{"role": "user", "content": "ord-1"}, {"role": "assistant", "content": "refunded"}])
    assert_trajectory(case, final="refunded")
    assert_trajectory(case, final={"role": "assistant", "content": "refunded"})
    with pytest.raises(AssertionError, match='final: fail: "refused" → "refunded"'):
        assert_trajectory(case, final="refused")


def test_messages_are_no_trajectory_and_it_says_what_makes_one_of_them():
    with pytest.raises(
        TypeError, match=r"given a list, .*record_openai\(\) or another recorder in a recorded_case\(\)"
    ):
        assert_trajectory([{"role": "user", "content": "ord-1"}], max_steps=1)
