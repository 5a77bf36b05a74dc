"""What all evaluators share: names, ``only``, exclusion before anything else, crashes, and never an exception."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.evidence import calls, case, of_output, of_steps, problems
from oloproof.evaluators import EVALUATORS, ConfigError, UserEvaluator, judge, judge_all
from oloproof.evaluators.base import EXCERPT_LENGTH, EvaluatorBase, excerpt
from oloproof.evaluators.counting import CallBounds
from oloproof.model.case import Attempt, AttemptError, Case
from oloproof.model.evidence import Evidence
from oloproof.model.judgment import EXCLUDED_REASONS, MISSING_REASONS, Judgment
from oloproof.model.trajectory import ConstraintCheck, Step, Trajectory
from oloproof.model.values import TAG, snapshot

OPTIONS: dict[str, dict[str, Any]] = {
    "contains": {"field": "answer", "expected_field": "answer"},
    "exact_match": {"expected_field": "answer"},
    "regex": {"pattern": "a+"},
    "json_schema": {"schema": {"type": "object", "properties": {"answer": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}}},
    "numeric": {"field": "total", "expected_field": "total"},
    "agent_tool_called": {"tool_name": "a", "arguments": {"q": [1]}},
    "agent_tool_not_called": {"tool_name": "a", "arguments": {"q": [1]}},
    "agent_tool_call_counts": {"bounds": {"a": CallBounds(min=1, max=2)}},
    "agent_tool_sequence": {"mode": "in_order"},
    "agent_no_undeclared_tool": {},
    "agent_no_tool_loop": {"max_cycle": 3},
    "agent_tool_errors": {"max_errors": 1},
    "agent_constraints_satisfied": {"constraints": ("kept",)},
    "agent_max_steps": {"max_steps": 3},
    "agent_max_tool_calls": {"max_calls": 2},
    "agent_budget": {"max_tokens": 100},
    "agent_terminal_status": {},
    "canary_absent": {"value": "sk-canary"},
    "state_matches": {"path": "answer"},
    "state_unchanged": {"paths": ("answer",)},
    "agent_route": {},
    "agent_tool_permissions": {"permissions": {"p": ("a",)}},
    "agent_max_handoffs": {"max_handoffs": 1},
    "agent_rule": {"rule": "a(q = 1) before error(b by p)"},
}
NAMES = {
    "agent_tool_called": "agent_tool_a_called",
    "agent_tool_not_called": "agent_tool_a_not_called",
    "agent_tool_errors": "agent_tool_errors_le_1",
    "agent_budget": "agent_tokens_le_100",
    "agent_max_steps": "agent_steps_le_3",
    "agent_max_tool_calls": "agent_tool_calls_le_2",
    "agent_max_handoffs": "agent_handoffs_le_1",
    "agent_rule": "agent_rule_a_q_is_1_before_error_b_by_p",
}
READS_OUTPUT = {"contains", "exact_match", "regex", "json_schema", "numeric"}
READS_STATE = {"state_matches", "state_unchanged"}
by_type = pytest.mark.parametrize("name", EVALUATORS)


def built(name: str, **common: Any) -> EvaluatorBase:
    return EVALUATORS[name](**OPTIONS[name], **common)


def test_the_types_are_those_of_the_reference():
    assert list(EVALUATORS) == list(OPTIONS)


@by_type
def test_default_criteria(name: str):
    assert built(name).criterion == NAMES.get(name, name)
    assert built(name, criterion="mine").criterion == "mine"


@by_type
def test_what_is_read(name: str):
    reads = "output" if name in READS_OUTPUT else "anything" if name in READS_STATE else "trajectory"
    assert built(name).reads == reads


@by_type
def test_the_docstring_is_a_reference_entry(name: str):
    text = EVALUATORS[name].__doc__ or ""
    assert len(text.splitlines()) > 1


@by_type
def test_the_keys_have_a_schema_in_which_each_is_described(name: str):
    schema = msgspec.json.schema_components([EVALUATORS[name]])[1][EVALUATORS[name].__name__]
    assert schema["additionalProperties"] is False
    assert all("description" in key for field, key in schema["properties"].items() if field != "type")


@by_type
def test_only_excludes_other_cases_whatever_the_system_did(name: str):
    evaluator = built(name, only="metadata.surface == chat", on_system_error="fail")
    for error in (None, "system_error"):
        assert evaluator.judge(of_output(error=error, surface="mail")) == Judgment("excluded", "not_selected")


@by_type
def test_a_case_that_is_not_selected_has_no_problem(name: str):
    evaluator = built(name, only="metadata.surface == chat")
    assert problems(evaluator, case({"answer": [], "tools": 1, "route": [], "total": "x"}, surface="mail")) is None


@by_type
def test_only_must_be_a_condition(name: str):
    with pytest.raises(ConfigError) as raised:
        built(name, only="metadata.surface chat")
    assert raised.value.field == "only"
    assert raised.value.message.startswith("a comparison (==")


def test_only_reads_expected_too():
    evaluator = built("agent_tool_sequence", only="expected.kind == a or expected.tools.0 == b or metadata.x == 1")
    assert evaluator.expected_fields == ("tools", "any_of", "kind")


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("contains", ("answer",)),
        ("agent_route", ("route",)),
        ("agent_no_undeclared_tool", ("tools", "any_of")),
        ("regex", ()),
    ],
)
def test_expected_fields(name: str, fields: tuple[str, ...]):
    assert built(name).expected_fields == fields


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("contains", "no_reference"),
        ("exact_match", "no_reference"),
        ("numeric", "no_reference"),
        ("state_matches", "no_reference"),
        ("agent_tool_sequence", "no_declared_tools"),
        ("agent_no_undeclared_tool", "no_declared_tools"),
        ("agent_route", "no_declared_route"),
    ],
)
@pytest.mark.parametrize("error", [None, "system_error", "not_run"])
def test_a_case_without_reference_is_excluded_before_anything_is_missing(name: str, reason: str, error: Any):
    assert built(name, on_system_error="fail").judge(of_output(error=error)) == Judgment("excluded", reason)


REFERENCES = {"answer": "yes", "total": 1, "tools": ["a"], "route": ["p"], "state": {"answer": 1}}


@by_type
@pytest.mark.parametrize("error", ["system_error", "timeout", "not_run"])
def test_where_nothing_was_recorded_the_cause_is_the_reason(name: str, error: Any):
    assert built(name).judge(of_output(expected=REFERENCES, error=error)) == Judgment("missing", error)


@by_type
def test_where_nothing_was_recorded_without_a_cause_that_is_the_reason(name: str):
    unrecorded = dict.fromkeys(READS_OUTPUT, "output_not_recorded") | dict.fromkeys(READS_STATE, "state_not_recorded")
    reason = unrecorded.get(name, "no_trajectory")
    assert built(name).judge(of_output(expected=REFERENCES)) == Judgment("missing", reason)


@pytest.mark.parametrize("name", sorted(READS_OUTPUT))
@pytest.mark.parametrize("error", ["system_error", "timeout", "not_run"])
def test_an_output_beside_an_error_is_not_looked_at(name: str, error: Any):
    evidence = of_output({"answer": "yes", "total": 1}, REFERENCES, error=error, verdicts={name: Judgment("pass")})
    assert built(name).judge(evidence) == Judgment("missing", error)


@pytest.mark.parametrize("name", sorted(READS_OUTPUT))
@pytest.mark.parametrize("output", [{TAG: "datetime 2026"}, snapshot({1: "yes"}), snapshot({"answer", "total"})])
def test_an_output_that_json_cannot_carry_was_not_recorded(name: str, output: Any):
    evidence = of_output(output, REFERENCES, verdicts={name: Judgment("fail", "field_absent")})
    assert built(name).judge(evidence) == Judgment("missing", "output_not_recorded")


def test_a_field_inside_what_json_cannot_carry_was_not_recorded():
    evaluator = EVALUATORS["exact_match"](field="data.answer", value="yes")
    assert evaluator.judge(of_output({"data": {TAG: "set"}})) == Judgment("missing", "output_not_recorded")
    assert evaluator.judge(of_output({"data": {"answer": {TAG: "set"}}})).verdict == "fail"
    assert evaluator.judge(of_output({"data": 1})).reason == "field_absent"


@pytest.mark.parametrize("lost", [1, "\ud800", b"x", None])
def test_a_key_that_json_cannot_carry_takes_no_other_key_along(lost: Any):
    output = snapshot({"answer": "yes", lost: "no"})
    assert built("contains").judge(of_output(output, {"answer": "yes"})).verdict == "pass"
    assert EVALUATORS["exact_match"](value={"answer": "yes"}).judge(of_output(output)).verdict == "fail"


@by_type
@pytest.mark.parametrize("error", ["system_error", "timeout"])
def test_a_crash_counts_as_a_failure_where_that_is_asked_for(name: str, error: Any):
    evaluator = built(name, on_system_error="fail")
    assert evaluator.judge(of_output(expected=REFERENCES, error=error)) == Judgment("fail", error)


@by_type
def test_what_did_not_run_did_not_crash(name: str):
    evaluator = built(name, on_system_error="fail")
    assert evaluator.judge(of_output(expected=REFERENCES, error="not_run")) == Judgment("missing", "not_run")


def test_what_a_crashed_run_settled_is_settled():
    evidence = of_steps(calls("b"), REFERENCES, truncated=True, error="system_error")
    assert built("agent_no_undeclared_tool").judge(evidence).verdict == "fail"
    assert built("agent_max_steps").judge(evidence).reason == "system_error"


def test_a_trajectory_handed_over_as_finished_stays_finished():
    evidence = of_steps(calls("a"), REFERENCES, error="timeout")
    assert built("agent_tool_sequence").judge(evidence).verdict == "pass"


@pytest.mark.parametrize("tools", ["ab", 7, None, {"a": 1}])
def test_a_reference_that_slipped_through_is_an_error_of_the_evaluator(tools: Any):
    judgment = built("agent_tool_sequence").judge(of_steps(calls("b"), {"tools": tools}))
    assert (judgment.verdict, judgment.reason) == ("missing", "evaluator_error")


def test_judge_keeps_the_order():
    evaluators = [built("agent_max_steps"), built("agent_max_tool_calls")]
    assert judge(evaluators, of_steps(calls("a a a"))) == tuple(e.judge(of_steps(calls("a a a"))) for e in evaluators)


def test_many_attempts_are_judged_like_each_of_them():
    many = [of_steps(calls("a " * count)) for count in range(5)]
    for evaluators in ([], [built("agent_max_steps")], [built("agent_max_tool_calls"), built("agent_max_steps")]):
        assert judge_all(evaluators, many) == [judge(evaluators, each) for each in many]
    assert judge_all(evaluators, []) == []


@pytest.mark.parametrize("value", ["x" * EXCERPT_LENGTH, ["x"], None])
def test_a_small_value_is_its_own_excerpt(value: Any):
    assert excerpt(value) == value


@pytest.mark.parametrize("value", ["x" * 10_000, ["x"] * 10_000])
def test_a_large_value_is_cut(value: Any):
    assert len(excerpt(value)) == EXCERPT_LENGTH
    assert excerpt(value).endswith("…")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["answer", "q", "x"]), inner),
    max_leaves=5,
).map(snapshot)
texts = st.sampled_from(["a", "p", "kept", "", "x"])
steps = st.builds(
    Step,
    index=st.integers(-1, 3),
    kind=st.sampled_from(["message", "tool_call", "handoff"]),
    tool_name=st.none() | texts,
    arguments=json_values,
    agent=st.none() | texts,
    to_agent=st.none() | texts,
    turn=st.none() | st.integers(0, 1),
    inside=st.none() | st.integers(0, 3),
)
trajectories = st.builds(
    Trajectory,
    steps=st.lists(steps, max_size=6).map(tuple),
    truncated=st.booleans(),
    constraints=st.lists(st.builds(ConstraintCheck, name=texts, passed=st.booleans())).map(tuple),
)
attempts = st.builds(
    Attempt,
    case_id=st.just("c"),
    output=json_values | st.just(msgspec.UNSET),
    error=st.none() | st.builds(AttemptError, kind=st.sampled_from(["system_error", "not_run"]), message=st.text()),
    trajectory=st.none() | trajectories,
)
references = st.dictionaries(st.sampled_from(["answer", "total", "tools", "route"]), json_values | st.lists(texts))


@by_type
@given(attempt=attempts, expected=references)
@settings(max_examples=40, deadline=None)
def test_every_evidence_has_a_judgment_that_json_can_carry(name: str, attempt: Attempt, expected: dict[str, Any]):
    evaluator = built(name)
    evidence = Evidence(Case(id="c", expected=expected), attempt, {evaluator.criterion: Judgment("pass")})

    judgment = evaluator.judge(evidence)

    if judgment.verdict == "missing":
        assert judgment.reason in MISSING_REASONS
    if judgment.verdict == "excluded":
        assert judgment.reason in EXCLUDED_REASONS
    if problems(evaluator, evidence.case) is None:
        assert judgment.reason != "evaluator_error"
    assert msgspec.json.decode(msgspec.json.encode(judgment), type=Judgment).verdict == judgment.verdict


class TestUserEvaluator:
    def test_its_name_is_the_functions(self):
        assert UserEvaluator(target="pkg.checks:polite").criterion == "polite"

    def test_it_gives_the_workers_verdict(self):
        verdict = Judgment("fail", "rude", (2,))
        evidence = of_output("x", verdicts={"polite": verdict})
        assert UserEvaluator(target="checks:polite").judge(evidence) == verdict

    def test_no_verdict_is_an_error_of_the_evaluator(self):
        judgment = UserEvaluator(target="checks:polite").judge(of_output("x"))
        assert (judgment.verdict, judgment.reason) == ("missing", "evaluator_error")

    @pytest.mark.parametrize("error", ["system_error", "timeout", "not_run"])
    def test_a_run_that_broke_off_is_missing_whatever_it_says_of_the_beginning(self, error: Any):
        evidence = of_output(error=error, verdicts={"polite": Judgment("pass")})
        assert UserEvaluator(target="checks:polite").judge(evidence) == Judgment("missing", error)


LABEL = EVALUATORS["exact_match"](criterion="label", field="metadata.reward", value=1)


@pytest.mark.parametrize(
    ("metadata", "judgment"),
    [
        ({"reward": 1.0}, Judgment("pass", expected=1, found=1.0)),
        ({"reward": 0}, Judgment("fail", expected=1, found=0)),
        ({"reward": None}, Judgment("fail", expected=1, found=None)),
        ({}, Judgment("missing", "metadata_not_recorded")),
        ({"reward": {TAG: "float nan"}}, Judgment("missing", "metadata_not_recorded")),
    ],
)
@pytest.mark.parametrize("error", [None, "system_error"])
def test_a_label_is_judged_whatever_the_output_and_the_end(metadata: Any, judgment: Judgment, error: Any) -> None:
    output = {"metadata": {"reward": 1}}
    assert LABEL.judge(of_output(output, error=error, **metadata)) == judgment
    assert LABEL.judge(of_output(**metadata)) == judgment


def test_the_whole_metadata_of_an_output_is_no_label() -> None:
    evaluator = EVALUATORS["exact_match"](criterion="whole", field="metadata", value=1)
    assert evaluator.judge(of_output({"metadata": 1})).verdict == "pass"


@pytest.mark.parametrize(
    ("kind", "options"), [("json_schema", {"schema": {}}), ("regex", {"pattern": "(?=a)", "engine": "python"})]
)
def test_what_is_judged_apart_judges_no_label(kind: str, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="field: metadata is judged by"):
        EVALUATORS[kind](field="metadata.reward", **options)
