"""Rules about values that come again: exact on full records of finished runs, and never wrong on any other."""

from __future__ import annotations

from hypothesis import example, given, reject, settings
from hypothesis import strategies as st

from fakes.rules import UNKNOWN, Made, Run, finished, reading, satisfied
from oloproof.evaluators.temporal.errors import RuleError
from oloproof.evaluators.temporal.events import Call, Event, NoEvent, Same, Unlike
from oloproof.evaluators.temporal.rule import Rule
from oloproof.evaluators.temporal.syntax import (
    After,
    All,
    Before,
    If,
    Last,
    Not,
    Precedes,
    Some,
    Statement,
    Times,
    Until,
    Within,
)

VALUES = (1, 2)
ALPHABET = [Made("a", {}), *(Made(tool, {"q": value}) for tool in ("a", "b") for value in VALUES), Made("b", {"r": 1})]
OWN = 100
"""Where the values begin that an unrecorded argument alone has."""

A, B = Call("a"), Call("b")
SAME = Same(("q",), ("q",))
SAMES: st.SearchStrategy[Event] = st.sampled_from(
    [
        Call("b", (SAME,)),
        Call("a", (SAME,)),
        Call("b", (Unlike(SAME),)),
        NoEvent(Call("b", (SAME,))),
        Call("b", (Same(("r",), ("q",)),)),
    ]
)
BODIES: st.SearchStrategy[Statement] = st.one_of(
    st.builds(lambda event, count: Times(event, *count), SAMES, st.sampled_from([(0, 0), (1, None), (0, 1), (1, 1)])),
    st.builds(Within, SAMES, st.integers(1, 2)),
    st.builds(Last, SAMES),
    st.builds(Until, SAMES, st.just(B)),
    st.builds(lambda event, body: Before(event, body), SAMES, st.builds(Times, SAMES, st.just(0), st.just(1))),
)
CLOSED: st.SearchStrategy[Statement] = st.one_of(
    st.builds(Precedes, SAMES, st.sampled_from([A, B]), st.booleans()),
    st.builds(After, st.just(A), BODIES),
    st.builds(Before, st.just(A), st.builds(Times, SAMES, st.just(1), st.none())),
    st.builds(If, st.builds(Times, SAMES, st.just(1), st.none()), st.just(A)),
    st.builds(Times, st.sampled_from([A, Call(None)]), st.just(0), st.integers(0, 2), st.just(("q",))),
    st.builds(After, st.just(B), st.builds(Precedes, SAMES, st.just(A))),
    st.just(After(B, Before(Call("x"), Times(A, 0, 1, ("q",))))),
)
RULES: st.SearchStrategy[Statement] = st.one_of(
    CLOSED,
    st.builds(Not, CLOSED),
    st.builds(All, st.tuples(CLOSED, st.just(Times(B, 0, 1)))),
    st.builds(Some, st.tuples(CLOSED, CLOSED)),
)


def rule_of(statement: Statement) -> Rule:
    try:
        return Rule(str(statement))
    except RuleError:
        reject()


@given(statement=RULES, trace=st.lists(st.sampled_from(ALPHABET), max_size=7))
@example(
    statement=After(A, Within(Call("b", (SAME,)), 1)), trace=[Made("a", {"q": 1}), Made("b", {"q": 1})]
)  # where every other value would have failed
@settings(max_examples=200, deadline=None)
def test_a_finished_run_that_was_recorded_in_full_is_judged_exactly(statement: Statement, trace: list[Made]):
    assert rule_of(statement).watch(reading(trace)).fate == ("pass" if satisfied(statement, trace) else "fail")


UNSURE = [Made("a", UNKNOWN), Made("b", UNKNOWN), Made("a", UNKNOWN), Made("b", UNKNOWN), *ALPHABET]


def runs_of(trace: Run, *, truncated: bool) -> list[Run]:
    """With every unrecorded argument absent, one of the record's, or its own, all the unrecorded ones in each way."""
    filling = [*ALPHABET, *(Made("a", {"q": OWN + number}) for number in range(2))]
    return list(finished(trace, filling, further=2 if truncated else 0))


@given(
    statement=RULES,
    trace=st.lists(st.sampled_from(UNSURE), max_size=3),
    truncated=st.booleans(),
)
@example(statement=Precedes(Call("b", (SAME,)), A), trace=[Made("b", UNKNOWN), Made("a", {"q": 1})], truncated=False)
@settings(max_examples=200, deadline=None)
def test_a_settled_verdict_is_that_of_every_run(statement: Statement, trace: list[Made], truncated: bool):
    found = rule_of(statement).watch(reading(trace, truncated=truncated))

    if found.fate != "open":
        assert {satisfied(statement, run) for run in runs_of(trace, truncated=truncated)} == {found.fate == "pass"}


@given(
    statement=RULES,
    trace=st.lists(st.sampled_from([*ALPHABET, Made("a", UNKNOWN)]), max_size=5),
    truncated=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_the_words_of_a_verdict_never_contradict_it(statement: Statement, trace: list[Made], truncated: bool):
    rule = rule_of(statement)
    read = reading(trace, truncated=truncated)
    calls = rule.calls(read)

    seen = calls.holds(statement, calls.all)
    fate = rule.watch(read).fate

    assert seen is None or fate in ("open", {True: "pass", False: "fail"}[seen])
