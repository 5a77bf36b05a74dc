"""The evaluator of rules: its names, its evidence, and what it says of records that do not say all."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from fakes.evidence import call, calls, of_steps
from oloproof.evaluators import ConfigError
from oloproof.evaluators.rule import AgentRule
from oloproof.model.judgment import Judgment
from oloproof.model.trajectory import Step
from oloproof.model.values import TAG

LOST = {TAG: "float nan"}


def judged(rule: str, steps: str | list[Step], **record: Any) -> Judgment:
    return AgentRule(rule=rule).judge(of_steps(calls(steps) if isinstance(steps, str) else steps, **record))


@pytest.mark.parametrize(
    ("rule", "criterion"),
    [
        ("lookup_order before issue_refund", "agent_rule_lookup_order_before_issue_refund"),
        ("never  pay( amount>100 )", "agent_rule_never_pay_amount_gt_100"),
        ("never pay(currency != 'EUR')", "agent_rule_never_pay_currency_ne_EUR"),
    ],
)
def test_a_rule_names_its_criterion(rule: str, criterion: str):
    assert AgentRule(rule=rule).criterion == criterion


def test_long_rules_have_names_of_their_own():
    names = {
        AgentRule(rule=" and ".join([*(f"never tool_{n}" for n in range(9)), last])).criterion
        for last in ("never a", "never b")
    }
    assert len(names) == 2
    assert max(map(len, names)) < 110


@pytest.mark.parametrize(
    ("rule", "trace", "steps", "found"),
    [
        ("a before b", "c b a", (2,), "b (step 2) with no a before it"),
        ("b only immediately after a", "a c b", (2, 3), "b (step 3) comes right after c (step 2)"),
        ("b only immediately after a", "b", (1,), "b (step 1) comes first"),
        ("never b", "a b b", (2,), "b 2 times (steps 2, 3)"),
        ("b at most once", "b a b", (1, 3), "b 2 times (steps 1, 3)"),
        ("eventually b", "a", (), "no b"),
        ("b at least twice", "b", (1,), "b once (step 1)"),
        ("after a: b within 2 calls", "c a c c b", (2, 3, 4), "after a (step 2): no b in the next 2 calls"),
        ("after a: next call is b", "a", (1,), "after a (step 1): no calls"),
        ("first call is a", "b", (1,), "the first call is b (step 1)"),
        ("last call is a", "a b", (2,), "the last call is b (step 2)"),
        ("last call is a", "", (), "no calls"),
        ("a until b", "a c b", (2,), "c (step 2) before any b"),
        ("a until b", "a", (), "no b"),
        ("every call is (a or b)", "a c", (2,), "c (step 2) is not a or b"),
        (
            "b at most once between a and c",
            "a b b c",
            (1, 2, 3, 4),
            "after a (step 1): before c (step 4): b 2 times (steps 2, 3)",
        ),
        ("never a if b", "a b", (1, 2), "b (step 2), and a once (step 1)"),
        ("eventually a or eventually b", "c", (), "no a; and no b"),
        ("a before b and never c", "c", (1,), "c once (step 1)"),
        ("not eventually a", "a", (), "it holds that eventually a"),
    ],
)
def test_a_fail_names_the_calls_and_what_was_found(rule: str, trace: str, steps: tuple[int, ...], found: str):
    assert judged(rule, trace) == Judgment("fail", None, steps, rule, found)


def test_a_pass_that_a_call_settled_names_it():
    assert judged("a before b", "c a b") == Judgment("pass", None, (2,), "a before b")
    assert judged("a before b", "c") == Judgment("pass", None, (), "a before b")


@pytest.mark.parametrize(
    ("rule", "arguments", "verdict"),
    [
        ("never a(q = 1)", None, "missing"),
        ("never a(q = 1)", {"q": LOST}, "missing"),
        ("never a(q = 1)", {"r": LOST}, "pass"),
        ("never a(q = 1)", {"q": 1.0}, "fail"),
        ("never a(q = 1)", {"q": True}, "pass"),
        ("never a(q.r.0 = 1)", {"q": {"r": [1]}}, "fail"),
        ("never a(q.r = 1)", {"q": LOST}, "missing"),
        ("never a(q present)", {"q": LOST}, "fail"),
        ("never a(q present)", {"q": None}, "fail"),
        ("never a(q absent)", {"r": 1, TAG: [["int 7", 1]]}, "missing"),
        ("never a(q != 1)", {}, "fail"),
        ("never a(q > 1)", {"q": "2"}, "pass"),
        ('never a(q matches "^x")', {"q": "xy"}, "fail"),
        ('never a(q matches "^x")', {"q": 1}, "pass"),
        ("eventually a(q in [1, 2])", {"q": 2}, "pass"),
        ("never a(q = 1) or never a(q = 2)", None, "pass"),
        ("never a(q > 5, q < 9)", None, "missing"),
    ],
)
def test_what_was_not_recorded_may_be_anything(rule: str, arguments: Any, verdict: str):
    judgment = judged(rule, [call("a", arguments)])
    assert judgment.verdict == verdict
    assert judgment.reason == ("arguments_not_recorded" if verdict == "missing" else None)


def test_errors_are_joined_to_their_calls():
    def record(error: Any) -> Judgment:
        asked = [Step(index=0, kind="tool_call", tool_name=tool, call_id=tool, arguments={}) for tool in ("a", "b")]
        answer = Step(index=0, kind="tool_result", tool_name="a", call_id="a", error=error)
        return judged("never error(a)", [*asked, answer])

    assert record("no").verdict == "fail"
    assert record(None).verdict == "pass"
    assert record(UNSET).reason == "errors_not_recorded"


def test_a_call_that_waits_for_its_result_is_where_the_record_breaks_off():
    rule = "first call is success(a)"
    assert judged(rule, "a").reason == "errors_not_recorded"
    assert judged(rule, "a", truncated=True).reason == "truncated_trajectory"
    assert judged(rule, "a", truncated=True, error="timeout").reason == "timeout"


def test_a_rule_that_names_agents_needs_them():
    assert judged("never a by p", [call("a", {}, agent="p")]).verdict == "fail"
    assert judged("never a by p", [call("a", {}, agent="q")]).verdict == "pass"
    assert judged("never a by p", "b").reason == "unnamed_agents"
    assert judged("never a by p", "").verdict == "pass"


def test_the_tools_of_a_rule_are_named_once():
    assert AgentRule(rule="a before b and never (c or error(a))").tools_named() == ("a", "b", "c")


@pytest.mark.parametrize(
    ("rule", "code", "lines"),
    [
        ("a bfore b", "OLO670", ["  a bfore b", "    ^", "did you mean 'before'?"]),
        ("never a(q = 1, q = 2)", "OLO671", ["  never a(q = 1, q = 2)", "        ^"]),
        ("a at least 3 times and a at most 2 times", "OLO671", None),
        ("a at most 999 times and b at most 999 times", "OLO672", None),
        (f"never ({' or '.join(f'any(k{n} = 1)' for n in range(13))})", "OLO672", None),
        ("a" * 5000, "OLO670", None),
    ],
)
def test_a_text_that_is_no_rule_is_refused(rule: str, code: str, lines: list[str] | None):
    with pytest.raises(ConfigError) as caught:
        AgentRule(rule=rule)
    assert caught.value.code == code
    if lines is not None:
        assert caught.value.message.splitlines()[1:] == lines


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a", "say something of it: `eventually a`, `never a`"),
        ("a after b", "`X only after Y`"),
        ("a immediately after b", "`X only immediately after Y`"),
        ("never a unless b", "`X only after Y`, or `… or eventually Y`"),
        ("never call", "call is a word of the language"),
        ("a(q from b) before c", "for example: from b.result.id"),
    ],
)
def test_a_hint_says_what_was_perhaps_meant(text: str, hint: str):
    with pytest.raises(ConfigError, match=hint.replace("(", r"\(").replace("?", r"\?")):
        AgentRule(rule=text)
