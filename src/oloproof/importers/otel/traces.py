"""Spans and log records of any number of files, as the traces of runs: who is under whom, and which are one run.

A run is a trace, or all traces of a conversation. Spans come in any order, twice, with parents that are elsewhere or
that lead in a circle; log records name their span, only its trace, or a span that is nowhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import Struct

from oloproof.importers.otel.dialects import add_events, genai, seen
from oloproof.importers.otel.records import MESSAGE_EVENTS, STEPS, identity, span_id_of, tells_of_a_step
from oloproof.importers.otel.seen import NO_ROLES, Role, Seen
from oloproof.importers.otel.spans import Event, Log, Span

LOSSES: Final = {
    "parent_cycles": "spans that are their own ancestors: they are taken as the beginning of a trace",
    "unplaced_logs": "log records that name no span, in traces with several that may be meant",
}
_SAME_NS: Final = 1_000_000
"""What writes a span down may round its times by less."""
_MOST_SEARCHED: Final = 1000
"""Calls of models in one trace among which a log record without a span is looked for."""


class Node(Struct, kw_only=True, eq=False):
    """A span in its trace. ``seen`` None: it has to do with no agent. ``up`` is the nearest span above it that has;
    ``inside`` the call of a tool that it is part of; ``agent`` whose it is ("": nobody says); ``scope`` the agent or
    tool whose calls of models and tools are one loop."""

    span_id: str
    parent_id: str
    parent_is_local: bool
    start: int
    end: int
    place: int
    error: str
    seen: Seen | None = None
    attributes: dict[str, Any] = {}
    up: Node | None = None
    inside: Node | None = None
    agent: str = ""
    scope: Node | None = None
    is_aside: bool = False
    is_busy: bool = False
    """Agents, calls of models or calls of tools are below it."""
    first: Node | None = None
    last: Node | None = None
    """The first and the last call of a model of its own that is below it."""

    @property
    def role(self) -> Role:
        return self.seen.role if self.seen is not None else ""

    @property
    def latency_ms(self) -> float | None:
        return (self.end - self.start) / 1e6 if 0 < self.start <= self.end else None


class Trace:
    """A trace: ``nodes`` in the order in which they began, once :meth:`settle` was called."""

    def __init__(self, trace_id: str, file: str, line: int) -> None:
        """``file`` and ``line`` are where it was met first."""
        self.trace_id = trace_id
        self.file = file
        self.line = line
        self.resource: dict[str, Any] = {}
        self.nodes: list[Node] = []
        self.scores: dict[str, Any] = {}
        self.is_open = False
        """Something is not there that may have been a call. Known once :meth:`settle` was called."""
        self.lacks_records = False
        """Whoever gathers its records lost some."""
        self._by_id: dict[str, Node] = {}
        self._logs: dict[bytes, Log] = {}
        self._is_cut = False

    def add(self, span: Span, place: int) -> None:
        """One more span. Of two with one id the later is taken, unless it has not ended; where they are no records of
        the same, a step may be lost by it."""
        said = seen(span)
        keeps = not span.parent_id or (said is not None and said.role in ("agent", "workflow"))
        node = Node(
            span_id=span_id_of(span, place),
            parent_id=span.parent_id if span.parent_id != span.span_id else "",
            parent_is_local=span.parent_is_local,
            start=span.start,
            end=span.end,
            place=place,
            error=span.error or "",
            seen=said,
            attributes={"name": span.name, **span.attributes} if keeps else {},
        )
        self._is_cut |= span.is_cut and node.role in STEPS
        self.resource = self.resource or span.resource
        known = self._by_id.get(node.span_id)
        self._is_cut |= known is not None and _are_two(known, node)
        if known is None or span.end or not known.end:
            self._by_id[node.span_id] = node

    def add_log(self, log: Log) -> None:
        """One more log record. One that is there already was sent twice, where it says when it was."""
        self._is_cut |= log.is_cut and tells_of_a_step(log)
        key = identity(log) if log.event.time else b"#%d" % len(self._logs)
        self._logs.setdefault(key, log)

    def identities(self) -> set[bytes]:
        """Those of all its records (:func:`identity`), before :meth:`settle`."""
        return {*self._logs, *(span_id.encode("utf-8", "surrogatepass") for span_id in self._by_id)}

    def has_begun(self) -> bool:
        """Before :meth:`settle`: something of an agent has come."""
        said = any(log.event.name.startswith(MESSAGE_EVENTS) for log in self._logs.values())
        return said or any(node.role not in NO_ROLES for node in self._by_id.values())

    def settle(self, losses: Counter[str]) -> None:
        """Give every log record its span and every span its place."""
        self.is_open = self.lacks_records or self._is_cut or self.is_under_way()
        self.nodes = sorted(self._by_id.values(), key=_begin)
        self._place_logs(losses)
        from_above = []
        for node in self._from_above(losses):
            _inherit(node)
            from_above.append(node)
        _merge_models(from_above)
        for node in reversed(from_above):
            if node.up is not None and (node.is_busy or node.role in ("agent", "model", "tool", "handoff")):
                node.up.is_busy = True
        for node in self.nodes:
            if node.seen is not None and node.seen.scores:
                self.scores |= node.seen.scores

    @property
    def conversation(self) -> str:
        """The conversation that the trace is a part of, "" where nobody says."""
        outer = (node for node in self.nodes if node.seen is not None and node.inside is None)
        return next((node.seen.conversation for node in outer if node.seen and node.seen.conversation), "")

    def likely_conversation(self) -> str:
        """The same before :meth:`settle`, by what has come so far."""
        for node in sorted(self._by_id.values(), key=_begin):
            if node.seen is not None and node.seen.conversation and not self._is_below_tool(node):
                return node.seen.conversation
        return ""

    def _is_below_tool(self, node: Node) -> bool:
        around = self._by_id.get(node.parent_id)
        for _ in range(_MOST_SEARCHED):
            if around is None:
                return False
            if around.role == "tool":
                return True
            around = self._by_id.get(around.parent_id)
        return False

    def is_under_way(self) -> bool:
        """Whether what is around a step has not come, although it comes when it ends: what an agent did is known, and
        no span of an agent or a workflow around it, while the outermost one says that its parent is of the same
        process. Before :meth:`settle`."""
        reached: set[str] = set()
        for node in self._by_id.values():
            around: Node | None = node if node.role in STEPS else None
            while around is not None and around.span_id not in reached and around.role not in ("agent", "workflow"):
                reached.add(around.span_id)
                outer = self._by_id.get(around.parent_id)
                if outer is None and around.parent_id and around.parent_is_local:
                    return True
                around = outer
        return False

    @property
    def has_agent(self) -> bool:
        """There is something to tell of."""
        return any(node.role not in (*NO_ROLES, "aside") and not node.is_aside for node in self.nodes)

    # --- log records ----------------------------------------------------------------------------------------------

    def _place_logs(self, losses: Counter[str]) -> None:
        models = [node for node in self.nodes if node.role == "model"]
        events: dict[str, list[Event]] = {}
        homeless: list[Event] = []
        for log in sorted(self._logs.values(), key=lambda log: log.event.time):
            if not log.event.name.startswith(MESSAGE_EVENTS):
                continue
            if log.event.name == genai.EVALUATION:
                self.scores |= genai.scores(log.event.attributes)
                continue
            span_id = log.span_id or _only_open(models, log.event)
            if span_id is None:
                losses["unplaced_logs"] += 1
                self.is_open = True
            elif span_id:
                events.setdefault(span_id, []).append(log.event)
            else:
                homeless.append(log.event)
        for span_id, found in events.items():
            node = self._by_id.get(span_id)
            if node is None:
                homeless += found
            else:
                node.seen = node.seen or Seen()
                add_events(node.seen, found)
        self._make_nodes(homeless)
        self._logs = {}

    def _make_nodes(self, events: list[Event]) -> None:
        """Events whose spans were not exported are calls of models themselves: each ends with what was answered."""
        waiting: list[Event] = []
        for event in events:
            waiting.append(event)
            if event.name in genai.ANSWERS:
                self._make_node(waiting)
                waiting = []
        if waiting:
            self._make_node(waiting)
        self.nodes.sort(key=_begin)

    def _make_node(self, events: list[Event]) -> None:
        said = Seen(role="model")
        add_events(said, events)
        if said.heard is None and said.said is None:
            return
        first, last = events[0], events[-1]
        place = len(self.nodes)
        self.nodes.append(
            Node(
                span_id=f"#{place}",
                parent_id="",
                parent_is_local=False,
                start=first.time,
                end=last.time,
                place=place,
                error="",
                seen=said,
            )
        )

    # --- the tree -------------------------------------------------------------------------------------------------

    def _from_above(self, losses: Counter[str]) -> Iterator[Node]:
        """Every node after the one above it."""
        below: dict[int, list[Node]] = {}
        roots: list[Node] = []
        for node in self.nodes:
            parent = self._by_id.get(node.parent_id) if node.parent_id else None
            if parent is None or parent is node:
                roots.append(node)
            else:
                below.setdefault(id(parent), []).append(node)
        reached: set[int] = set()
        pending = roots[::-1]
        for begin in (None, *self.nodes):
            if begin is not None and id(begin) not in reached:
                losses["parent_cycles"] += 1
                pending.append(begin)
            while pending:
                current = pending.pop()
                if id(current) in reached:
                    continue
                reached.add(id(current))
                parent = self._by_id.get(current.parent_id) if current.parent_id else None
                if parent is not None and parent is not current and id(parent) in reached:
                    current.up = parent if parent.role not in NO_ROLES else parent.up
                yield current
                pending += below.get(id(current), ())[::-1]


def _are_two(one: Node, other: Node) -> bool:
    """Two spans that have ended, one of them a step, and differ in more than in who wrote them down."""
    if not (one.end and other.end) or (one.role not in STEPS and other.role not in STEPS):
        return False
    tools = [node.seen.tool for node in (one, other) if node.seen is not None]
    return one.role != other.role or len({*tools}) > 1 or abs(one.start - other.start) > _SAME_NS


def _begin(node: Node) -> tuple[int, int]:
    return node.start, node.place


def _only_open(models: list[Node], event: Event) -> str | None:
    """The only call of a model that an event without a span can be of: "" where there is none at all, None where there
    are several."""
    if len(models) > 1:
        models = [node for node in models[:_MOST_SEARCHED] if node.start <= event.time <= node.end]
        if len(models) != 1:
            return None
    return models[0].span_id if models else ""


def is_transfer(tool: str) -> bool:
    """Tools of this name hand control to another agent, by a custom of many frameworks."""
    return tool.startswith(("transfer_to_", "handoff_to_"))


def _inherit(node: Node) -> None:
    """What a node has from the one above it."""
    up = node.up
    said = node.seen
    node.agent = (said.agent if said is not None else "") or (up.agent if up is not None else "")
    if up is not None:
        node.inside, node.scope = up.inside, up.scope
        node.is_aside = up.is_aside
        if up.role == "tool" and up.seen is not None and not is_transfer(up.seen.tool):
            node.inside = up
        if up.role in ("agent", "tool"):
            node.scope = up
        if up.role == "aside":
            node.is_aside = True
        if said is not None and said.role == "tool" and up.role == "tool" and up.seen is not None:
            _merge_tool(node, up)


def _merge_tool(node: Node, up: Node) -> None:
    """A call of a tool right below one of the same tool is the same call, seen by the other side."""
    assert node.seen is not None
    assert up.seen is not None
    if up.seen.tool.endswith(node.seen.tool):
        up.seen.add(node.seen)
        node.seen = None
        node.inside, node.scope = up, up
        node.up = up


def _merge_models(nodes: list[Node]) -> None:
    """A call of a model right below one is the same call, seen from nearer. What has several of them below it is
    something around them."""
    below: dict[int, list[Node]] = {}
    for node in nodes:
        if node.role == "model" and node.up is not None and node.up.role == "model":
            below.setdefault(id(node.up), []).append(node)
    for outer in nodes:
        inner = below.get(id(outer), ())
        if not inner or outer.seen is None:
            continue
        if len(inner) == 1 and inner[0].seen is not None:
            inner[0].seen.add(outer.seen)
            outer.seen = Seen(role="workflow", conversation=outer.seen.conversation)
        else:
            outer.seen.role = "workflow"


NO_TRACE: Final = "file "
"""What comes before the file where records name no trace."""


class Traces:
    """All traces of an import."""

    def __init__(self) -> None:
        self._traces: dict[str, Trace] = {}
        self._place = 0

    def add(self, record: Span | Log, file: str, line: int) -> None:
        """A span or a log record of a file. What names no trace is one with the rest of its file that names none."""
        trace_id = record.trace_id
        key = trace_id or f"{NO_TRACE}{file}"
        trace = self._traces.get(key)
        if trace is None:
            trace = self._traces[key] = Trace(trace_id, file, line)
        self._place += 1
        if isinstance(record, Log):
            trace.add_log(record)
        else:
            trace.add(record, self._place)

    def told(self, losses: Counter[str]) -> list[Trace]:
        """The traces that tell of an agent, all of one run, in the order in which they began."""
        traces = list(self._traces.values())
        for trace in traces:
            trace.settle(losses)
        return sorted((trace for trace in traces if trace.has_agent), key=lambda trace: _begin(trace.nodes[0]))

    def runs(self, losses: Counter[str], only: Iterable[str] | None = None) -> Iterator[list[Trace]]:
        """The traces of each run (``only``: of those among these traces), in the order in which they began.

        A trace is let go when its run was taken.
        """
        runs: dict[tuple[str, str], list[Trace]] = {}
        for key in list(self._traces if only is None else only):
            trace = self._traces.pop(key)
            trace.settle(losses)
            conversation = trace.conversation
            runs.setdefault(("conversation", conversation) if conversation else ("trace", key), []).append(trace)
        for name in list(runs):
            traces = runs.pop(name)
            yield sorted(traces, key=lambda trace: _begin(trace.nodes[0]) if trace.nodes else (0, 0))
