"""Claude Code sessions, and the stream of its SDK: JSON Lines, an event a line.

One answer of the model is split over several lines with one ``message.id``. What sub-agents did stands in the same file
(``isSidechain``) or in one of its own (``agentId``), and belongs inside the call that started them. After a compaction
earlier lines come again. A session does not say how it ended; the SDK's ``result`` does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET

from oloproof.errors import Problem
from oloproof.importers.blocks import SHOWN, THINKING, blocks_of, is_call, is_result, tell_result, tokens_of, unread
from oloproof.importers.builder import Builder
from oloproof.importers.documents import documents
from oloproof.importers.foreign import object_of, text_id
from oloproof.importers.format import Confidence, Importer, Item, Lost, Run
from oloproof.importers.head import Head
from oloproof.importers.pairing import Call
from oloproof.importers.source import Source
from oloproof.model.case import system_error
from oloproof.model.values import Json

MAIN: Final = "main"
"""What the agent of the session is called where it has sub-agents."""
STARTERS: Final = ("Task", "Agent")
"""The tools that start a sub-agent."""
CUT_OFF: Final = ("error_max_turns", "error_max_budget_usd")
_CONTEXT: Final = ("cwd", "version", "gitBranch")

LOSSES: Final[Mapping[str, str]] = {
    "no_events": "lines that are no event of a session",
    "bookkeeping": "events that are no step: summaries, snapshots, progress",
    "replayed": "lines and calls that were there already: counted once",
    "reasoning": "the model's thinking: it is no step",
    "other_content": "parts of messages that are neither text nor a call nor a result",
    "unlinked_subagents": "sub-agents of which no call says that it started them: left out, and the run is truncated",
}

Event = dict[str, Any]


def sniff(head: Head) -> Confidence | None:
    return Confidence.CERTAIN if any(map(_is_event, head.values)) else None


def _is_event(value: Json) -> bool:
    match value:
        case {"type": str(), "sessionId": str(), "uuid": str()} | {"type": "summary", "leafUuid": str()}:
            return True
        case {"type": "system", "subtype": "init", "session_id": str()}:
            return True
        case {"type": "user" | "assistant", "session_id": str(), "message": dict()}:
            return True
        case _:
            return False


def read(sources: Sequence[Source]) -> Iterator[Item]:
    """Files of sessions and of their sub-agents. A session may be spread over several; it is a run, named after the
    first of its files."""
    sessions: dict[str, _Session] = {}
    for source in sources:
        name = ""
        for document in documents(source):
            match document:
                case Problem():
                    yield document
                case _ if not isinstance(event := document.value, dict) or not isinstance(event.get("type"), str):
                    yield Lost("no_events", source.name, document.line)
                case _:
                    name = text_id(event.get("sessionId") or event.get("session_id")) or name
                    sessions.setdefault(name, _Session(name)).add(event, source.name)
    for session in sessions.values():
        yield from session.items()


class _Session:
    """The events of a session as they are read, those of its sub-agents' own files apart."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.file = ""
        self.events: list[Event] = []
        self.subagents: dict[str, list[Event]] = {}
        self.losses: Counter[str] = Counter()
        self.result: Event = {}
        self._seen: set[str] = set()
        self._files: dict[str, str] = {}

    def add(self, event: Event, file: str) -> None:
        """One more event."""
        if event["type"] == "result":
            self.result = event
        elif event["type"] not in ("user", "assistant"):
            may_act = any(object_of(part).get("type") not in (*SHOWN, *THINKING) for part in _parts(event))
            self.losses["unknown_kinds" if may_act else "bookkeeping"] += 1
        elif (uuid := text_id(event.get("uuid"))) in self._seen:
            self.losses["replayed"] += 1
        else:
            if uuid:
                self._seen.add(uuid)
            agent = text_id(event.get("agentId"))
            if agent:
                self._files.setdefault(agent, file)
                self.subagents.setdefault(agent, []).append(event)
            else:
                self.file = self.file or file
                self.events.append(event)

    def items(self) -> Iterator[Item]:
        """The session's run; its sub-agents as runs of their own where the session itself is not there."""
        if self.events:
            yield _Teller(self).run(self.file)
            return
        for agent, events in self.subagents.items():
            alone = _Session(self.name)
            alone.events = [{**event, "isSidechain": False} for event in events]
            yield _Teller(alone).run(self._files[agent])


