"""The synchronous shell: asks the planner, calls the tools, and keeps what the kernel says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import copy_context
from queue import SimpleQueue
from secrets import token_hex
from threading import Thread
from time import monotonic
from typing import Any, Final

from msgspec.json import decode, encode

from oloproof.model.values import snapshot
from oloproof.record.steps import exception_text, printable
from oloproof.runtime import exchange, kernel
from oloproof.runtime.errors import StateError
from oloproof.runtime.gates import Approval, Terms
from oloproof.runtime.policy import Limits, Policy
from oloproof.runtime.recording import hand_over
from oloproof.runtime.session import Keeping, checked_approvals
from oloproof.runtime.sinks import AuditSink, MemoryAuditSink
from oloproof.runtime.state import OVER, ApprovalRequest, RunState
from oloproof.runtime.stores import RunStore
from oloproof.runtime.tools import Tool, Toolset

Planner = Callable[[RunState, list[dict[str, Any]]], Any]
Approver = Callable[[ApprovalRequest], Approval | None]
Done = Callable[[Any, RunState], bool]

DEFAULT_LIMITS: Final = Limits(max_steps=20)


class Agent:
    """Runs goals: the planner proposes each step, the runtime alone decides whether it runs.

    ``approver`` answers approval requests at once; None from it, or no approver, pauses the run. ``done(answer,
    state)`` says whether an answer is accepted; one that is not is the step's outcome (``answer_rejected``). Without
    ``store`` the caller holds the states; without ``audit`` the trail is in memory. ``tenant`` keeps runs apart.

    A session of one run is for one thread; an agent may run several. Inside ``current_case()`` a run that is over is
    recorded as the case's trajectory, in which ``name`` names the agent, unless ``record`` is False.
    """

    def __init__(
        self,
        tools: Iterable[Tool],
        planner: Planner,
        *,
        policy: Policy | None = None,
        limits: Limits = DEFAULT_LIMITS,
        store: RunStore | None = None,
        audit: AuditSink | None = None,
        approver: Approver | None = None,
        done: Done | None = None,
        tenant: str = "default",
        name: str | None = None,
        record: bool = True,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        toolset = tools if isinstance(tools, Toolset) else Toolset(tools)
        for value, what in ((planner, "planner"), (approver, "approver"), (done, "done")):
            if (value is not None and not callable(value)) or (value is None and what == "planner"):
                raise TypeError(f"{what} cannot be called")
        self.terms = Terms(
            tools=toolset, policy=Policy() if policy is None else policy, limits=limits, judged=done is not None
        )
        self.audit: AuditSink = MemoryAuditSink() if audit is None else audit
        self.tenant = printable(tenant)
        self._keeping = Keeping(store, self.audit)
        self._planner, self._approver, self._done = planner, approver, done
        self._described = encode(toolset.describe())
        self._record = record
        self._name = name
        self._clock = clock

    def run(self, goal: str, *, run_id: str | None = None) -> RunState:
        """Run a goal until it is over or waits for an approval. ``run_id`` None makes a random one.

        Errors: TypeError where the goal is no text; StateError where the run id is known already.
        """
        if not isinstance(goal, str):
            raise TypeError(f"the goal is of type {type(goal).__name__}, not text")
        state = kernel.begin(
            self.terms,
            goal,
            tenant=self.tenant,
            run_id=token_hex(16) if run_id is None else run_id,
            nonce=token_hex(16),
        )
        self._keeping.require_new(*state.key)
        return self._drive(state)

    def resume(self, run: str | RunState, *, approvals: Iterable[Approval] = ()) -> RunState:
        """Take a run up where it was: by its id from the store, or from a state that the caller holds.

        Errors: StateError where there is no such run, it is over, or it went on since; TypeError for what is no
        approval.
        """
        given = checked_approvals(approvals)
        state = run if isinstance(run, RunState) else self._keeping.stored(self.tenant, run)
        if state.tenant != self.tenant:
            raise StateError(f"there is no run {state.run_id!r}")
        self._keeping.require_resumable(state)
        return self._drive(kernel.advance(self.terms, state, exchange.Resumed(given))[0])

    def _drive(self, state: RunState) -> RunState:
        """Do what the state says until there is nothing to do."""
        while True:
            self._keeping.keep(state)
            effect = kernel.effect_of(state)
            if isinstance(effect, exchange.Rest):
                break
            state, _ = kernel.advance(self.terms, state, self._perform(state, effect))
        if self._record and isinstance(state.at, OVER):
            hand_over(state, terms=self.terms, audit=self.audit, name=self._name)
        return state

    def _perform(self, state: RunState, effect: exchange.Effect) -> exchange.Event:
        match effect:
            case exchange.AskPlanner():
                return self._ask_planner(state)
            case exchange.AskApprover(request):
                return self._ask_approver(request)
            case exchange.CallTool(name, arguments):
                return self._call(self.terms.tools[name], arguments)
            case exchange.Judge(answer):
                return self._judge(answer, state)
            case exchange.Rest():
                raise AssertionError("nothing is to be done")

    def _ask_planner(self, state: RunState) -> exchange.Event:
        copy, described = RunState.from_json(state.to_json()), decode(self._described)
        start = self._clock()
        try:
            decision = self._planner(copy, described)
        except Exception as error:
            return exchange.PlannerRaised(exception_text(error), self._clock() - start)
        return exchange.Decided(decision, self._clock() - start)

    def _ask_approver(self, request: ApprovalRequest) -> exchange.Event:
        if self._approver is None:
            return exchange.Answered(None, "there is no approver")
        try:
            answer = self._approver(decode(encode(request), type=ApprovalRequest))
        except Exception as error:
            return exchange.Answered(None, f"the approver raised: {exception_text(error)}")
        if answer is not None and not isinstance(answer, Approval):
            return exchange.Answered(None, f"the approver returned {type(answer).__name__}, no Approval")
        return exchange.Answered(answer, "" if answer is not None else "the approver left it open")

    def _call(self, tool: Tool, arguments: dict[str, Any]) -> exchange.Event:
        own = snapshot(arguments)
        start = self._clock()
        try:
            value = tool.function(**own) if tool.timeout_s is None else within(tool.timeout_s, tool.function, own)
        except TimeoutOver:
            return exchange.Raised("tool_timeout", f"it took longer than {tool.timeout_s:g} s", self._clock() - start)
        except Exception as error:
            return exchange.Raised("tool_failed", exception_text(error), self._clock() - start)
        return exchange.Returned(value, self._clock() - start)

    def _judge(self, answer: Any, state: RunState) -> exchange.Event:
        assert self._done is not None
        start = self._clock()
        try:
            accepted = self._done(snapshot(answer), RunState.from_json(state.to_json()))
        except Exception as error:
            return exchange.JudgeRaised(exception_text(error), self._clock() - start)
        return exchange.Judged(accepted, self._clock() - start)


class TimeoutOver(Exception):
    """A call was not back in time."""


def within(seconds: float, function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Call a function in a thread of its own, and leave it there when it is not back in time.

    Errors: TimeoutOver, and whatever the function raises.
    """
    from queue import Empty

    answers: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
    context = copy_context()

    def work() -> None:
        try:
            answers.put((context.run(function, **arguments), None))
        except BaseException as error:  # it belongs to the thread that waits
            answers.put((None, error))

    Thread(target=work, daemon=True, name="oloproof-tool").start()
    try:
        value, error = answers.get(timeout=seconds)
    except Empty:
        raise TimeoutOver from None
    if error is not None:
        raise error
    return value
