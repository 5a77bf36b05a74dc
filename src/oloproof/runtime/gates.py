"""The five gates that every action passes, in order: Validation, Permissions, Scope, Budget, Approval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from oloproof.runtime.audit import digest
from oloproof.runtime.decision import Act
from oloproof.runtime.policy import Limits, Policy
from oloproof.runtime.state import ApprovalRequest, RunState
from oloproof.runtime.tools import Tool, Toolset


class Terms(Struct, frozen=True, kw_only=True):
    """What a run is held to: its tools, its policy and its limits. ``judged``: a done criterion judges the answer."""

    tools: Toolset
    policy: Policy
    limits: Limits
    judged: bool = False


class Approval(Struct, frozen=True, forbid_unknown_fields=True):
    """A person's answer to the request with this ``digest``. ``approver`` says who it was."""

    digest: str
    granted: bool
    approver: str
    note: str = ""

    def __post_init__(self) -> None:
        for name, kind in (("digest", str), ("granted", bool), ("approver", str), ("note", str)):
            if not isinstance(getattr(self, name), kind):
                raise TypeError(f"{name} is of type {type(getattr(self, name)).__name__}, not {kind.__name__}")


class Denial(Struct, frozen=True):
    """Why an action does not run: the gate, a stable code, and words."""

    gate: str
    code: str
    message: str


Gate = Callable[[Terms, RunState, Act], Denial | None]


def validation(terms: Terms, _: RunState, act: Act) -> Denial | None:
    """The tool exists and the arguments match its schema."""
    tool = terms.tools.get(act.tool)
    if tool is None:
        known = ", ".join(terms.tools) or "none"
        return Denial("validation", "unknown_tool", f"there is no tool {act.tool!r:.80}; there are: {known}")
    wrong = tool.wrong_arguments(act.arguments)
    return None if wrong is None else Denial("validation", "invalid_arguments", wrong)


def permissions(terms: Terms, _: RunState, act: Act) -> Denial | None:
    """The policy allows the tool and its kind of effect."""
    tool, policy = terms.tools[act.tool], terms.policy
    if policy.allow_tools is not None and tool.name not in policy.allow_tools:
        return Denial("permissions", "permission_denied", f"the policy does not allow the tool {tool.name!r}")
    if tool.effect not in policy.allow_effects:
        return Denial("permissions", "permission_denied", f"the policy allows no {tool.effect.value} tools")
    return None


def scope(terms: Terms, _: RunState, act: Act) -> Denial | None:
    """The policy grants the scopes that the tool needs."""
    lacking = terms.tools[act.tool].scopes - terms.policy.granted_scopes
    return Denial("scope", "scope_denied", f"not granted: {', '.join(sorted(lacking))}") if lacking else None


def budget(terms: Terms, state: RunState, act: Act) -> Denial | None:
    """One more call stays within the limits."""
    past = terms.limits.refuses(state.spent, terms.tools[act.tool])
    return None if past is None else Denial("budget", "budget_denied", past)


BEFORE_APPROVAL: Final[tuple[Gate, ...]] = (validation, permissions, scope, budget)
"""In this order; the approval gate is last, and it alone may make a run wait."""


def first_denial(terms: Terms, state: RunState, act: Act) -> Denial | None:
    """What the gates before the approval gate say."""
    for gate in BEFORE_APPROVAL:
        denial = gate(terms, state, act)
        if denial is not None:
            return denial
    return None


def request_for(tool: Tool, state: RunState, act: Act, *, history: str) -> ApprovalRequest:
    """What a person is asked for this action after this history; its digest binds all of it."""
    action = {
        "tenant": state.tenant,
        "run_id": state.run_id,
        "step": len(state.steps),
        "tool": act.tool,
        "arguments": act.arguments,
        "effect": tool.effect.value,
        "scopes": sorted(tool.scopes),
        "history": history,
    }
    return ApprovalRequest(
        digest=digest(action),
        run_id=state.run_id,
        step=len(state.steps),
        tool=act.tool,
        arguments=act.arguments,
        effect=tool.effect.value,
        scopes=tuple(sorted(tool.scopes)),
        history=history,
        reason=f"the policy asks for a person's approval of each call of the {tool.effect.value} tool {tool.name!r}",
    )