class _Teller:
    """Tells a session step by step."""

    def __init__(self, session: _Session) -> None:
        self._session = session
        self._builder = Builder()
        self._builder.losses.update(session.losses)
        self._subagents = dict(session.subagents)
        self._calls: dict[str, list[tuple[Call, Json]]] = {}
        self._started: list[tuple[Call, str, list[Event]]] = []
        self._starters: list[tuple[Call, str]] = []
        self._message = ""
        self._tokens: int | None = None
        self._counted: set[str] = set()
        self._by_call = {
            text_id(part.get("tool_use_id")): text_id(object_of(event.get("toolUseResult")).get("agentId"))
            for event in session.events
            for part in _parts(event)
            if isinstance(part, dict) and part.get("type") == "tool_result"
        }
        nested = any(event.get("isSidechain") or event.get("parent_tool_use_id") for event in session.events)
        self._main = MAIN if nested or session.subagents else None
        self._usage = {_message_id(event): object_of(event.get("message")).get("usage") for event in _answers(session)}
        self._parts_called = Counter(
            _message_id(event) for event in _answers(session) for part in _parts(event) if is_call(part)
        )

    def run(self, file: str) -> Run:
        """The session as a run."""
        session, builder = self._session, self._builder
        self._tell(session.events, None, self._main)
        builder.losses["unlinked_subagents"] += len(self._subagents)
        ended = session.result
        reason = ended.get("terminal_reason")
        cut_off = ended.get("subtype") in CUT_OFF or reason == "max_turns" or str(reason).startswith("aborted")
        failed = ended.get("is_error") is True or str(ended.get("subtype")).startswith("error")
        broken = failed and not cut_off
        answer = ended["result"] if isinstance(ended.get("result"), str) else builder.answer
        facts = {"session_id": session.name, **_context(session.events)}
        facts |= {key: ended.get(key) for key in ("subtype", "terminal_reason", "num_turns", "total_cost_usd")}
        return Run(
            file=file,
            output=UNSET if answer is None or broken else {"answer": answer},
            error=system_error(str(answer or ended.get("subtype"))) if broken else None,
            trajectory=builder.trajectory(
                truncated=cut_off or broken or builder.ends_on_open_call or builder.losses["unlinked_subagents"] > 0,
                terminal_status="unknown" if not ended else "failure" if failed else "success",
            ),
            input=_opening(session.events),
            metadata={key: fact for key, fact in facts.items() if fact not in (None, "")},
            of_case=(),
            losses=builder.losses,
            unanswered=len(builder.unanswered),
            origin={"result": ended, "events": session.events},
        )

    def _tell(self, events: Sequence[Event], inside: Call | None, agent: str | None) -> None:
        for event in events:
            if self._started and _message_id(event) != self._message:
                self._tell_started()
            within, who = (inside, agent) if inside is not None else self._place(event, agent)
            if within is None and event.get("isSidechain"):
                self._builder.losses["unlinked_subagents"] += 1
            elif event["type"] == "assistant":
                self._answer(event, within, who)
            else:
                self._hear(event, within, who)
        self._tell_started()

    def _tell_started(self) -> None:
        """What the sub-agents did that the last message started, before anything else goes on."""
        started, self._started = self._started, []
        for call, agent, events in started:
            self._tell(events, call, agent)

    def _place(self, event: Event, agent: str | None) -> tuple[Call | None, str | None]:
        """Inside which call an event of the session's own file is, and whose it is."""
        parent = self._calls.get(text_id(event.get("parent_tool_use_id")))
        if parent:
            return parent[-1][0], _subagent(parent[-1][1])
        if event.get("isSidechain"):
            while self._starters and self._starters[-1][0].answered:
                self._starters.pop()
            if self._starters:
                return self._starters[-1]
        return None, agent

    def _answer(self, event: Event, inside: Call | None, agent: str | None) -> None:
        builder, message_id = self._builder, _message_id(event)
        if not message_id or message_id != self._message:
            builder.turn()
            told = tokens_of(self._usage.get(message_id))
            self._tokens = 0 if told is not None and message_id in self._counted else told
            self._counted.add(message_id)
        self._message = message_id
        for part in _parts(event):
            match part:
                case {"type": "text", "text": str(text)}:
                    said = {"role": "assistant", "content": text}
                    builder.say(said, agent=agent, inside=inside, tokens=self._untold())
                case _ if is_call(part):
                    self._call(part, message_id, inside, agent)
                case {"type": str(kind)} if kind in THINKING:
                    builder.losses["reasoning"] += 1
                case _ if is_result(part):
                    tell_result(builder, part, inside)
                case _:
                    unread(builder, part)

    def _untold(self) -> int | None:
        """The tokens of the answer with its first step, none with the others."""
        tokens, self._tokens = self._tokens, None if self._tokens is None else 0
        return tokens

    def _call(self, part: dict[str, Any], message_id: str, inside: Call | None, agent: str | None) -> None:
        """Take a call, unless it is one that was there before."""
        builder, call_id, raw = self._builder, text_id(part.get("id")), part.get("input")
        known = self._calls.setdefault(call_id, [])
        if call_id and any(call.name == part.get("name") and asked == raw for call, asked in known):
            builder.losses["replayed"] += 1
            return
        call = builder.call(
            text_id(part.get("name")),
            builder.arguments(raw),
            call_id=call_id,
            parallel=self._parts_called[message_id] > 1,
            agent=agent,
            inside=inside,
            tokens=self._untold(),
        )
        known.append((call, raw))
        if call.name in STARTERS:
            self._starters.append((call, _subagent(raw)))
            name = self._by_call.get(call_id) or self._asked(object_of(raw).get("prompt"))
            if name in self._subagents:
                self._started.append((call, _subagent(raw), self._subagents.pop(name)))

    def _asked(self, prompt: Json) -> str:
        """The sub-agent whose first message is the prompt."""
        for name, events in self._subagents.items():
            if isinstance(prompt, str) and prompt == _opening(events):
                return name
        return ""

    def _hear(self, event: Event, inside: Call | None, agent: str | None) -> None:
        builder = self._builder
        for part in _parts(event):
            match part:
                case _ if is_result(part):
                    tell_result(builder, part, inside)
                case {"type": "text", "text": str(text)}:
                    builder.hear({"role": "user", "content": text}, inside=inside)
                case _:
                    unread(builder, part)


