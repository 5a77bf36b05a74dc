"""Which agent each run of LangGraph is of, and where control goes.

A graph is what has runs below it that are called as the node they are in, in another place than its own. A graph with a
name is an agent; so is one without that runs in a node or a tool, by the name of that. In a graph that is neither, the
nodes that call models are agents where there are several then; a single model has no agent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from oloproof.importers.foreign import object_of, text_id
from oloproof.model.values import Json

UNNAMED: Final = "LangGraph"
PARENT: Final = "__parent__"
ONE_AGENT: Final = "langchain_create_agent"
"""Whose graph is one agent, whichever of its nodes call models."""

Fields = dict[str, Any]


class Agents(Struct, frozen=True):
    """The agent of each run, and that of each node that calls models. Runs and nodes without one are not there."""

    of_run: dict[str, str]
    of_node: dict[str, str]

    def after(self, run: Fields) -> tuple[str, str]:
        """The agent whose node this run is and the one that it hands over to; empty where it does not."""
        agent = self.of_node.get(text_id(run.get("name")), "") if is_node(run) else ""
        receiver = self.of_node.get(target_of(run.get("outputs")), "")
        return (agent, receiver) if agent and receiver and agent != receiver else ("", "")

    def after_tool(self, outputs: Json) -> str:
        """The agent that a tool's result gives control to; "" for none."""
        target = target_of(outputs)
        command = command_of(outputs) or {}
        return self.of_node.get(target, target if command.get("graph") == PARENT else "")


class _Around(Struct, frozen=True):
    """What is around a run: its agent, its nodes from the outermost on, the nearest node or tool."""

    agent: str = ""
    nodes: tuple[str, ...] = ()
    nearest: str = ""


def agents_of(runs: Mapping[str, tuple[Fields, str]]) -> Agents:
    """The agents of a trace: its runs by id, each with its parent's."""
    graphs = {parent for run, parent in runs.values() if _is_node_of(run, runs.get(parent))}
    around = dict(_walk(runs, graphs))
    of_run = {name: place.agent for name, place in around.items() if place.agent}
    models = [place for name, place in around.items() if runs[name][0].get("run_type") == "llm"]
    free = {place.nodes[-1] for place in models if place.nodes and not place.agent}
    if len(free | {place.agent for place in models if place.agent}) > 1:
        named = {name: place.nodes[-1] for name, place in around.items() if place.nodes and not place.agent}
        of_run |= {name: node for name, node in named.items() if node in free}
    of_node: dict[str, str] = {}
    for name, place in around.items():
        if runs[name][0].get("run_type") == "llm" and name in of_run:
            for node in place.nodes:
                of_node.setdefault(node, of_run[name])
    return Agents(of_run, of_node)


def _walk(runs: Mapping[str, tuple[Fields, str]], graphs: set[str]) -> Iterator[tuple[str, _Around]]:
    """What is around each run, from the outermost on; runs whose parents go round in a circle are left out."""
    below: dict[str, list[str]] = {}
    for name, (_, parent) in runs.items():
        below.setdefault(parent if parent in runs else "", []).append(name)
    waiting = [(name, _Around()) for name in reversed(below.get("", ()))]
    while waiting:
        name, place = waiting.pop()
        run, parent = runs[name]
        title = text_id(run.get("name"))
        if _is_node_of(run, runs.get(parent)):
            nodes = place.nodes if _place(run).get("ls_integration") == ONE_AGENT else (*place.nodes, title)
            place = _Around(place.agent, nodes, title)
        if name in graphs:
            own = title if title != UNNAMED else place.nearest
            place = _Around(own or place.agent, place.nodes, place.nearest)
        yield name, place
        if run.get("run_type") == "tool":
            place = _Around(place.agent, (), title)
        waiting.extend((each, place) for each in reversed(below.get(name, ())))


def is_node(run: Fields) -> bool:
    """The run is called as the node that it is in."""
    return bool(run.get("name")) and run.get("name") == _place(run).get("langgraph_node")


def _is_node_of(run: Fields, parent: tuple[Fields, str] | None) -> bool:
    if parent is None or not is_node(run):
        return False
    return _place(run).get("langgraph_checkpoint_ns") != _place(parent[0]).get("langgraph_checkpoint_ns")


def command_of(outputs: Json) -> Fields | None:
    """The command that a run returned, by itself or in a list; None for none."""
    given = outputs.get("output", outputs) if isinstance(outputs, dict) else outputs
    for each in given if isinstance(given, list) else (given,):
        if isinstance(each, dict) and {"goto", "update"} <= each.keys():
            return each
    return None


def target_of(outputs: Json) -> str:
    """The node that a run's command goes to; "" for none, or for several."""
    goto = (command_of(outputs) or {}).get("goto")
    if isinstance(goto, list) and len(goto) == 1:
        (goto,) = goto
    return goto if isinstance(goto, str) else ""


def _place(run: Fields) -> Fields:
    """Where the run was, as LangGraph notes it."""
    return object_of(object_of(run.get("extra")).get("metadata"))
