"""Random rules and random traces: what the monitor says of a prefix is the fate that all finished runs share."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from fakes.depth import examples
from fakes.rules import (
    ARGUED,
    ENDED,
    NAMES,
    OF_AGENTS,
    STRANGER,
    TOOLS,
    UNKNOWN,
    Made,
    Run,
    finished,
    odd_calls,
    reading,
    satisfied,
    statements,
)
from oloproof.evaluators.temporal.automaton import Automaton
from oloproof.evaluators.temporal.errors import RuleError
from oloproof.evaluators.temporal.events import KEYWORDS
from oloproof.evaluators.temporal.parser import parse
from oloproof.evaluators.temporal.rule import Rule
from oloproof.evaluators.temporal.syntax import Statement

VALUES = (0, 1, 1.5, 2, 9, "t")
"""One of each kind that conditions on 1 and 2 tell apart."""

BY_NAME = [Made(tool) for tool in (*TOOLS, STRANGER)]
BY_ARGUMENTS = [Made("a", {}), *(Made("a", {"q": value}) for value in VALUES), Made("b"), Made(STRANGER)]
BY_ERRORS = [Made(tool, None, failed) for tool in (*TOOLS, STRANGER) for failed in (False, True)]

BY_AGENTS = [Made(tool, agent=agent) for tool in (*TOOLS, STRANGER) for agent in ("p", "q")]


def of(alphabet: Run) -> st.SearchStrategy[Made]:
    return st.sampled_from(alphabet)


def rule_of(statement: Statement, *, within: int) -> Rule:
    """The rule, if it is one, and if so many further calls show everything that may become of a run."""
    try:
        rule = Rule(str(statement))
    except RuleError:
        reject()
    assume(max(_distance(rule.monitor.automaton, fate) for fate in (True, False)) <= within)
    return rule


def _distance(automaton: Automaton, fate: bool) -> int:
    """How many calls lead from any state to the nearest in which a run may end so, where any do."""
    known = {state for state, accepts in enumerate(automaton.accepting) if accepts is fate}
    for distance in itertools.count():
        more = {state for state, row in enumerate(automaton.steps) if state not in known and known.intersection(row)}
        if not more:
            return distance
        known |= more
    raise AssertionError


def shared_fate(statement: Statement, runs: Iterable[Run]) -> str:
    fates = {satisfied(statement, run) for run in runs}
    return "open" if len(fates) == 2 else "pass" if fates == {True} else "fail"


def agree(statement: Statement, trace: Run, alphabet: Run, *, further: int) -> None:
    rule = rule_of(statement, within=further)
    for length in range(len(trace) + 1):
        prefix = trace[:length]
        for truncated in (False, True):
            runs = finished(prefix, alphabet, further=further if truncated else 0)

            found = rule.watch(reading(prefix, truncated=truncated))

            assert found.fate == shared_fate(statement, runs), (prefix, truncated)


@given(statement=statements(NAMES), trace=st.lists(of(BY_NAME), max_size=4))
@settings(max_examples=examples(100), deadline=None)
def test_of_calls_by_name(statement: Statement, trace: list[Made]):
    agree(statement, trace, BY_NAME, further=4)


@given(
    statement=statements(NAMES | ARGUED, max_leaves=2),
    trace=st.lists(of([*BY_ARGUMENTS, Made("a", UNKNOWN)]), max_size=3),
)
@settings(max_examples=examples(100), deadline=None)
def test_of_arguments_some_of_which_were_not_recorded(statement: Statement, trace: list[Made]):
    agree(statement, trace, BY_ARGUMENTS, further=2)


@given(
    statement=statements(NAMES | ENDED, max_leaves=2),
    trace=st.lists(of([*BY_ERRORS, Made("a", None, None)]), max_size=3),
)
@settings(max_examples=examples(100), deadline=None)
def test_of_errors_some_of_which_were_not_recorded(statement: Statement, trace: list[Made]):
    agree(statement, trace, BY_ERRORS, further=3)


@given(statement=statements(NAMES | OF_AGENTS, max_leaves=2), trace=st.lists(of(BY_AGENTS), max_size=3))
@settings(max_examples=examples(60), deadline=None)
def test_of_agents(statement: Statement, trace: list[Made]):
    agree(statement, trace, BY_AGENTS, further=3)


@given(statement=statements(NAMES, max_leaves=4))
@settings(max_examples=examples(60), deadline=None)
def test_no_two_states_of_an_automaton_are_equivalent(statement: Statement):
    automaton = rule_of(statement, within=100).monitor.automaton
    pairs = list(itertools.combinations(range(len(automaton.steps)), 2))
    told_apart = {pair for pair in pairs if automaton.accepting[pair[0]] != automaton.accepting[pair[1]]}

    def leads_apart(pair: tuple[int, int]) -> bool:
        following = zip(*(automaton.steps[state] for state in pair), strict=True)
        return any(tuple(sorted(each)) in told_apart for each in following)

    while more := {pair for pair in pairs if pair not in told_apart and leads_apart(pair)}:
        told_apart |= more

    assert told_apart == set(pairs)


@given(
    statement=statements(NAMES | ARGUED | ENDED),
    trace=st.lists(of([*BY_ARGUMENTS, Made("a", UNKNOWN), Made("b", None, None)]), max_size=6),
    truncated=st.booleans(),
)
@settings(max_examples=examples(150), deadline=None)
def test_the_words_of_a_verdict_never_contradict_it(statement: Statement, trace: list[Made], truncated: bool):
    rule = rule_of(statement, within=100)
    read = reading(trace, truncated=truncated)
    calls = rule.calls(read)

    found = rule.watch(read)
    seen = calls.holds(statement, calls.all)

    assert seen is None or found.fate == {True: "pass", False: "fail"}[seen]
    if found.fate != "fail":
        assert rule.blame(read, found.position) is None


@given(statement=statements(NAMES | ARGUED | ENDED | OF_AGENTS | odd_calls(), max_leaves=5))
@settings(max_examples=examples(150), deadline=None)
def test_a_rule_reads_as_it_is_written(statement: Statement):
    assert parse(str(statement)).statement == statement


WORDS = st.sampled_from(
    [*sorted(KEYWORDS), *"()[],:=<>", "!=", "a", "lookup_order", "q.r", '"t"', "'", "3", "1e999", "\\", "¿"]
)


@given(text=st.lists(WORDS, max_size=12).map(" ".join) | st.text(max_size=40))
@settings(max_examples=examples(300), deadline=None)
def test_any_text_is_a_rule_or_one_error_with_its_place(text: str):
    rule, error = None, None
    try:
        rule = parse(text)
    except RuleError as refused:
        error = refused
    if rule is not None:
        assert parse(str(rule.statement)).statement == rule.statement
    if error is not None:
        assert error.message.isprintable()
        assert 0 <= error.position <= len(text)
        assert error.excerpt.endswith("^")
