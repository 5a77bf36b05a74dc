"""The evaluator of rules: its names, its evidence, and what it says of records that do not say all."""

from __future__ import annotations

import json
import re
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
        ("never b", "a b b", (2,), "b (step 2)"),
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
        ("never a if b", "a b", (1, 2), "b (step 2), and a (step 1)"),
        ("eventually a or eventually b", "c", (), "no a; and no b"),
        ("a before b and never c", "c", (1,), "c (step 1)"),
        ("not eventually a", "a", (1,), "it holds that eventually a"),
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


def test_integers_that_no_double_holds_are_compared():
    huge = 10**1_200
    assert judged(f"never a(q > {huge})", [call("a", {"q": huge + 1})]).verdict == "fail"
    assert judged(f"never a(q > -{huge})", [call("a", {"q": -1.5})]).verdict == "fail"
    assert judged(f"never a(q = {huge})", [call("a", {"q": 1e300})]).verdict == "pass"


MANY = [f"never t{number}" for number in range(200)]


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
        ("after any: (x within 900 calls or y within 900 calls)", "OLO672", None),
        (" and ".join([*(f"never any(k{n} present)" for n in range(12)), *MANY]), "OLO672", None),
        ("a" * 5000, "OLO670", None),
        (f"never a({'.'.join('q' * 101)} = 1)", "OLO670", None),
        ("never a(q = 1e999)", "OLO670", ["  never a(q = 1e999)", "              ^"]),
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
        ("after a: b(q = 1)", "say something of it: `eventually b"),
        ("last call is close or escalate", "events are joined in parentheses: `(close or escalate)`"),
        ("every call is a or b or c", "events are joined in parentheses: `(a or b)`"),
        ("last call is not a", "an event is denied in parentheses: `(not X)`"),
        ("never a(q > 1 and r = 2)", "the conditions of a call are joined by commas"),
        ("never a(q: 1)", "a value follows `=`"),
        ("never a(q contains b)", "in a text: `matches"),
        ("Never a", "the words of the language are written small: never"),
        ("a once", "`exactly`, `at least` or `at most` so many times"),
        ("at most 3 a", "the count follows what is counted"),
        ("if a: eventually b", "`eventually Y if X`"),
        ("a -> b", "`X before Y`"),
        ("never server:tool", 'is quoted: "server:tool"'),
        ("a before b.", "a rule has no full stop"),
        ("a within 3 steps", "calls are counted"),
        ("a after b", "`X only after Y`"),
        ("a immediately after b", "`X only immediately after Y`"),
        ("never a unless b", "`X only after Y`, or `… or eventually Y`"),
        ("never call", "call is a word of the language"),
        ('never a(q matches "(?=;)")', "RE2 has neither lookaround nor back-references"),
        (r'never a(q matches "\d")', "a text in single quotes has no escapes: '^"),
        ("a(q from b) before c", "for example: from b.result.id"),
        ("b requires a", "`X only after Y`"),
        ("never b without a", "`X only after Y`"),
        ("no a", "`never X`"),
        ("always a(q > 1)", "`every call is X`"),
        ("a then b", "`X before Y`, or `after X: eventually Y`"),
        ("a -> b", "`X before Y`, or `after X: eventually Y`"),
        ("if error(a) then b", "`after X: eventually Y`, or `eventually Y if X`"),
        ("every a has q = 1", "of those of one tool: `never a"),
        ("after a b", "a colon stands before what must follow"),
        ("max 3 a", "`X at most 3 times`"),
    ],
)
def test_a_hint_says_what_was_perhaps_meant(text: str, hint: str):
    with pytest.raises(ConfigError) as caught:
        AgentRule(rule=text)
    assert hint in caught.value.message.splitlines()[-1]


@pytest.mark.parametrize("text", ["(a and b)", "never (a or b", "a before b before c", "after a b"])
def test_a_hint_never_makes_what_is_no_event(text: str):
    with pytest.raises(ConfigError) as caught:
        AgentRule(rule=text)
    assert "parentheses" not in caught.value.message
    assert "say something" not in caught.value.message


def test_names_hold_slashes_wherever_they_stand():
    assert judged("never a.b/c", [call("a.b/c", {})]).verdict == "fail"


def test_what_may_have_occurred_is_told_beside_what_did():
    judgment = judged("a(q = 1) at least 3 times", [call("a", {"q": 1}), call("a", None)])
    assert judgment.found == "a(q = 1) once (step 1), and perhaps at step 2"


def test_what_a_denied_statement_found_is_the_call_that_settled_it():
    assert judged("not eventually a", "b a").steps == (2,)


def made(tool: str, arguments: Any, call_id: str | None = None) -> Step:
    return Step(index=0, kind="tool_call", tool_name=tool, arguments=arguments, call_id=call_id)


def gave(tool: str, result: Any, error: Any = None, call_id: str | None = None) -> Step:
    return Step(index=0, kind="tool_result", tool_name=tool, result=result, error=error, call_id=call_id)


