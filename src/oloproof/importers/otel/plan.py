"""The traces of a run as one story: in order, every call once, however many records of it there are.

Order is that of the spans' beginnings. The calls of a turn are those that the model's answer lists; where the answer
was not recorded, those that were executed before the model of the same agent was asked again. Histories that a model
is sent tell what nothing else does: the user's words, results of tools without spans, calls of models without spans.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import UNSET

from oloproof.importers.foreign import arguments_of
from oloproof.importers.otel.histories import Histories
from oloproof.importers.otel.known import Known, Pending, arguments_key
from oloproof.importers.otel.messages import Asked, Message, Stored, Unread, joined
from oloproof.importers.otel.seen import Messages
from oloproof.importers.otel.story import Entry, HandOff, Heard, Planned, Result, Turn
from oloproof.importers.otel.traces import Node, Trace, is_transfer
from oloproof.model.values import Json

LOSSES: Final = {
    "unreadable_messages": "messages that were cut off or are of no known shape",
    "unread_parts": "parts of the agent's messages that are no step: reasoning, what the provider's server did",
    "unrecorded_calls": "answers of a model that asked for tools of which nothing was recorded",
    "earlier_turns": "histories that begin with turns before the first of the run: they are kept in its input alone",
    "asides": "calls of models by guardrails and evaluators: no steps of the agent",
}
CALLING: Final = frozenset(("tool_call", "tool_calls", "tool_use", "tool-calls", "function_call"))
"""Finish reasons of an answer that asks for tools."""

MOST_AROUND: Final = 64
"""So many spans around a call of a model are looked at for what was said by and to it."""

_RESULT, _HEARD, _TURN = 0, 1, 2


class Plan:
    """The story of a run: ``entries`` in order; ``opening`` are the messages before the agent's first, None where
    they were not recorded; ``last`` is the last turn of a model. ``is_open``: something is not there, or cannot be
    read, that may have been a call."""

    def __init__(self, traces: Sequence[Trace], losses: Counter[str]) -> None:
        self.losses = losses
        self.last: Turn | None = None
        self.spans_tools = False
        self.is_open = any(trace.is_open for trace in traces)
        self._entries: list[tuple[int, int, int, Entry]] = []
        self._known = Known()
        self._pending = Pending()
        self._planned: dict[int, Planned] = {}
        self._turns: dict[Any, Turn] = {}
        self._ends: dict[int, int] = {}
        self._last_heard: dict[Any, tuple[Stored, list[Message]]] = {}
        self._transfers: list[Planned] = []
        self._agents: dict[str, list[tuple[int, str]]] = {}
        self._histories = Histories(self._known, losses)
        tools = [node.seen for trace in traces for node in trace.nodes if node.role == "tool" and node.seen is not None]
        self._spans = Counter((seen.call_id, seen.tool) for seen in tools)
        self._early: dict[tuple[str, str], Planned] = {}
        for trace in traces:
            self._read(trace)
        self.is_open |= self._histories.lacks_something
        for planned in self._transfers:
            self._hand_over(planned)
        self._entries.sort(key=lambda entry: entry[:3])

    @property
    def entries(self) -> Iterator[Entry]:
        return (entry for *_, entry in self._entries)

    @property
    def opening(self) -> list[Message] | None:
        return self._histories.opening

    def _add(self, time: int, rank: int, entry: Entry) -> None:
        self._entries.append((time, rank, len(self._entries), entry))

    # --- a trace ----------------------------------------------------------------------------------------------------

    def _read(self, trace: Trace) -> None:
        acting = [node for node in trace.nodes if _acts(node)]
        acting = acting or [node for node in trace.nodes if _answers(node)]
        _surround(acting)
        self._histories.begin()
        begun = False
        for node in acting:
            if node.is_aside:
                self.losses["asides"] += 1
                continue
            if node.role == "tool":
                self._tool(node)
            elif node.role == "handoff":
                self._record_hand_off(node)
            else:
                if not begun and self._inside(node) is None:
                    begun = True
                    for content in self._histories.open(node):
                        self._add(node.start, _HEARD, Heard(content=content))
                self._model(node)
        for node in trace.nodes:
            if node.role == "agent" and node.agent:
                self._agents.setdefault(_plain_name(node.agent), []).append((node.start, node.agent))
            outer = node.role == "agent" or (node.role == "workflow" and node.up is None)
            if outer and node.is_busy and node.first is None and not node.is_aside:
                self._close(node)

    def _inside(self, node: Node) -> Planned | None:
        return self._planned.get(id(node.inside)) if node.inside is not None else None

    def _close(self, node: Node) -> None:
        """What an agent answers, where no call of its model was recorded."""
        said = node.seen.said if node.seen is not None else None
        messages = said() if said is not None else None
        text = joined(part for message in messages or () for part in message.parts)
        if text:
            end = max(node.end, node.start)
            self._add(end, _TURN, Turn(time=end, agent=node.agent, inside=self._inside(node), content=text))

    # --- a call of a model ------------------------------------------------------------------------------------------

    def _model(self, node: Node) -> None:
        seen = node.seen
        assert seen is not None
        inside = self._inside(node)
        heard = self._messages(seen.heard, node.scope)
        if heard is not None:
            self._recall(node, inside, heard)
        said = self._messages(seen.said)
        self.is_open |= said is None and seen.said is not None
        turn = Turn(
            time=node.start,
            agent=node.agent,
            inside=inside,
            recorded=said is not None,
            latency_ms=node.latency_ms,
            tokens=seen.tokens,
            cost_usd=seen.cost_usd,
            finish=seen.finish,
        )
        if said is not None:
            self._answer(turn, node, said)
        elif seen.error or node.error:
            turn.says = False
            turn.recorded = True
        self._turns[node.scope] = self._turns[("inside", inside)] = turn
        self._add(turn.time, _TURN, turn)
        self.last = turn

    def _messages(self, messages: Messages | None, scope: Any = None) -> list[Message] | None:
        """What was said; of a history (one of ``scope``) only what the last one has not is read."""
        if messages is None:
            return None
        last = self._last_heard.get(scope)
        is_history = scope is not None and isinstance(messages, Stored)
        read = messages.after(*last) if isinstance(messages, Stored) and is_history and last else messages()
        if read is None:
            self.losses["unreadable_messages"] += 1
        elif isinstance(messages, Stored) and is_history:
            self._last_heard[scope] = (messages, read)
        return read

    def _answer(self, turn: Turn, node: Node, said: list[Message]) -> None:
        turn.content = joined(part for message in said for part in message.parts)
        for message in said:
            unread = [part for part in message.parts if isinstance(part, Unread)]
            self.losses["unread_parts"] += len(unread)
            self.is_open |= any(part.may_be_call for part in unread)
            for asked in message.asked:
                if self._adopt(turn, asked):
                    continue
                planned = Planned(name=asked.name, call_id=asked.call_id, arguments=asked.arguments, turn=turn)
                self._plan(planned, node)
                self._pending.add(
                    planned,
                    ("id", asked.call_id, asked.name),
                    ("scope", node.scope, asked.name),
                    ("inside", turn.inside, asked.name),
                )
        turn.says = turn.content != "" or not turn.calls

    def _adopt(self, turn: Turn, asked: Asked) -> bool:
        """Whether the call ran before it was asked for, as the clocks of two machines may have it: then the span that
        was told by itself, the only one of that id and tool, is its record."""
        early = self._early.get((asked.call_id, asked.name))
        if early is None or early.turn.inside is not turn.inside:
            return False
        if asked.arguments is not UNSET:
            if early.arguments is not UNSET and arguments_key(early.arguments) != arguments_key(asked.arguments):
                return False
            early.arguments = asked.arguments
        del self._early[asked.call_id, asked.name]
        early.turn.calls.remove(early)
        early.turn = turn
        turn.calls.append(early)
        return True

    def _plan(self, planned: Planned, node: Node) -> None:
        planned.agent = planned.turn.agent or node.agent
        planned.turn.calls.append(planned)
        self._known.add(planned)
        if is_transfer(planned.name):
            self._transfers.append(planned)

    def _recall(self, node: Node, inside: Planned | None, heard: list[Message]) -> None:
        """What a history tells that nothing else did."""
        found = self._histories.read(heard, node.scope, is_inside=inside is not None)
        for content in found.words:
            self._add(node.start, _HEARD, Heard(content=content))
        before = self._turns.get(node.scope) or self._turns.get(("inside", inside))
        agent = before.agent if before is not None else node.agent  # an agent that takes over is told what others did
        for message in found.unknown:
            turn = Turn(
                time=node.start,
                agent=agent,
                inside=inside,
                content=message.text,
                says=message.text != "",
                recorded=True,
                is_model=False,
            )
            self._add(node.start, _HEARD, turn)
            for asked in message.calls:
                planned = Planned(name=asked.name, call_id=asked.call_id, arguments=asked.arguments, turn=turn)
                self._plan(planned, node)
                if asked.answer is not None:
                    found.answered.append((planned, asked.answer))
        for planned, answer in found.answered:
            if planned.result is UNSET:
                planned.result = answer.result
            if not planned.spanned:
                planned.error = answer.error
            if not (planned.answered or planned.spanned):
                planned.answered = True
                self._add(node.start, _HEARD if found.unknown else _RESULT, Result(planned=planned))

    # --- a call of a tool -------------------------------------------------------------------------------------------

    def _tool(self, node: Node) -> None:
        seen = node.seen
        assert seen is not None
        self.spans_tools = True
        inside = self._inside(node)
        planned = self._asked_for(node, inside)
        if planned is None:
            planned = Planned(name=seen.tool, call_id=seen.call_id, arguments=seen.arguments, turn=_NO_TURN)
            planned.turn = self._turn_of(node, inside)
            self._plan(planned, node)
            if seen.call_id and not planned.turn.is_model and self._spans[seen.call_id, seen.tool] == 1:
                self._early[seen.call_id, seen.tool] = planned
        if planned.arguments is UNSET:
            planned.arguments = seen.arguments
        planned.spanned = True
        planned.call_id = planned.call_id or seen.call_id
        planned.agent = planned.agent or node.agent
        if seen.result is not UNSET:
            planned.result = seen.result
        planned.error = seen.error or node.error or None
        planned.latency_ms, planned.end = node.latency_ms, max(node.end, node.start)
        planned.is_busy = node.is_busy
        self._planned[id(node)] = planned
        if not planned.answered:
            planned.answered = True
            self._add(planned.end, _RESULT, Result(planned=planned))

    def _asked_for(self, node: Node, inside: Planned | None) -> Planned | None:
        """The call that a model asked for and that this is the execution of."""
        seen = node.seen
        assert seen is not None
        name = seen.tool
        found = self._pending.take(("id", seen.call_id, name)) if seen.call_id else None
        found = found or self._pending.take(("scope", node.scope, name), seen.arguments)
        return found or self._pending.take(("inside", inside, name), seen.arguments)

    def _turn_of(self, node: Node, inside: Planned | None) -> Turn:
        """The turn of a call that no recorded answer lists: that of the model's last answer if that is not recorded,
        or one together with the calls that ran at the same time."""
        turn = self._turns.get(node.scope) or self._turns.get(("inside", inside))
        if turn is not None and not turn.recorded and turn.is_model:
            return turn
        together = self._turns.get(("alone", node.scope))
        if together is not None and node.start < self._ends[id(together)]:
            self._ends[id(together)] = max(self._ends[id(together)], node.end)
            return together
        agent = node.agent or (turn.agent if turn is not None else "")
        alone = Turn(time=node.start, agent=agent, inside=inside, says=False, is_model=False)
        self._turns[("alone", node.scope)] = alone
        self._ends[id(alone)] = node.end
        self._add(node.start, _TURN, alone)
        return alone

    # --- hand-offs --------------------------------------------------------------------------------------------------

    def _record_hand_off(self, node: Node) -> None:
        """A span of its own says that control is given to another agent."""
        seen = node.seen
        assert seen is not None
        for planned in reversed(self._transfers[-MOST_AROUND:]):
            if not planned.handed and _plain_name(planned.name).endswith(_plain_name(seen.receiver)):
                planned.handed = True
                break
        self._add(node.start, _RESULT, HandOff(receiver=seen.receiver, agent=node.agent, inside=self._inside(node)))

    def _hand_over(self, planned: Planned) -> None:
        """A transfer is a hand-off where its arguments name the receiver, or its name is that of an agent which then
        acts."""
        if planned.handed or isinstance(planned.error, str) or not planned.agent:
            return
        time = planned.end or planned.turn.time
        receiver = _named_receiver(planned)
        if not receiver:
            _, _, name = planned.name.partition("_to_")
            later = (agent for start, agent in self._agents.get(_plain_name(name), ()) if start >= planned.turn.time)
            receiver = next(later, "")
        if receiver and receiver != planned.agent:
            planned.handed = True
            entry = HandOff(receiver=receiver, agent=planned.agent, inside=planned.turn.inside)
            self._add(time, _RESULT if planned.spanned else _TURN, entry)


_NO_TURN: Final = Turn(time=0)


def _acts(node: Node) -> bool:
    """A call of a model or tool, a hand-off, or an agent of which nothing else tells what it did."""
    match node.role:
        case "model" | "tool" | "handoff":
            return True
        case "agent":
            return not node.is_busy
        case _:
            return False


def _answers(node: Node) -> bool:
    """Something around calls of models, of which only the outermost is there."""
    return node.role == "workflow" and node.up is None and node.seen is not None and node.seen.said is not None


def _surround(acting: Sequence[Node]) -> None:
    """Let what is around the calls of models say what was said to the first and by the last of them, where they do
    not say it themselves."""
    for node in acting:
        if node.role in ("tool", "handoff"):
            continue
        around = node.up
        for _ in range(MOST_AROUND):
            if around is None or around.role == "tool":
                break
            around.first = around.first or node
            around.last = node
            around = around.up
    for node in acting:
        around = node.up
        for _ in range(MOST_AROUND):
            if around is None or around.role == "tool" or node.seen is None or around.seen is None:
                break
            if around.last is node and node.seen.said is None and not node.seen.error:
                node.seen.said = around.seen.said
            around = around.up


def _named_receiver(planned: Planned) -> str:
    if planned.name not in ("transfer_to_agent", "transfer_to_other_agent") or planned.arguments is UNSET:
        return ""
    arguments: Json = arguments_of(planned.arguments)
    named = arguments.get("agent_name") if isinstance(arguments, dict) else None
    return named if isinstance(named, str) else ""


def _plain_name(name: str) -> str:
    """A name as tools are called after it: ``Billing Agent`` is ``billing_agent``."""
    return "".join([sign if sign.isalnum() else "_" for sign in name.lower()])
