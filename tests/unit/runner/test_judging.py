"""A verdict is noted as soon as it is reached, by nobody who was given up; and each function answers for itself."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from threading import Event, Thread
from typing import Any, cast

import pytest

from oloproof.model.case import Attempt, Case
from oloproof.model.judgment import PASS, Judgment
from oloproof.runner.desk import Loss
from oloproof.runner.evaluation import Reply, ToJudge, Verdicts
from oloproof.runner.judging import JudgingJob, UserFunction
from oloproof.runner.protocol import JudgeCase, Judged, Reached

ORDER = JudgeCase(1, Case(id="c"), Attempt(case_id="c"))


class Function:
    """An evaluator that does something before it passes."""

    def __init__(self, criterion: str, first: Callable[[], Any]) -> None:
        self.criterion = criterion
        self._first = first

    def judge(self, case: Case, attempt: Attempt) -> Judgment:
        self._first()
        return PASS


def job(*functions: Function, sink: Callable[[Reached], None], order: JudgeCase = ORDER) -> JudgingJob:
    return JudgingJob(order, cast("tuple[UserFunction, ...]", functions), timeout_s=1, sink=sink)


def test_a_verdict_is_noted_before_the_next_function_is_asked() -> None:
    noted: list[Reached] = []
    seen: list[int] = []
    job(Function("a", lambda: None), Function("b", lambda: seen.append(len(noted))), sink=noted.append).run()
    assert seen == [1]
    assert noted == [Reached("a", PASS), Reached("b", PASS)]


def test_who_was_given_up_notes_nothing_more() -> None:
    began, go_on = Event(), Event()
    noted: list[Reached] = []

    def wait() -> None:
        began.set()
        go_on.wait()

    late = job(Function("a", lambda: None), Function("b", wait), sink=noted.append)
    thread = Thread(target=late.run)
    thread.start()
    began.wait()
    given_up = late.give_up()
    go_on.set()
    thread.join()
    assert noted == [Reached("a", PASS)]
    assert {name: judgment.verdict for name, judgment in given_up.judgments.items()} == {"a": "pass", "b": "missing"}


class Died(BaseException):
    """What a function does that ends its worker."""


class Hung(BaseException):
    """What a function does that never ends."""


def go(how: str) -> None:
    if how != "passes":
        raise Died if how == "dies" else Hung


def end_of(desk: Verdicts, question: ToJudge, functions: list[Function]) -> Reply:
    """What the desk makes of a question that a worker is asked once."""
    noted: list[Reached] = []
    asked = job(*functions, sink=noted.append, order=desk.order(1, question))
    try:
        return desk.answered(question, asked.run())
    except Hung:
        return desk.answered(question, asked.give_up())
    except Died:
        reached = {each.criterion: each.judgment for each in noted}
        return desk.lost(question, Loss("system_error", "the worker ended", judgments=reached))


@pytest.mark.parametrize("ways", [*product(("passes", "hangs", "dies"), repeat=3)])
def test_a_function_without_end_costs_its_own_verdict_alone(ways: tuple[str, ...]) -> None:
    """All ways in which three of them can go about one attempt, and none is called again that had its turn."""
    called: list[str] = []

    def function(name: str, how: str) -> Function:
        return Function(name, lambda: (called.append(name), go(how)))

    functions = [function(str(at), how) for at, how in enumerate(ways)]
    desk = Verdicts(tuple(each.criterion for each in functions))
    question = ToJudge(Case(id="c"), Attempt(case_id="c"))
    answer = end_of(desk, question, functions)
    while (more := desk.again(question, answer)) is not None:
        question, _ = more
        answer = end_of(desk, question, functions)
    said = {"hangs": "no verdict within 1 s", "dies": "the worker ended"}
    for each, how in zip(functions, ways, strict=True):
        judgment = answer.judgments[each.criterion]
        assert judgment.verdict == ("pass" if how == "passes" else "missing")
        assert (judgment.detail or "").partition(",")[0] == said.get(how, "")
    assert called == [each.criterion for each in functions]


def test_who_was_late_after_others_had_taken_of_its_time_is_told_so() -> None:
    late = job(Function("a", lambda: None), Function("b", lambda: go("hangs")), sink=lambda _: None)
    with pytest.raises(Hung):
        late.run()
    detail = late.give_up().judgments["b"].detail
    assert detail == "no verdict within 1 s, which 1 function before it shared"


def test_an_answer_about_nothing_is_the_last_one() -> None:
    """A worker that says nothing is not asked for ever."""
    desk = Verdicts(("a", "b"))
    question = ToJudge(Case(id="c"), Attempt(case_id="c"), {"a": PASS})
    for judgments in ({}, {"a": Judgment("fail")}, {"other": PASS}):
        answer = desk.answered(question, Judged(1, judgments))
        assert desk.again(question, answer) is None
        assert answer.judgments["a"] == PASS
        assert (answer.judgments["b"].verdict, answer.judgments["b"].detail) == (
            "missing",
            "the worker gave no verdict",
        )


def test_a_question_that_is_not_put_any_more_keeps_what_was_answered() -> None:
    desk = Verdicts(("a", "b"))
    answer = desk.not_run(ToJudge(Case(id="c"), Attempt(case_id="c"), {"a": PASS}))
    assert (answer.judgments["a"], answer.judgments["b"].detail) == (PASS, "the run was stopped")
