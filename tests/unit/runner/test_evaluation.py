"""The user's evaluators in a real worker process."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fakes.workers import judge, project
from oloproof import AgentStep
from oloproof.errors import UsageError
from oloproof.model.case import Attempt, AttemptError, Case, State
from oloproof.model.judgment import PASS, Judgment, missing
from oloproof.model.trajectory import Trajectory

CASE = Case(id="c", input={"q": 1}, expected={"answer": "yes"}, metadata={"m": 2})
FINISHED = Trajectory(steps=(AgentStep(index=1, kind="final"),), terminal_status="success")
DONE = Attempt(case_id="c", output={"answer": "yes"}, trajectory=FINISHED)


def one(tmp_path, source, attempt=DONE, *, case=CASE):
    """The judgment of the single evaluator ``app:check``."""
    with judge(project(tmp_path, source, evaluators={"check": "app:check"})) as user_judge:
        (judgments,) = user_judge.judge([(case, attempt)])
    assert list(judgments) == ["check"]
    return judgments["check"]


def test_a_function_is_given_what_it_names(tmp_path):
    source = """
    def check(expected, *, case, output, trajectory, strict=False):
        assert (case.id, case.input, case.metadata, case.expected) == ("c", {"q": 1}, {"m": 2}, expected)
        assert trajectory.steps[0].kind == "final"
        return output["answer"] == expected["answer"]
    """
    assert one(tmp_path, source) == PASS


@pytest.mark.parametrize(
    ("returned", "judgment"),
    [
        ("True", PASS),
        ("False", Judgment("fail")),
        ("Verdict(True)", PASS),
        ("Verdict(True, 'fine')", Judgment("pass", detail="fine")),
        (
            "Verdict(False, 'rude', steps=[1], expected=('a',), found={1})",
            Judgment("fail", "rude", (1,), ["a"], {"$unrepresentable": "set {1}"}),
        ),
    ],
)
def test_a_bool_or_a_verdict_is_the_judgment(tmp_path, returned, judgment):
    assert one(tmp_path, f"def check(output): return {returned}") == judgment


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (
            "return None",
            "an evaluator returns a bool or a Verdict, not None: does every way through it end in a return?",
        ),
        ("return 1", "an evaluator returns a bool or a Verdict, not an int: compare it, as in `return score >= 0.5`"),
        ("return 'pass'", "an evaluator returns a bool or a Verdict, not a str"),
        ("return asyncio.sleep(0)", "an evaluator returns a bool or a Verdict, not a coroutine"),
        ("return Verdict(1)", "Verdict.passed is an int, not exactly a bool"),
        ("return Verdict(False, reason=3)", "Verdict.reason is an int, not text"),
        ("return Verdict(False, steps=(True,))", "Verdict.steps are not step indexes"),
        ("return Verdict(False, steps=3)", "Verdict.steps are not step indexes"),
        ("sys.exit(0)", "the code called sys.exit(0)"),
        ("raise KeyboardInterrupt", "the code raised KeyboardInterrupt"),
        ("return check(output)", "RecursionError: maximum recursion depth exceeded"),
        ("return output['absent']", "KeyError: 'absent'"),
        ("current_case()", "RecordError: current_case() was called outside a case"),
    ],
)
def test_anything_else_is_missing(tmp_path, body, detail):
    judgment = one(tmp_path, f"def check(output):\n    {body}")
    assert (judgment.verdict, judgment.reason) == ("missing", "evaluator_error")
    assert judgment.detail.startswith(detail)


def test_an_exception_is_told_with_the_users_frames(tmp_path):
    detail = one(tmp_path, "def check(output): return output['absent']").detail
    assert 'app.py", line' in detail
    assert "oloproof/" not in detail


CRASHED = Attempt(case_id="c", error=AttemptError(kind="system_error", message="x"))
LATE = Attempt(case_id="c", error=AttemptError(kind="timeout", message="x"), trajectory=Trajectory(truncated=True))
HANDED_OVER = Attempt(case_id="c", error=AttemptError(kind="system_error", message="x"), trajectory=FINISHED)
CUT_OFF = Attempt(case_id="c", output=1, trajectory=Trajectory(truncated=True))


@pytest.mark.parametrize(
    ("parameter", "attempt", "judgment"),
    [
        ("output", CRASHED, missing("system_error")),
        ("output", LATE, missing("timeout")),
        ("output", Attempt(case_id="c", trajectory=FINISHED), missing("output_not_recorded")),
        ("output", Attempt(case_id="c", output=None), PASS),
        ("output", CUT_OFF, PASS),
        ("trajectory", CRASHED, missing("system_error")),
        ("trajectory", LATE, missing("timeout")),
        ("trajectory", Attempt(case_id="c", output=1), missing("no_trajectory")),
        ("trajectory", CUT_OFF, missing("truncated_trajectory")),
        ("trajectory", HANDED_OVER, PASS),
        ("case", CRASHED, PASS),
    ],
)
def test_what_the_record_cannot_settle_is_not_asked(tmp_path, parameter, attempt, judgment):
    assert one(tmp_path, f"def check({parameter}): return True", attempt) == judgment


def test_many_are_judged_in_order_by_each_function(tmp_path):
    source = """
    @evaluator(criterion="even")
    def is_even(output): return output % 2 == 0
    def small(output): return output < 5
    """
    evaluators = {"even": "app:is_even", "small": "app:small"}
    for recorded in (True, False):
        with judge(project(tmp_path, source, evaluators=evaluators, recorded=recorded)) as user_judge:
            judged = list(user_judge.judge((CASE, Attempt(case_id="c", output=i)) for i in range(100)))
        assert [judgments["even"].verdict for judgments in judged] == ["pass", "fail"] * 50
        assert [judgments["small"].verdict for judgments in judged] == ["pass"] * 5 + ["fail"] * 95


def test_no_attempt_waits_for_the_next_one_of_a_running_system(tmp_path):
    taken = 0

    def pairs():
        nonlocal taken
        for i in range(10):
            taken += 1
            yield CASE, Attempt(case_id="c", output=i)

    with judge(project(tmp_path, "def check(output): return True", evaluators={"check": "app:check"})) as user_judge:
        for given, _ in enumerate(user_judge.judge(pairs()), 1):
            assert taken == given


@pytest.mark.parametrize(
    ("source", "target", "code", "message"),
    [
        ("", "absent:check", "OLO401", "absent:check: there is no module 'absent'"),
        ("", "app:check", "OLO402", "app has no 'check'"),
        ("check = 3", "app:check", "OLO403", "app:check is an int, not a function"),
        ("async def check(output): ...", "app:check", "OLO403", "app:check is async; an evaluator is a plain function"),
        ("def check(answer): ...", "app:check", "OLO403", "app:check takes 'answer', which an evaluator is not given"),
        (
            "def check(output, /): ...",
            "app:check",
            "OLO403",
            "app:check takes 'output', which an evaluator is not given",
        ),
        (
            "@evaluator(criterion='polite')\ndef check(output): ...",
            "app:check",
            "OLO407",
            "the criterion of app:check is 'check' here and 'polite' in the decorator",
        ),
    ],
)
def test_what_is_no_evaluator_is_refused_before_anything_is_judged(tmp_path, source, target, code, message):
    refused = project(tmp_path, source, evaluators={"check": target})
    with pytest.raises(UsageError) as error, judge(refused):
        pass
    assert [(p.file, p.code, p.message) for p in error.value.problems] == [("oloproof.yaml", code, message)]


def test_a_verdict_too_large_to_send_costs_no_other(tmp_path):
    source = """
    def small(output):
        return Verdict(False, "rude", found="x" * 1000)
    def large(output):
        return Verdict(False, found="x" * 70_000_000)
    def larger(output):
        return Verdict(True, found=["x" * 30_000_000] * 2)
    """
    names = ("small", "large", "larger")
    the_project = project(tmp_path, source, evaluators={name: f"app:{name}" for name in names})
    with judge(the_project) as user_judge:
        (judged,) = user_judge.judge([(CASE, DONE)])
    assert judged["small"] == Judgment("fail", "rude", found="x" * 1000)
    for name in ("large", "larger"):
        assert judged[name].reason == "evaluator_error"
        assert judged[name].detail.startswith("the verdict cannot be sent: it takes ")


CONTEXT = """
import oloproof
def check(context: oloproof.Context):
    {body}