@pytest.mark.parametrize(
    ("source", "steps", "verdict"),
    [
        ("look.result.id", [made("look", {}), gave("look", {"id": 7}), made("pay", {"id": 7.0})], "pass"),
        ("look.result.id", [made("look", {}), gave("look", {"id": 7}), made("pay", {"id": "7"})], "fail"),
        ("look.result.id", [made("look", {}), gave("look", {"id": 7}), made("pay", {})], "fail"),
        ("look.result.id", [made("pay", {"id": 7}), made("look", {}), gave("look", {"id": 7})], "fail"),
        ("look.result.id", [made("look", {}), made("pay", {"id": 7}), gave("look", {"id": 7})], "fail"),
        ("look.result.id", [made("look", {}), gave("look", UNSET), made("pay", {"id": 7})], "missing"),
        ("look.result.id", [made("look", {}), made("pay", {"id": 7})], "missing"),
        ("look.result.id", [made("look", {}), gave("look", UNSET, "no"), made("pay", {"id": 7})], "fail"),
        ("look.result.id", [made("look", {}), gave("look", {"id": LOST}), made("pay", {"id": 7})], "missing"),
        ("look.result.id", [made("look", {}), gave("look", None), made("pay", {"id": 7})], "fail"),
        ("look.result.id", [made("look", {}), gave("look", {"id": 7}), made("pay", None)], "missing"),
        ("look.result.id", [made("pay", None)], "fail"),
        ("look.result", [made("look", {}), gave("look", [1, {"a": 2}]), made("pay", {"id": [1.0, {"a": 2}]})], "pass"),
        ("any.result.0.id", [made("find", {}), gave("find", [{"id": True}]), made("pay", {"id": True})], "pass"),
        ("any.result.0.id", [made("find", {}), gave("find", [{"id": 1}]), made("pay", {"id": True})], "fail"),
        ("look.arguments.id", [made("look", {"id": 7}), made("pay", {"id": 7})], "pass"),
        ("look.arguments.id", [made("look", None), made("pay", {"id": 7})], "missing"),
    ],
)
def test_a_value_comes_from_an_earlier_call(source: str, steps: list[Step], verdict: str):
    assert judged(f"never pay(id not from {source})", steps).verdict == verdict


def test_results_are_joined_by_id_before_their_values_are_looked_for():
    steps = [made("look", {}, "1"), made("find", {}, "2"), gave("find", 8, call_id="2"), gave("look", 7, call_id="1")]
    assert judged("never pay(id not from look.result)", [*steps, made("pay", {"id": 7})]).verdict == "pass"
    assert judged("never pay(id not from look.result)", [*steps, made("pay", {"id": 8})]).verdict == "fail"


def asked(text: str) -> list[Step]:
    """``"approve(order=1) pay?"``: ``?`` stands for arguments that were not recorded, or a value that was lost."""
    steps = []
    for name, unknown, given in re.findall(r"(\w+)(\?)?(?:\((.*?)\))?", text):
        pairs = [pair.split("=") for pair in given.split(",") if pair]
        arguments = {key: LOST if value == "?" else json.loads(value) for key, value in pairs}
        steps.append(made(name, None if unknown else arguments))
    return steps


APPROVED = "pay only after approve(order = same)"
WITHIN = "pay(order = same) at most once between look and end"
BOTH = "pay only after approve(id = same order, sum = same)"
ONCE = "pay at most once per order"


@pytest.mark.parametrize(
    ("rule", "trace", "verdict"),
    [
        (APPROVED, "approve(order=[1]) pay(order=[1.0])", "pass"),
        (APPROVED, "approve(order=1) pay(order=true)", "fail"),
        (APPROVED, "approve(order=null) pay(order=null)", "pass"),
        (APPROVED, "approve() pay()", "fail"),
        (APPROVED, "approve? pay(order=1)", "missing"),
        (APPROVED, "approve(order=1) pay?", "missing"),
        (APPROVED, "pay? approve(order=1)", "fail"),
        (APPROVED, "approve(order=?) pay(order=?)", "missing"),
        (ONCE, "pay() pay()", "pass"),
        (ONCE, "pay? pay(order=1)", "missing"),
        (ONCE, "pay? pay?", "missing"),
        (ONCE, "pay(order=1) pay(order=1) pay?", "fail"),
        (WITHIN, "look(order=1) pay(order=2) pay(order=2) end()", "pass"),
        (WITHIN, "look(order=1) pay(order=1) pay(order=1) end()", "fail"),
        ("before pay: eventually approve(order = same)", "approve(order=1) pay(order=1) pay(order=2)", "fail"),
        ("eventually tell(order = same) if pay", "tell(order=1) pay(order=1)", "pass"),
        ("eventually tell(order = same) if pay", "tell(order=1) pay(order=2)", "fail"),
        ("after pay: next call is tell(to != same order)", "pay(order=1) tell(to=1)", "fail"),
        (BOTH, "approve(id=1,sum=2) pay(order=1,sum=2)", "pass"),
        (BOTH, "approve(id=1,sum=2) pay(order=1,sum=3)", "fail"),
        (f"{ONCE} or never pay", "pay(order=1) pay(order=1)", "fail"),
        (f"not {ONCE}", "pay(order=1) pay(order=1)", "pass"),
    ],
)
def test_values_that_come_again(rule: str, trace: str, verdict: str):
    judgment = judged(rule, asked(trace))
    assert judgment.verdict == verdict
    assert judgment.reason == ("arguments_not_recorded" if verdict == "missing" else None)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("never a(q = same)", "same refers to no call here"),
        ("b(q = same) only after a", "same refers to no call here"),
        ("after a: not (b only after c(q = same))", "under `not`, `or` or `and` in a scope"),
        ("after a: (eventually b(q = same) and c only after d(q = same))", "told once in a scope"),
        ("a only after b(x = same, y != same)", "every `same` of a statement refers to the same values"),
        ("a at least once per q", "a count per value has an upper bound alone"),
    ],
)
def test_same_must_refer_to_something(rule: str, message: str):
    with pytest.raises(ConfigError, match=message) as caught:
        AgentRule(rule=rule)
    assert caught.value.code == "OLO670"


def test_many_values_are_told_apart():
    steps = [made("pay", {"order": number}) for number in range(2000)]
    assert judged(ONCE, steps).verdict == "pass"
    assert judged(ONCE, [*steps, made("pay", {"order": 1000})]).steps == (1001, 2001)
    assert judged("after pay: tell(order = same) within 900 calls", steps[:800], truncated=True).verdict == "missing"