def _answers(session: _Session) -> Iterator[Event]:
    for events in (session.events, *session.subagents.values()):
        yield from (
            event for event in events if event["type"] == "assistant" and isinstance(event.get("message"), dict)
        )


def _parts(event: Event) -> list[Any]:
    return blocks_of(event.get("message"))


def _message_id(event: Event) -> str:
    return text_id(object_of(event.get("message")).get("id"))


def _subagent(raw: Json) -> str:
    """What a call that starts a sub-agent calls it."""
    return text_id(object_of(raw).get("subagent_type")) or "subagent"


def _opening(events: Sequence[Event]) -> Json:
    """What the user asked first; UNSET where it is not there."""
    for event in events:
        if event["type"] == "user":
            texts = [part["text"] for part in _parts(event) if isinstance(part, dict) and part.get("type") == "text"]
            return "".join(map(text_id, texts)) if texts else UNSET
    return UNSET


def _context(events: Sequence[Event]) -> dict[str, Json]:
    return {key: next((event[key] for event in events if event.get(key)), None) for key in _CONTEXT}


IMPORTER: Final = Importer(
    name="claude-code",
    about="Claude Code session JSONL, its sub-agents' files, and the stream of its SDK",
    sniff=sniff,
    read=read,
    losses=LOSSES,
)
