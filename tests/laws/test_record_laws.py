"""Laws of the record: it never loses a case to a value, and what is left of it is always a sound prefix."""

from __future__ import annotations

import contextlib
import math

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from oloproof import AgentStep, RecordError
from oloproof.model.trajectory import Trajectory, contradiction
from oloproof.record.case import CurrentCase, Recorder
from oloproof.record.journal import Event, HandedOver, decode, recorded

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()))
    | st.binary()
    | st.complex_numbers()
    | st.just(math.nan),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(st.characters(exclude_categories=())) | st.integers(), inner, max_size=3)
    ),
    max_leaves=8,
)

names = st.sampled_from([None, "a", "b"])
calls = st.one_of(
    st.tuples(st.just("message"), anything, names),
    st.tuples(st.just("tool_call"), anything, names),
    st.tuples(st.just("tool_result"), anything, names),
    st.tuples(st.just("handoff"), st.sampled_from(["a", "b", "person"]), names),
    st.tuples(st.just("check"), st.booleans(), st.none() | st.integers(-1, 4)),
    st.tuples(st.just("checkpoint"), st.sampled_from(["x", "y"]), st.none() | st.integers(-1, 4)),
)


def taped(actions, *, ends) -> list[Event]:
    """What the actions record in a trace; what is refused is skipped. ``ends`` None: the block raises."""
    return tried(actions, ends=ends)[0]


def tried(actions, *, ends) -> tuple[list[Event], bool]:
    """The same, and whether anything was refused."""
    events: list[Event] = []
    kept = 0
    case = CurrentCase(
        id="c", input=None, metadata={}, seed=0, trial=1, _recorder=Recorder(lambda line: events.append(decode(line)))
    )
    with contextlib.suppress(ZeroDivisionError), case.trace() as trace:
        for kind, value, extra in actions:
            with contextlib.suppress(RecordError):
                match kind:
                    case "message":
                        trace.message(value, agent=extra)
                    case "tool_call":
                        trace.tool_call("tool", value, agent=extra)
                    case "tool_result":
                        trace.tool_result("tool", value, agent=extra)
                    case "handoff":
                        trace.handoff(value, agent=extra)
                    case "check":
                        trace.check("safe", value, step_index=extra)
                    case "checkpoint":
                        trace.checkpoint(value, step_index=extra)
                kept += 1
        if ends is None:
            raise ZeroDivisionError
        trace.finish(ends)
    return events, kept < len(actions)


@settings(deadline=None, max_examples=150)
@given(anything, anything)
def test_no_value_loses_a_step(arguments, result):
    step = AgentStep(index=1, kind="tool_result", tool_name="t", arguments=arguments, result=result)
    decoded = msgspec.json.decode(msgspec.json.encode(step))
    assert decoded.get("result") == step.result
    assert decoded.get("arguments") == step.arguments


@settings(deadline=None, max_examples=150)
@given(st.lists(calls, max_size=8), st.sampled_from(["success", "failure", "unknown", None]))
def test_whatever_is_recorded_never_contradicts_itself(actions, ends):
    events, refused = tried(actions, ends=ends)
    trajectory = recorded(events)
    assert contradiction(trajectory) is None
    assert trajectory.truncated == (ends is None or refused)
    assert not trajectory.truncated or all(
        check.step_index is not None or not (check.passed or trajectory.steps) for check in trajectory.constraints
    )
    msgspec.json.encode(trajectory)


@settings(deadline=None, max_examples=100)
@given(st.lists(calls, max_size=8), st.data())
def test_a_record_cut_anywhere_is_a_truncated_prefix(actions, data):
    events = taped(actions, ends="success")
    whole = recorded(events)
    cut = data.draw(st.integers(0, len(events) - 1))
    part = recorded(events[:cut])
    if cut == 0:
        assert part is None
        return
    assert part.truncated
    assert part.terminal_status == "unknown"
    assert whole.steps[: len(part.steps)] == part.steps
    assert contradiction(part) is None
    assert all(check.step_index is not None or not (check.passed or part.steps) for check in part.constraints)


@settings(deadline=None, max_examples=100)
@given(st.lists(calls, max_size=6), st.sampled_from(["success", None]))
def test_the_events_make_the_same_trajectory_in_another_process(actions, ends):
    events = taped(actions, ends=ends)
    sent = [msgspec.json.decode(msgspec.json.encode(event), type=Event) for event in events]
    assert msgspec.json.encode(recorded(sent)) == msgspec.json.encode(recorded(events))


@settings(deadline=None, max_examples=50)
@given(st.lists(calls, max_size=4))
def test_what_was_handed_over_stands_whatever_else_is_there(actions):
    finished = Trajectory(terminal_status="success")
    assert recorded([*taped(actions, ends=None), HandedOver(finished)]) == finished
