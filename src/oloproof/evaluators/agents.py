"""Several agents: ``agent_route`` and ``agent_tool_permissions``."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Annotated

from msgspec import Meta

from oloproof.evaluators.base import UNNAMED_AGENTS, Name, TrajectoryEvaluator, listed, names_problem, open_reason
from oloproof.model.case import Case
from oloproof.model.evidence import CaseProblem, Evidence
from oloproof.model.judgment import Judgment, excluded
from oloproof.model.reading import Reading

NO_DECLARED_ROUTE = excluded("no_declared_route")


class Route(TrajectoryEvaluator, frozen=True, kw_only=True, dict=True, tag_field="type", tag="agent_route"):
    """The agents in control, in order and with repeats collapsed, are those of ``expected.route``.

    The receiver of a hand-off is in control even if it takes no step; steps inside an agent used as a tool change
    nothing. A truncated record fails once its route leaves the reference or outgrows it, and never passes. A record
    that names no agents is missing (``unnamed_agents``); a case without the key is excluded (``no_declared_route``).
    """

    def reference_fields(self) -> tuple[str, ...]:
        return ("route",)

    def exclusion(self, case: Case) -> Judgment | None:
        return None if "route" in case.expected else NO_DECLARED_ROUTE

    def reference_problems(self, case: Case) -> tuple[CaseProblem, ...]:
        route = case.expected.get("route", ["any"])
        problem = names_problem(route, "agent names")
        if problem is None and not route:
            problem = "must name an agent; leave the key out where no route is expected"
        if problem is None and any(a == b for a, b in pairwise(route)):
            problem = "names an agent twice in a row, which no run can satisfy: repeats are collapsed"
        return () if problem is None else (CaseProblem(problem, ("route",)),)

    def judge_reading(self, reading: Reading, evidence: Evidence) -> Judgment:
        if not reading.agents_named:
            return UNNAMED_AGENTS
        reference = listed(evidence.case.expected["route"], "expected.route")
        route = list(reading.route)
        if route != reference[: len(route)]:
            shared = next((i for i, (a, b) in enumerate(zip(route, reference, strict=False)) if a != b), len(reference))
            return Judgment("fail", None, (reading.route_steps[shared],), reference, route)
        if reading.truncated:
            return Judgment("missing", open_reason(reading), (), reference, route)
        return Judgment("pass" if len(route) == len(reference) else "fail", None, (), reference, route)


class ToolPermissions(
    TrajectoryEvaluator, frozen=True, kw_only=True, dict=True, tag_field="type", tag="agent_tool_permissions"
):
    """Every agent calls only tools that ``permissions`` (agent: [tools]) allows it.

    The table is closed: an agent that it does not list may call nothing. Steps inside an agent used as a tool count
    like all others. A truncated record fails at the first violation, and never passes. A record that names no agents is
    missing (``unnamed_agents``).
    """

    permissions: Annotated[dict[Name, tuple[Name, ...]], Meta(description="The tools that each agent may call.")]

    @cached_property
    def allowed(self) -> dict[str, frozenset[str]]:
        """The table, for look-ups."""
        return {agent: frozenset(tools) for agent, tools in self.permissions.items()}

    def tools_named(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(tool for tools in self.permissions.values() for tool in tools))

    def judge_reading(self, reading: Reading, evidence: Evidence) -> Judgment:
        if not reading.agents_named:
            return UNNAMED_AGENTS
        allowed = self.allowed
        for call in reading.calls:
            agent = call.agent or ""
            if call.tool_name not in allowed.get(agent, ()):
                tools = list(self.permissions.get(agent, ()))
                return Judgment("fail", None, (call.index,), {agent: tools}, {agent: call.tool_name})
        if reading.truncated:
            return Judgment("missing", open_reason(reading))
        return Judgment("pass")
