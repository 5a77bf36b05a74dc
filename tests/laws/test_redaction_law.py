"""With redaction a verdict is the one without it, or missing.

A fail never becomes a pass, whatever was taken out: that a canary is not in a text says nothing once the text is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fakes import worlds
from fakes.outcome_worlds import OUTCOME_WORLDS
from fakes.worlds import World
from oloproof.evaluators import EVALUATORS, EvaluatorBase
from oloproof.model.case import Attempt, Case, State
from oloproof.model.evidence import Evaluator, Evidence
from oloproof.model.judgment import Judgment
from oloproof.model.project import HttpSystem, Project, SystemSpec
from oloproof.model.redaction import OwnPattern, Redaction
from oloproof.model.trajectory import Step, Trajectory
from oloproof.model.values import TAG, has_unrepresentable
from oloproof.pipeline.redacting import Redacting
from oloproof.pipeline.redacting import judged as judged_all
from oloproof.redaction import Redactor
from oloproof.runner.attempted import Attempted

WORLDS = (*worlds.WORLDS, *OUTCOME_WORLDS)
FIELDS = [("steps", "arguments"), ("steps", "arguments", "q"), ("steps", "result"), ("output",), ("**", "q")]
LETTERS = ["a", "b", "c", "p", "q", "x", "1", "2", "[0-9]+", "ok", "t.*", "e"]


def redaction(patterns: list[str], fields: Sequence[tuple[str, ...]] = ()) -> Redaction:
    own = [OwnPattern(name=f"own-{number}", pattern=each) for number, each in enumerate(patterns)]
    return Redaction(built_in=("aws", "email", "card"), patterns=tuple(own), fields=tuple(fields))


REDACTIONS = st.builds(
    redaction,
    st.lists(st.sampled_from(LETTERS), max_size=2, unique=True),
    st.lists(st.sampled_from(FIELDS), max_size=1),
)


def judged(evaluator: Evaluator, case: Case, attempt: Attempt, rules: Redaction) -> Judgment:
    system = SystemSpec(kind=HttpSystem(url="http://localhost"))
    project = Project(name="p", config="c", directory=".", system=system, evaluators=(evaluator,), redact=rules)
    redacting = Redacting.of(project)
    (item,) = redacting.applied([Attempted(case, attempt)])
    ((judgment,),) = judged_all(project, [(item, Evidence(item.shown_case, item.attempt))])
    return judgment


def assert_same_or_missing(evaluator: Evaluator, case: Case, attempt: Attempt, rules: Redaction) -> None:
    plain = evaluator.judge(Evidence(case, attempt))
    found = judged(evaluator, case, attempt, rules)
    assert found.verdict in (plain.verdict, "missing"), (plain, found)
    assert (found.verdict == "excluded") == (plain.verdict == "excluded"), (plain, found)


@pytest.mark.parametrize("world", WORLDS, ids=str)
@given(data=st.data())
@settings(max_examples=8, deadline=None)
def test_a_verdict_on_a_redacted_trajectory_is_its_own_or_missing(world: World, data: st.DataObject):
    evaluator, record = data.draw(world.evaluators), data.draw(world.records())
    case = Case(id="#", expected=data.draw(world.expected(record)))
    attempt = Attempt(case_id="#", trajectory=record, output=world.output)

    assert_same_or_missing(evaluator, case, attempt, data.draw(REDACTIONS))


CARD = 4111111111111111
ONLY = st.sampled_from(
    [
        None,
        "metadata.team == bob@x.com",
        "metadata.team != bob@x.com",
        "metadata.team in [yes, '[redacted:email:1]']",
        f"metadata.team == {CARD}",
        "not expected.state == yes or metadata.team == yes",
    ]
)
TEXTS = ["bob@x.com", "eve@x.org", "to bob@x.com", "to eve@x.org", "yes", "redacted", str(CARD), "[redacted:email:1]"]
WRITTEN_TAGS = [{TAG: "yes bob@x.com"}, {TAG: ["yes"]}, {TAG: [["int", "yes"]]}, {TAG: 1}]
PLAIN = st.sampled_from([*TEXTS, CARD, float(CARD), 1, None, True])


def nested(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = st.sampled_from([*TEXTS, "q"])
    parts = lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=2)  # noqa: E731
    return st.recursive(leaves, parts, max_leaves=4)


REFERENCES = nested(PLAIN)
VALUES = nested(PLAIN | st.sampled_from(WRITTEN_TAGS))


def made(type_: str, **options: Any) -> Evaluator:
    return EVALUATORS[type_](**options)


SOURCES = st.sampled_from(["output", "final"])
OF_OUTPUT = st.one_of(
    st.builds(lambda source, text: made("contains", source=source, value=text), SOURCES, st.sampled_from(TEXTS)),
    st.builds(lambda field, text: made("contains", field=field, value=text), st.just("q"), st.sampled_from(TEXTS)),
    st.builds(lambda source, value: made("exact_match", source=source, value=value), SOURCES, REFERENCES),
    st.builds(lambda value: made("exact_match", field="q", value=value), REFERENCES),
    st.builds(
        lambda type_, field: made(type_, expected_field=field),
        st.sampled_from(["contains", "exact_match", "numeric", "canary_absent"]),
        st.sampled_from(["state", "state.q", "absent"]),
    ),
    st.builds(lambda text: made("exact_match", field="metadata.team", value=text), REFERENCES),
    st.builds(lambda value: made("numeric", value=value), st.sampled_from([1, CARD])),
    st.builds(
        lambda source, pattern: made("regex", source=source, pattern=pattern),
        SOURCES,
        st.sampled_from(["@", "^to", "redacted", "[0-9]", "s$", "^$"]),
    ),
    st.builds(lambda text: made("canary_absent", value=text), st.sampled_from([*TEXTS, "@", "o", "unrep"])),
    st.builds(lambda mode: made("state_matches", mode=mode), st.sampled_from(["exact", "subset"])),
    st.just(made("state_unchanged")),
    st.just(made("state_unchanged", paths=("q", "bob@x"))),
    st.just(made("agent_no_tool_loop", max_repeats=1)),
    st.just(made("agent_rule", rule='never t(q = "bob@x.com")')),
    st.just(made("agent_rule", rule="t at most once per q")),
    st.builds(
        lambda tool: made("agent_tool_not_called", tool_name=tool),
        st.sampled_from(["t", "bob@x.com", "[redacted:email:1]"]),
    ),
)
STEPS = st.lists(
    st.one_of(
        st.builds(
            lambda tool, arguments: Step(index=1, kind="tool_call", tool_name=tool, arguments=arguments),
            st.sampled_from(["t", "bob@x.com"]),
            st.dictionaries(st.sampled_from(["q", "eve@x.org"]), VALUES, max_size=2),
        ),
        st.builds(lambda value: Step(index=1, kind="final", arguments=value), VALUES),
    ),
    max_size=4,
)


@example(made("contains", value="yes"), [], {"bob@x.com": "yes"}, (1, 1), False, None, {})
@example(
    made("contains", field="q", value="yes"), [], {"q": {TAG: ["yes"]}, "to": "bob@x.com"}, (1, 1), False, None, {}
)
@example(made("agent_no_tool_loop"), [], 1, (1, 1), False, "metadata.team == bob@x.com", {"team": "bob@x.com"})
@given(
    evaluator=OF_OUTPUT,
    steps=STEPS,
    output=VALUES,
    states=st.tuples(VALUES, VALUES),
    fields=st.booleans(),
    only=ONLY,
    metadata=st.dictionaries(st.just("team"), VALUES, max_size=1),
)
@settings(max_examples=200, deadline=None)
def test_a_verdict_on_secrets_anywhere_is_its_own_or_missing(
    evaluator: EvaluatorBase,
    steps: list[Step],
    output: Any,
    states: tuple[Any, Any],
    fields: bool,
    only: str | None,
    metadata: dict[str, Any],
):
    record = Trajectory(steps=worlds.numbered(steps))
    evaluator = replace(evaluator, only=only)
    reference = None if has_unrepresentable(states[0]) else states[0]
    case = Case(id="#", expected={"state": reference}, metadata=metadata)
    state = State(before=states[0], after=states[1])
    attempt = Attempt(case_id="#", trajectory=record, output=output, state=state)

    assert_same_or_missing(evaluator, case, attempt, redaction([], [("**", "q")] if fields else []))


@given(steps=STEPS, max_repeats=st.integers(1, 2), max_cycle=st.integers(1, 2))
@settings(max_examples=50, deadline=None)
def test_whether_calls_repeat_is_known_as_without_redaction(steps: list[Step], max_repeats: int, max_cycle: int):
    evaluator = made("agent_no_tool_loop", max_repeats=max_repeats, max_cycle=max_cycle)
    attempt = Attempt(case_id="#", trajectory=Trajectory(steps=worlds.numbered(steps)))

    plain = evaluator.judge(Evidence(Case(id="#"), attempt))

    assert judged(evaluator, Case(id="#"), attempt, redaction([])).verdict == plain.verdict


ODD = st.sampled_from(["to\nbob@x.com", '"4111 1111 1111 1111"', r"\u0062ob%40x.com", "x" * 30, "\udc80", "4e9", "é"])
NUMBERS = st.integers() | st.floats(allow_nan=False) | st.just(6.011000990139424e15) | st.just(6011000990139424)
TOLD = st.recursive(
    PLAIN | ODD | st.text(max_size=5) | NUMBERS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(ODD | st.just("aws_key"), inner, max_size=2),
    max_leaves=4,
)


@example(6011000000000010240.0, [], {})
@example({"aws_key": "a1B2" * 10}, [], {})
@given(output=TOLD, steps=STEPS, metadata=st.dictionaries(st.just("team"), TOLD, max_size=1))
@settings(max_examples=60, deadline=None)
def test_one_look_at_all_of_a_record_misses_nothing(output: Any, steps: list[Step], metadata: dict[str, Any]):
    case = Case(id="#", metadata=metadata)
    attempt = Attempt(case_id="#", trajectory=Trajectory(steps=worlds.numbered(steps)), output=output)
    one_look, text_by_text = (Redactor(redaction(["a1B2a1B2", *more])).scope() for more in ([], ["nowhere$else"]))

    assert one_look.case(case) == text_by_text.case(case)
    assert one_look.attempt(attempt) == text_by_text.attempt(attempt)
