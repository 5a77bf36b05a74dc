"""The runtime's laws, over random planners, tools, answers and limits, with the world played by hypothesis."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fakes.runtime import closed, events
from oloproof.runtime import (
    Act,
    Agent,
    Approval,
    AuditRecord,
    Decision,
    Limits,
    MemoryAuditSink,
    MemoryStore,
    Policy,
    RunState,
    Tool,
    Toolset,
    Usage,
    verify_audit,
)
from oloproof.runtime import kernel as k
from oloproof.runtime.gates import Terms
from oloproof.runtime.state import OVER, Calling, Waiting

EFFECTS = ("read", "write", "external")
FACTS: list[Any] = [
    ("read", set(), 1.0, None),
    ("read", {"s"}, 0.1, False),
    ("write", set(), 0.3, True),
    ("external", {"x"}, 2, None),
]
TOOLS = [
    Tool(f"t{number}", lambda text: text, "", closed(text={"type": "string"}), *facts)
    for number, facts in enumerate(FACTS)
]
USAGE = st.none() | st.builds(Usage, st.integers(0, 40), st.sampled_from([0.0, 0.1, 0.5]))
ACTS = st.builds(
    Decision.act,
    st.sampled_from(["t0", "t1", "t2", "t3", "unknown"]),
    st.fixed_dictionaries({"text": st.sampled_from(["a", "b", 1, float("nan")])}),
    usage=USAGE,
)
DECISIONS = (
    ACTS | ACTS | ACTS | st.builds(Decision.finish, st.sampled_from(["x", {1}]), usage=USAGE) | st.just("nonsense")
)
LIMITS = st.builds(
    Limits,
    max_steps=st.integers(1, 8),
    max_tool_calls=st.none() | st.integers(0, 4),
    max_cost=st.none() | st.sampled_from([0.0, 0.3, 1.0, 2.5]),
    max_tokens=st.none() | st.integers(0, 100),
    max_seconds=st.none() | st.sampled_from([0.0, 1.5, 4.0]),
    max_repeats=st.none() | st.integers(1, 3),
)
POLICIES = st.builds(
    Policy,
    allow_effects=st.sets(st.sampled_from(EFFECTS)).map(lambda some: some | {"read"}),
    allow_tools=st.none() | st.sets(st.sampled_from(["t0", "t1", "t2"])),
    granted_scopes=st.sets(st.sampled_from(["s", "x"])),
    approve_effects=st.sets(st.sampled_from(EFFECTS)),
)
TERMS = st.builds(Terms, tools=st.just(Toolset(TOOLS)), policy=POLICIES, limits=LIMITS, judged=st.booleans())
RESULTS = st.sampled_from(["ok", ["ok"], None, float("inf"), object()])
SECONDS = st.sampled_from([0.0, 0.5, 1.0])


def what_happens(data: st.DataObject, effect: k.Effect) -> k.Event:
    """What the world answers to an effect."""
    seconds = data.draw(SECONDS)
    match effect:
        case k.AskPlanner():
            return data.draw(
                DECISIONS.map(lambda decision: k.Decided(decision, seconds)) | st.just(k.PlannerRaised("x"))
            )
        case k.AskApprover(request):
            answers = [
                None,
                Approval(request.digest, True, "p"),
                Approval(request.digest, False, "p"),
                Approval("0", True, "p"),
            ]
            return k.Answered(data.draw(st.sampled_from(answers)))
        case k.CallTool():
            return data.draw(
                RESULTS.map(lambda value: k.Returned(value, seconds)) | st.just(k.Raised("tool_failed", "x"))
            )
        case k.Judge():
            return data.draw(st.sampled_from([k.Judged(True), k.Judged(False), k.Judged("yes"), k.JudgeRaised("x")]))
        case k.Rest():
            raise AssertionError("nothing is to be done")


def taken_up(data: st.DataObject, state: RunState) -> k.Resumed:
    """A new session, with or without an approval of what the run waits for."""
    digests = [state.pending.digest] if state.pending else []
    approvals = st.builds(Approval, st.sampled_from([*digests, "0" * 64]), st.booleans(), st.just("p"))
    return k.Resumed(tuple(data.draw(st.lists(approvals, max_size=2))))


def may_run(terms: Terms, before: RunState, call: Calling, granted: set[str]) -> bool:
    """The five gates in other words: from the state before the call was charged, and what people granted."""
    policy, limits, spent = terms.policy, terms.limits, before.spent
    tool = TOOLS[int(call.act.tool[1])]
    within = (
        (limits.max_tool_calls is None or spent.tool_calls <= limits.max_tool_calls)
        and (limits.max_cost is None or spent.cost <= limits.max_cost + 1e-9)
        and (limits.max_steps >= spent.decisions)
    )
    asked = str(tool.effect) in {str(effect) for effect in policy.approve_effects}
    return (
        isinstance(call.act.arguments.get("text"), str)
        and (policy.allow_tools is None or tool.name in policy.allow_tools)
        and tool.effect in policy.allow_effects
        and tool.scopes <= policy.granted_scopes
        and within
        and (not asked or (call.approved is not None and call.approved.digest in granted))
    )


@settings(max_examples=80, deadline=None)
@given(terms=TERMS, data=st.data())
def test_no_call_without_all_gates_and_every_run_ends_within_its_limits(terms: Terms, data: st.DataObject) -> None:
    state = k.begin(terms, "goal", tenant="t", run_id="r", nonce="n" * 32)
    trail: list[AuditRecord] = list(state.outbox)
    granted: set[str] = set()
    started: dict[int, int] = {}
    sessions = 0
    for _ in range(200):
        effect = k.effect_of(state)
        if isinstance(state.at, OVER) and state.stop_reason != k.CALLER_STOP:
            break
        resumes = sessions < 4 and (isinstance(effect, k.Rest) or data.draw(st.integers(0, 7)) == 0)
        if not resumes and isinstance(effect, k.Rest):
            break
        event: k.Event
        if resumes:
            event = taken_up(data, state)
        else:
            event = k.Halted() if data.draw(st.integers(0, 15)) == 0 else what_happens(data, effect)
        sessions += resumes
        answers = (
            event.approvals
            if isinstance(event, k.Resumed)
            else (event.approval,)
            if isinstance(event, k.Answered)
            else ()
        )
        granted |= {answer.digest for answer in answers if answer is not None and answer.granted}
        following, effect = k.advance(terms, RunState.from_json(state.to_json()), event)
        assert (following, effect) == k.advance(terms, state, event), "a saved state goes on as the state itself"
        assert following.revision == state.revision + 1
        trail += following.outbox
        assert verify_audit(trail, heads=[following]) == []
        if isinstance(effect, k.CallTool):
            assert isinstance(following.at, Calling)
            assert may_run(terms, following, following.at, granted)
            started[len(following.steps)] = started.get(len(following.steps), 0) + 1
        if isinstance(following.at, Waiting):
            assert effect == k.Rest()
        state = following
    else:
        raise AssertionError("the run does not end")
    gone = data.draw(st.integers(0, len(trail) - 1))
    assert verify_audit(trail[:gone] + trail[gone + 1 :], heads=[state]), "a record was taken out"
    assert verify_audit([*trail[:gone], replace(trail[gone], data={"x": 1}), *trail[gone + 1 :]], heads=[state])
    assert state.spent.decisions <= terms.limits.max_steps
    assert terms.limits.max_tool_calls is None or state.spent.tool_calls <= terms.limits.max_tool_calls
    assert max(started.values(), default=0) <= k.MOST_ATTEMPTS
    assert events(trail).count("call_started") == sum(started.values()) == state.spent.tool_calls
    assert events(trail).count("denied") == sum(step.outcome == "denied" for step in state.steps)


def of_one_run(terms: Terms, decisions: list[Any], stops: set[int]) -> tuple[RunState, list[AuditRecord]]:
    """A run whose world does the same each time, and which is taken up anew before the given effects, calls apart: a
    call that was cut off may have happened."""
    state = k.begin(terms, "goal", tenant="t", run_id="r", nonce="n" * 32)
    trail = list(state.outbox)
    done: set[int] = set()
    effects = 0
    while not isinstance(state.at, OVER):
        event: k.Event
        effect = k.effect_of(state)
        if effects in stops - done and not isinstance(effect, k.CallTool | k.Rest):
            done.add(effects)
            state = RunState.from_json(k.advance(terms, state, k.Resumed())[0].to_json())
            trail += state.outbox
            continue
        effects += 1
        match effect:
            case k.AskPlanner():
                number = len(state.steps)
                event = k.Decided(decisions[number] if number < len(decisions) else Decision.finish("end"), 0.5)
            case k.AskApprover(request):
                event = k.Answered(None if len(state.steps) % 2 else Approval(request.digest, True, "p"))
            case k.CallTool(_, arguments):
                event = k.Returned(arguments, 0.5)
            case k.Judge():
                event = k.Judged(True)
            case k.Rest():
                assert state.pending is not None
                event = k.Resumed((Approval(state.pending.digest, True, "p"),))
        state = RunState.from_json(k.advance(terms, state, event)[0].to_json())
        trail += state.outbox
    return state, trail


@settings(max_examples=50, deadline=None)
@given(terms=TERMS, decisions=st.lists(DECISIONS, max_size=6), stops=st.sets(st.integers(0, 16)))
def test_a_run_taken_up_at_any_step_is_the_run_that_was_not_interrupted(
    terms: Terms, decisions: list[Any], stops: set[int]
) -> None:
    whole, whole_trail = of_one_run(terms, decisions, set())
    parted, trail = of_one_run(terms, decisions, stops)
    assert (parted.at, parted.steps, parted.spent) == (whole.at, whole.steps, whole.spent)

    def told(records: list[AuditRecord]) -> list[Any]:
        kept = [
            (record.event, {key: value for key, value in record.data.items() if key != "digest"}) for record in records
        ]
        return [(event, data) for event, data in kept if event != "resumed"]

    assert told(trail) == told(whole_trail)
    again, again_trail = of_one_run(terms, decisions, stops)
    assert (again, again_trail) == (parted, trail), "the same history gives the same chain"


TRAIL_TERMS = Terms(tools=Toolset(TOOLS), policy=Policy(approve_effects={"read"}), limits=Limits(max_steps=4))
SOME = [Decision.act("t0", {"text": "a"}), Decision.act("no"), Decision.finish("x")]
STATE, TRAIL = of_one_run(TRAIL_TERMS, SOME, {1})


@pytest.mark.parametrize("position", range(len(TRAIL)))
def test_every_single_change_and_removal_is_found(position: int) -> None:
    record = TRAIL[position]
    changes: list[dict[str, Any]] = [
        {"event": record.event + "x"},
        {"data": record.data | {"more": 1}},
        {"data": {}} if record.data else {"data": {"x": 1}},
        {"previous": "0" * 64},
        {"digest": "0" * 64},
        {"seq": record.seq + 1000},
        {"run_id": "other"},
        {"tenant": "other"},
    ]
    for change in changes:
        changed = [*TRAIL[:position], replace(record, **change), *TRAIL[position + 1 :]]
        assert verify_audit(changed, heads=[STATE]), change
    removed = [*TRAIL[:position], *TRAIL[position + 1 :]]
    assert {problem.seq for problem in verify_audit(removed, heads=[STATE])} & {position, position + 1}
    repeated = [*TRAIL[: position + 1], *TRAIL[position:]]
    assert [problem.fault for problem in verify_audit(repeated)] == ["repeated"]


def test_every_swap_is_found_and_a_rewritten_tail_by_the_head() -> None:
    for first in range(len(TRAIL)):
        for second in range(first + 1, len(TRAIL)):
            swapped = list(TRAIL)
            swapped[first], swapped[second] = swapped[second], swapped[first]
            assert "reordered" in {problem.fault for problem in verify_audit(swapped)}
    cut = TRAIL[:-1]
    assert verify_audit(cut) == []
    assert [problem.fault for problem in verify_audit(cut, heads=[STATE])] == ["cut"]


class Checked(MemoryStore):
    """A store that verifies the trail each time that it is asked to keep a state, and keeps what it was told."""

    def __init__(self, audit: MemoryAuditSink) -> None:
        super().__init__()
        self.audit, self.kept = audit, list[bytes]()

    def save(self, state: RunState) -> None:
        assert verify_audit([*self.audit.records, *state.outbox], heads=[state]) == []
        super().save(state)
        self.kept.append(state.to_json())


def raises(text: str) -> Any:
    raise RuntimeError(text)


def changes(**arguments: Any) -> Any:
    arguments["text"] = "changed"
    arguments["more"] = [arguments]
    return arguments["text"]


BEHAVIOURS: dict[str, Any] = {
    "answers": lambda text: text,
    "raises": raises,
    "no_json": lambda text: {text},
    "nested": lambda text: [[text], {"x": float("nan")}],
    "changes": changes,
}


@settings(max_examples=30, deadline=None)
@given(
    names=st.lists(st.sampled_from([*BEHAVIOURS, "hangs", "lies"]), max_size=8),
    limits=LIMITS,
    bad_planner=st.booleans(),
)
def test_whatever_tools_and_planners_do_a_run_ends_within_its_limits_and_is_on_the_record(
    names: list[str], limits: Limits, bad_planner: bool
) -> None:
    over, held = Event(), list[Any]()

    def lies(text: str) -> Any:
        """Return what is changed afterwards."""
        held.append([text])
        return held[-1]

    tools = [Tool(name, does, parameters=closed(text={"type": "string"})) for name, does in BEHAVIOURS.items()]
    tools.append(Tool("lies", lies, parameters=closed(text={"type": "string"})))
    tools.append(Tool("hangs", lambda text: over.wait(60), parameters=closed(text={"type": "string"}), timeout_s=1e-3))

    def planner(state: RunState, described: Any) -> Any:
        for result in held:
            result.append("later")
        number = len(state.steps)
        described.clear()
        if number < len(names):
            return Decision.act(names[number], {"text": "x"}, usage=Usage(3, 0.1))
        if bad_planner:
            raise ValueError("no idea")
        return Decision.finish("end", usage=Usage(3))

    audit = MemoryAuditSink()
    store = Checked(audit)
    try:
        state = Agent(tools, planner, limits=limits, store=store, audit=audit, clock=lambda: 0.0).run(
            "goal", run_id="r"
        )
    finally:
        over.set()
    assert isinstance(state.at, OVER)
    assert verify_audit(audit.records, heads=[state]) == []
    assert store.load(*state.key) == state == RunState.from_json(store.kept[-1])
    assert state.spent.decisions <= limits.max_steps
    assert limits.max_tool_calls is None or state.spent.tool_calls <= limits.max_tool_calls
    results = {"answers": "x", "changes": "changed", "lies": ["x"]}
    for step, name in zip(state.steps, names, strict=False):
        assert isinstance(step.decision, Act)
        assert step.decision.arguments == {"text": "x"}
        assert step.outcome == ("executed" if name in results else "failed") or step.outcome == "denied"
        assert step.outcome != "executed" or step.result == results[name]
