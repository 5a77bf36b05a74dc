"""The kernel: what a run does next, as a pure function of its state and of what happened.

It reads no clock, rolls no dice and opens no file. ``begin`` makes the first state, ``advance`` the next one, and
:data:`TRANSITIONS` says which event is possible where. A state says by itself what is to be done (:func:`effect_of`).
Whoever drives a run keeps one rule: save the state, write its outbox to the audit trail, and only then do the effect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, assert_never

from msgspec.structs import replace

from oloproof.model.values import equal, snapshot
from oloproof.record.steps import exception_text, printable
from oloproof.runtime.audit import CALLER_STOP, FIRST, LAST, chained, digest
from oloproof.runtime.decision import Act, Finish, is_json, own
from oloproof.runtime.errors import StateError
from oloproof.runtime.exchange import (
    Answered,
    AskApprover,
    AskPlanner,
    Broke,
    CallTool,
    Decided,
    Effect,
    Event,
    Halted,
    Judge,
    Judged,
    JudgeRaised,
    PlannerRaised,
    Raised,
    Rest,
    Resumed,
    Returned,
)
from oloproof.runtime.gates import Approval, Denial, Terms, first_denial, request_for
from oloproof.runtime.state import (
    OVER,
    ApprovalRequest,
    Asking,
    Calling,
    Completed,
    Deciding,
    Failed,
    Judging,
    Position,
    RunState,
    StepError,
    StepOutcome,
    Stopped,
    Waiting,
)
from oloproof.runtime.turn import Turn, ending, words

MOST_ATTEMPTS: Final = 3
"""How often an idempotent call is started in all, when a crash keeps cutting it off."""

STALE: Final = Denial("approval", "approval_stale", "the tool has changed since its call was approved")


def effect_of(state: RunState) -> Effect:
    """What is to be done at this state."""
    match state.at:
        case Deciding():
            return AskPlanner()
        case Asking(_, request):
            return AskApprover(request)
        case Calling(act):
            return CallTool(act.tool, act.arguments)
        case Judging(finish):
            return Judge(finish.answer)
        case Waiting() | Completed() | Stopped() | Failed():
            return Rest()
        case _ as unreachable:
            assert_never(unreachable)


def begin(terms: Terms, goal: str, *, tenant: str, run_id: str, nonce: str, context: Any = None) -> RunState:
    """The state of a run that has just begun, and is over where a limit leaves no first decision. ``nonce`` is random,
    at least 32 characters; ``context`` a JSON value to keep with the run."""
    goal, tenant, run_id = printable(goal), printable(tenant), printable(run_id)
    first = chained((tenant, run_id), None, FIRST, {"goal": goal, "nonce": nonce, "context": context})
    state = RunState(
        tenant=tenant,
        run_id=run_id,
        goal=goal,
        at=Deciding(),
        audit_head=first.head,
        outbox=(first,),
        context=context,
    )
    reason = terms.limits.stop_reason(state)
    if reason is None:
        return state
    at = Stopped(reason)
    last = chained(state.key, first.head, LAST, ending(at))
    return replace(state, at=at, audit_head=last.head, outbox=(first, last))


def advance(terms: Terms, state: RunState, event: Event) -> tuple[RunState, Effect]:
    """The state after ``event``, and what is to be done there.

    Errors: StateError where the event is impossible at this state.
    """
    handler = TRANSITIONS.get((type(state.at), type(event)))
    if handler is None:
        raise StateError(f"{type(event).__name__} is impossible where the run {state.run_id!r} is {state.status.value}")
    turn = Turn(terms, state)
    at = handler(turn, state.at, event)
    if isinstance(at, OVER):
        turn.log(LAST, **ending(at))
    following = turn.ended(at)
    return following, effect_of(following)


def _decided(turn: Turn, _: Deciding, event: Decided) -> Position:
    turn.spend(decisions=1, seconds=event.seconds)
    try:
        decision = own(event.decision)
    except Exception as error:  # a TypeError, or whatever the decision's own code raises
        return turn.fail("invalid_decision", exception_text(error))
    if isinstance(decision, Finish) and not is_json(decision.answer):
        return turn.fail("invalid_decision", "the planner's answer is no JSON value")
    usage = decision.usage
    told = {} if usage is None else turn.charge(usage)
    if isinstance(decision, Act):
        turn.log("decided", step=len(turn.steps), tool=decision.tool, arguments=decision.arguments, usage=told)
    else:
        turn.log("decided", step=len(turn.steps), answer_digest=digest(decision.answer), usage=told)
    if usage is None and turn.terms.limits.max_tokens is not None:
        return turn.fail("usage_not_reported", "max_tokens cannot be enforced: the planner reported no usage")
    if isinstance(decision, Act):
        return _gated(turn, decision)
    return Judging(decision) if turn.terms.judged else Completed(decision.answer)


def _gated(turn: Turn, act: Act, *, attempt: int = 1) -> Position:
    """Send an action through the gates for the first time."""
    denial = first_denial(turn.terms, turn.now, act)
    if denial is not None:
        return turn.deny(act, denial)
    tool = turn.terms.tools[act.tool]
    if not turn.terms.policy.needs_approval(tool):
        return _call(turn, act, attempt, None)
    return _asking(turn, act, attempt)


def _asking(turn: Turn, act: Act, attempt: int) -> Asking:
    """Ask for an approval, after all that has happened until now."""
    request = request_for(turn.terms.tools[act.tool], turn.now, act, history=turn.head.digest)
    turn.log("approval_requested", step=request.step, digest=request.digest)
    return Asking(act, request, attempt)


def _call(turn: Turn, act: Act, attempt: int, approved: ApprovalRequest | None) -> Position:
    """Charge a call and start it."""
    turn.spend(tool_calls=1, cost=turn.terms.tools[act.tool].cost)
    turn.log("call_started", step=len(turn.steps), tool=act.tool, attempt=attempt)
    return Calling(act, attempt, approved)


def _planner_raised(turn: Turn, _: Deciding, event: PlannerRaised) -> Position:
    turn.spend(decisions=1, seconds=event.seconds)
    return turn.fail("planner_failed", event.error)


def _answered(turn: Turn, at: Asking, event: Answered) -> Position:
    if event.approval is None:
        turn.log("paused", step=at.request.step, digest=at.request.digest, reason=words(event.error))
        return Waiting(at.act, at.request, at.attempt)
    turn.write_down((event.approval,), asked=at.request)
    following = _approval_gate(turn, at, (event.approval,))
    if isinstance(following, Asking):  # it answered something else; asking it again would not end
        return Waiting(following.act, following.request, following.attempt)
    return following


def _taken_up(turn: Turn, at: Asking | Waiting, event: Resumed) -> Position:
    """Every gate again, with the tools as they are now."""
    turn.resumed(event.approvals, asked=at.request)
    denial = first_denial(turn.terms, turn.now, at.act)
    if denial is not None:
        return turn.deny(at.act, denial)
    return _approval_gate(turn, at, event.approvals)


def _approval_gate(turn: Turn, at: Asking | Waiting, approvals: tuple[Approval, ...]) -> Position:
    """The last gate. An approval counts for the action it was given for, after the history it was given after.

    Of several answers to one request a refusal wins. What answers another request authorises nothing.
    """
    act, asked = at.act, at.request
    tool = turn.terms.tools[act.tool]
    now = request_for(tool, turn.now, act, history=asked.history)
    answers = [answer for answer in approvals if answer.digest == asked.digest]
    if any(not answer.granted for answer in answers):
        refusal = next(answer for answer in answers if not answer.granted)
        said = f"{refusal.approver} refused" + (f": {refusal.note}" if refusal.note else "")
        return turn.deny(act, Denial("approval", "approval_denied", said))
    if answers and now.digest != asked.digest:
        return turn.deny(act, STALE)
    if answers or not turn.terms.policy.needs_approval(tool):
        return _call(turn, act, at.attempt, asked if answers else None)
    if now.digest == asked.digest:
        return Asking(act, asked, at.attempt)
    return _asking(turn, act, at.attempt)


def _returned(turn: Turn, at: Calling, event: Returned) -> Position:
    result = snapshot(event.value)  # a copy: a tool that keeps what it returned cannot change the state
    if not equal(event.value, result):
        message = f"the tool returned what is no JSON value, of type {type(event.value).__name__}"
        return _raised(turn, at, Raised("tool_result_not_json", message, event.seconds))
    turn.spend(seconds=event.seconds)
    turn.log("call_finished", step=len(turn.steps), tool=at.act.tool, result_digest=digest(result))
    return turn.step(at.act, StepOutcome.EXECUTED, result=result)


def _raised(turn: Turn, at: Calling, event: Raised) -> Position:
    turn.spend(seconds=event.seconds)
    error = StepError(event.code, words(event.error))
    turn.log("call_failed", step=len(turn.steps), tool=at.act.tool, code=error.code, message=error.message)
    return turn.step(at.act, StepOutcome.FAILED, error=error)


def _broke(turn: Turn, at: Calling, event: Broke) -> Position:
    _raised(turn, at, Raised("tool_broken", event.error, event.seconds))
    return turn.fail("tool_broken", event.error)


def _call_taken_up(turn: Turn, at: Calling, event: Resumed) -> Position:
    """A call was cut off: it starts again through every gate if that is safe, else nobody knows what it did."""
    turn.resumed(event.approvals)
    tool = turn.terms.tools.get(at.act.tool)
    again = tool is not None and tool.idempotent and at.attempt < MOST_ATTEMPTS
    if not again:
        message = "the run stopped during the call; whether it took effect is unknown"
        return turn.interrupt(at, "tool_interrupted", message)
    if at.approved is None:
        return _gated(turn, at.act, attempt=at.attempt + 1)
    denial = first_denial(turn.terms, turn.now, at.act)
    if denial is None:
        now = request_for(turn.terms.tools[at.act.tool], turn.now, at.act, history=at.approved.history)
        if now.digest == at.approved.digest:
            return _call(turn, at.act, at.attempt + 1, at.approved)
        denial = STALE
    return turn.deny(at.act, denial)


def _judged(turn: Turn, at: Judging, event: Judged) -> Position:
    turn.spend(seconds=event.seconds)
    if type(event.accepted) is not bool:
        return turn.fail("invalid_done", f"the done criterion returned {type(event.accepted).__name__}, no bool")
    if event.accepted:
        return Completed(at.finish.answer)
    return turn.deny(at.finish, Denial("done", "answer_rejected", "the done criterion did not accept the answer"))


def _judge_raised(turn: Turn, _: Judging, event: JudgeRaised) -> Position:
    turn.spend(seconds=event.seconds)
    return turn.fail("done_failed", event.error)


def _decision_taken_up(turn: Turn, at: Deciding, event: Resumed) -> Position:
    turn.resumed(event.approvals)
    return turn.next()


def _judging_taken_up(turn: Turn, at: Judging, event: Resumed) -> Position:
    turn.resumed(event.approvals)
    return at if turn.terms.judged else Completed(at.finish.answer)


def _halted(turn: Turn, at: Position, event: Halted) -> Position:
    """The caller stops the run: what was in flight or unanswered is over and charged, and the run can be resumed."""
    turn.spend(seconds=event.seconds)
    if event.usage is not None:
        told = turn.charge(event.usage)
        turn.log("interrupted", step=len(turn.steps), code="decision_interrupted", usage=told)
    if isinstance(at, Calling | Asking | Waiting):
        when = "during the call" if isinstance(at, Calling) else "before the action was approved"
        code = "tool_interrupted" if isinstance(at, Calling) else "not_started"
        turn.interrupt(at, code, f"the caller stopped the run {when}")
    return Stopped(event.reason)


def _stop_taken_up(turn: Turn, at: Stopped, event: Resumed) -> Position:
    if at.reason != CALLER_STOP:
        raise StateError(f"the run {turn.before.run_id!r} is over: {at.reason} stopped it")
    turn.resumed(event.approvals)
    return turn.next()


TRANSITIONS: Final[dict[tuple[type, type], Callable[[Turn, Any, Any], Position]]] = {
    (Deciding, Decided): _decided,
    (Deciding, PlannerRaised): _planner_raised,
    (Deciding, Resumed): _decision_taken_up,
    (Deciding, Halted): _halted,
    (Asking, Answered): _answered,
    (Asking, Resumed): _taken_up,
    (Asking, Halted): _halted,
    (Waiting, Resumed): _taken_up,
    (Waiting, Halted): _halted,
    (Calling, Returned): _returned,
    (Calling, Raised): _raised,
    (Calling, Broke): _broke,
    (Calling, Resumed): _call_taken_up,
    (Calling, Halted): _halted,
    (Judging, Judged): _judged,
    (Judging, JudgeRaised): _judge_raised,
    (Judging, Resumed): _judging_taken_up,
    (Judging, Halted): _halted,
    (Stopped, Resumed): _stop_taken_up,
}
"""Where a run stands × what happens → what it does. What is not here is impossible."""
