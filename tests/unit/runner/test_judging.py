"""A verdict is noted as soon as it is reached, and by nobody who was given up."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import Any, cast

from oloproof.model.case import Attempt, Case
from oloproof.model.judgment import PASS, Judgment
from oloproof.runner.judging import JudgingJob, UserFunction
from oloproof.runner.protocol import JudgeCase, Reached

ORDER = JudgeCase(1, Case(id="c"), Attempt(case_id="c"))


class Function:
    """An evaluator that does something before it passes."""

    def __init__(self, criterion: str, first: Callable[[], Any]) -> None:
        self.criterion = criterion
        self._first = first

    def judge(self, case: Case, attempt: Attempt) -> Judgment:
        self._first()
        return PASS


def job(*functions: Function, sink: Callable[[Reached], None]) -> JudgingJob:
    return JudgingJob(ORDER, cast("tuple[UserFunction, ...]", functions), timeout_s=1, sink=sink)


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
