"""How far a run has come is a sum over what happened, however it is handed over."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oloproof.model.events import CaseFinished, CaseStarted, Event, RuleSettled, RunFinished, RunStarted, WatchedRule
from oloproof.model.events import outcome_of as outcome
from oloproof.model.headway import Headway, RuleSoFar
from oloproof.model.judgment import Word

RULES = (WatchedRule(rule="floor", metric="right"), WatchedRule(rule="quick", metric="steps_p95"))
WORDS = st.sampled_from(["pass", "fail", "missing", "excluded"])


def begun(*, attempts: int | None = 8, done: int = 0) -> RunStarted:
    return RunStarted(
        run="r",
        project="p",
        system="s",
        version=None,
        started_at="",
        attempts=attempts,
        done=done,
        trials=1,
        criteria=("right",),
        rules=RULES,
    )


def pair(number: int, word: Word, *, rerun: bool = False) -> list[Event]:
    name = f"c{number}"
    ended = CaseFinished(
        case=name, trial=1, rerun=rerun, outcome=word, verdicts={"right": word}, error=None, duration_ms=None
    )
    return [CaseStarted(case=name, trial=1, rerun=rerun), ended]


FAILED = RuleSettled(rule="floor", metric="right", state="FAIL", by="certainty", after=2)


def test_attempts_are_counted_by_what_they_came_to() -> None:
    events = [begun(), *pair(1, "pass"), *pair(2, "fail"), *pair(3, "missing"), *pair(4, "excluded")]
    events += [CaseStarted(case="c5", trial=1, rerun=False), FAILED]
    headway = Headway().after(events)
    assert (headway.passed, headway.failed, headway.missing, headway.excluded) == (1, 1, 1, 1)
    assert (headway.done, headway.total, headway.in_flight) == (4, 8, 1)
    assert headway.rules == (RuleSoFar("floor", "right", 1, 1, 1, "FAIL"), RuleSoFar("quick", "steps_p95"))


def test_what_stands_from_before_is_done_and_says_nothing_of_the_pace() -> None:
    headway = Headway().after([begun(attempts=10, done=4)])
    assert (headway.done, headway.left_s(60)) == (4, None)
    assert headway.after([*pair(1, "pass"), *pair(2, "pass")]).left_s(10) == 20.0  # 5 s each, 4 left


def test_re_runs_count_for_nothing_but_that_they_run() -> None:
    started, ended = pair(1, "fail", rerun=True)
    headway = Headway().after([begun(), started])
    assert headway.in_flight == 1
    assert headway.after([ended]) == Headway().after([begun()])


@pytest.mark.parametrize(("total", "elapsed", "left"), [(None, 3.0, None), (1, 3.0, 0.0), (4, 3.0, 9.0)])
def test_the_time_that_is_left(total: int | None, elapsed: float, left: float | None) -> None:
    assert Headway().after([begun(attempts=total), *pair(1, "pass")]).left_s(elapsed) == left


def test_an_ended_run_has_nothing_in_flight() -> None:
    ended = RunFinished(run="r", status="interrupted", outcome=None, exit_code=130, report=None)
    headway = Headway().after([begun(), CaseStarted(case="c1", trial=1, rerun=False), ended])
    assert (headway.status, headway.in_flight) == ("interrupted", 0)


@given(st.lists(WORDS, max_size=12), st.data())
def test_events_may_be_handed_over_in_any_portions(words: list[Word], data: st.DataObject) -> None:
    events: list[Event] = [begun(), *(event for number, word in enumerate(words) for event in pair(number, word))]
    cut = data.draw(st.integers(0, len(events)))
    assert Headway().after(events) == Headway().after(events[:cut]).after(events[cut:])


@pytest.mark.parametrize(
    ("words", "word"),
    [
        (["pass", "fail", "missing"], "fail"),
        (["pass", "missing", "excluded"], "missing"),
        (["pass", "excluded"], "pass"),
        (["excluded"], "excluded"),
        ([], "excluded"),
    ],
)
def test_what_a_case_came_to(words: list[Word], word: Word) -> None:
    assert outcome(words) == word