"""


@pytest.mark.parametrize(
    ("body", "attempt", "judgment"),
    [
        ("return context.output['answer'] == context.expected['answer'] and context.case.id == 'c'", DONE, PASS),
        ("return context.final == 'done'", DONE, Judgment("fail")),
        ("return context.state.after == {'o': 1}", replace(DONE, state=State(after={"o": 1})), PASS),
        ("return True", Attempt(case_id="c"), PASS),
        ("return context.output", Attempt(case_id="c"), missing("output_not_recorded")),
        ("return context.final", Attempt(case_id="c"), missing("no_trajectory")),
        ("return context.state", replace(DONE, state=State(before=1)), missing("state_not_recorded")),
        (
            "return context.trajectory",
            Attempt(case_id="c", trajectory=Trajectory(truncated=True)),
            missing("truncated_trajectory"),
        ),
    ],
)
def test_a_context_holds_it_all_and_what_is_not_there_is_missing_once_it_is_asked_for(
    tmp_path, body, attempt, judgment
):
    assert one(tmp_path, CONTEXT.format(body=body), attempt) == judgment


def test_a_function_cannot_make_up_for_what_it_could_not_see(tmp_path):
    source = """
    def check(context):
        try:
            return context.output == 1
        except BaseException:
            return True
    """
    assert one(tmp_path, source, Attempt(case_id="c")) == missing("output_not_recorded")


def test_a_state_that_was_not_recorded_is_not_shown(tmp_path):
    source = "def check(state): return state.after == 1"
    assert one(tmp_path, source) == missing("state_not_recorded")
    assert one(tmp_path, source, replace(DONE, state=State(after=1))) == PASS


def test_a_long_traceback_keeps_its_end(tmp_path):
    source = """
    def deeper(n):
        if n:
            deeper(n - 1); raise AssertionError
        raise ValueError("at the bottom")
    def check(output):
        try:
            deeper(40)
        except AssertionError:
            raise RuntimeError("at the top")
    """
    judgment = one(tmp_path, source)
    assert judgment.reason == "evaluator_error"
    assert judgment.detail is not None
    assert judgment.detail.startswith("ValueError: at the bottom\n")
    assert judgment.detail.endswith("ValueError: at the bottom")
