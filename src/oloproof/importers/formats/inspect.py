"""Inspect AI logs: ``.json``, and ``.eval``, which is an archive with a file for each sample.

A sample's messages are the main conversation as it stood at the end. What sub-agents called, and what was compacted
away, stands in its events alone: those calls are put where they happened. Long contents are attachments, named by a
digest. Limits and errors are recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET

from oloproof.errors import Problem
from oloproof.importers import codes
from oloproof.importers.archive import MAGIC, Archive, ArchiveError, archive
from oloproof.importers.builder import Builder
from oloproof.importers.documents import NotJson, documents, read_json
from oloproof.importers.foreign import joined_text, list_of, object_of, text_id, without_nulls
from oloproof.importers.format import Confidence, Importer, Item, Run
from oloproof.importers.head import Head
from oloproof.importers.pairing import Call
from oloproof.importers.source import Source
from oloproof.model.case import system_error
from oloproof.model.values import TAG, Json

ATTACHMENT: Final = "attachment://"
_UNREAD: Final = ("text", "reasoning", "image", "audio", "video", "data", "document")
TRANSFER: Final = "transfer_to_"
CUT_OFF: Final = ("max_tokens", "model_length")

LOSSES: Final[Mapping[str, str]] = {
    "system_messages": "system prompts: they are no step of the agent",
    "unread_blocks": "blocks of contents that are no text: reasoning, images, data",
    "missing_attachments": "contents whose attachment is not in the log",
    "unplaced_calls": "calls that stand in the events alone: put where they happened, without the agent's words",
}

Fields = dict[str, Any]


def sniff(head: Head) -> Confidence | None:
    if head.data.startswith(MAGIC):
        known = b"header.json" in head.data or b"_journal/start.json" in head.data
        return Confidence.CERTAIN if known or head.file.endswith(".eval") else None
    match head.value:
        case {"version": int(), "status": str(), "eval": dict()} | {"version": int(), "eval": {"task": _}}:
            return Confidence.CERTAIN
        case _:
            return None


def read(sources: Sequence[Source]) -> Iterator[Item]:
    """Logs of any number of samples. A case is a sample, a trial an epoch of it."""
    for source in sources:
        nothing = True
        for item in _archived(source) if source.head().startswith(MAGIC) else _plain(source):
            nothing = False
            yield item
        if nothing:
            hint = "log the samples (log_samples) and import that log"
            yield Problem(codes.NO_RUN, "the log holds no sample", hint, file=source.name)


def _plain(source: Source) -> Iterator[Item]:
    for document in documents(source):
        match document:
            case Problem():
                yield document
            case _ if isinstance(log := document.value, dict) and isinstance(log.get("eval"), dict):
                for sample in list_of(log.get("samples")):
                    yield _run(sample, log["eval"], source.name)
            case _:
                yield Problem(codes.NOT_OF_THE_FORMAT, "no log of Inspect", file=source.name, line=document.line)


def _archived(source: Source) -> Iterator[Item]:
    try:
        with archive(source) as opened:
            header = next((name for name in ("header.json", "_journal/start.json") if name in opened.names), None)
            whole = object_of(None if header is None else _member(opened, header))
            for name in opened.names:
                if name.startswith("samples/") and name.endswith(".json"):
                    yield _run(_member(opened, name), object_of(whole.get("eval")), source.name)
    except ArchiveError as error:
        yield Problem(codes.NOT_JSON, str(error), error.hint, file=source.name)


def _member(opened: Archive, name: str) -> Json:
    try:
        return read_json(opened.read(name))
    except NotJson as error:
        raise ArchiveError(f"{name} is not JSON: {error}") from error


# --- a sample ------------------------------------------------------------------------------------------------------


def _run(value: Json, evaluation: Fields, file: str) -> Item:
    if not isinstance(value, dict):
        return Problem(codes.NOT_OF_THE_FORMAT, "a sample is no object", file=file)
    builder = Builder()
    attachments = object_of(value.get("attachments"))
    sample = object_of(_resolved(value, attachments, builder)) if attachments else value
    messages = [object_of(message) for message in list_of(sample.get("messages"))]
    _Teller(builder, sample).tell(messages)
    limit, error = object_of(sample.get("limit")), sample.get("error")
    output = object_of(sample.get("output"))
    stopped = object_of(next(iter(list_of(output.get("choices"))), None)).get("stop_reason")
    said = text_id(object_of(error).get("message") or error) if error else ""
    truncated = bool(limit) or bool(error) or stopped in CUT_OFF or builder.ends_on_open_call
    epoch = sample.get("epoch")
    return Run(
        file=file,
        case=text_id(sample.get("id")) or None,
        trial=epoch if type(epoch) is int and epoch >= 1 else None,
        output=UNSET if said else builder.output,
        error=system_error(said) if said else None,
        trajectory=builder.trajectory(truncated=truncated),
        input=sample.get("input", UNSET),
        expected={"target": sample["target"]} if sample.get("target") is not None else None,
        metadata=_facts(sample, evaluation, limit),
        of_case=(*object_of(sample.get("metadata")), "task"),
        losses=builder.losses,
        unanswered=len(builder.unanswered),
        origin=sample,
    )


def _facts(sample: Fields, evaluation: Fields, limit: Fields) -> Fields:
    """The sample's metadata, and its scores by scorer."""
    scores = {name: object_of(score).get("value") for name, score in object_of(sample.get("scores")).items()}
    facts = {"task": evaluation.get("task"), "model": evaluation.get("model"), "limit": limit.get("type")}
    told = without_nulls(facts)
    return {**object_of(sample.get("metadata")), **told, **({"scores": scores} if scores else {})}


def _resolved(value: Json, attachments: Fields, builder: Builder) -> Json:
    """The value with every attachment in the place of its name."""
    if isinstance(value, str) and value.startswith(ATTACHMENT):
        digest = value.removeprefix(ATTACHMENT)
        if digest not in attachments:
            builder.losses["missing_attachments"] += 1
        return attachments.get(digest, value)
    if isinstance(value, list):
        return [_resolved(item, attachments, builder) for item in value]
    if isinstance(value, dict):
        return {key: _resolved(item, attachments, builder) for key, item in value.items() if key != "attachments"}
    return value


class _Teller:
    """Tells a sample by its messages, with the calls between them that only the events know."""

    def __init__(self, builder: Builder, sample: Fields) -> None:
        self._builder = builder
        self._events = list(_tool_events(list_of(sample.get("events")), None))
        self._next = 0
        self._told: dict[str, Call] = {}
        messages = [object_of(message) for message in list_of(sample.get("messages"))]
        self._known = {text_id(call.get("id")) for message in messages for call in _calls(message)}
        self._known |= {text_id(message.get("tool_call_id")) for message in messages}
        events = map(object_of, list_of(sample.get("events")))
        builder.losses["unknown_kinds"] += sum("function" in each and each.get("event") != "tool" for each in events)
        self._agents = {text_id(event.get("id")): text_id(event.get("agent")) for event, _ in self._events}

    def tell(self, messages: Sequence[Fields]) -> None:
        """All of it."""
        for message in messages:
            calls_alone = message.get("role") != "assistant" and any(_calls(message))
            self._builder.losses["unknown_kinds"] += calls_alone
            match message.get("role"):
                case "system":
                    self._builder.losses["system_messages"] += 1
                case "assistant":
                    self._answer(message)
                case "tool":
                    self._result(message)
                case role:
                    self._builder.losses["unknown_kinds"] += role != "user"
                    self._builder.hear({"role": text_id(role), "content": self._content(message)})
        self._tell_events("")

    def _answer(self, message: Fields) -> None:
        builder = self._builder
        calls = list(_calls(message))
        for call in calls[:1]:
            self._tell_events(text_id(call.get("id")))
        builder.turn()
        content = self._content(message)
        if content or not calls:
            builder.say({"role": "assistant", "content": content})
        for call in calls:
            arguments = builder.arguments(call.get("arguments"))
            if call.get("parse_error"):  # what is there in their place is not what the model wrote
                builder.losses["unparsable_arguments"] += 1
                arguments = {TAG: text_id(call["parse_error"])}
            call_id = text_id(call.get("id"))
            name = text_id(call.get("function"))
            self._told[call_id] = builder.call(name, arguments, call_id=call_id, parallel=len(calls) > 1)

    def _result(self, message: Fields) -> None:
        error = message.get("error")
        call_id = text_id(message.get("tool_call_id"))
        self._tell_events(call_id)
        name = self._builder.result(
            UNSET if error else self._content(message),
            error=_error_text(error),
            call_id=call_id,
            name=text_id(message.get("function")) or None,
        )
        if name.startswith(TRANSFER) and not error:
            self._builder.hand_off(self._agents.get(call_id) or name.removeprefix(TRANSFER))

    def _tell_events(self, until: str) -> None:
        """The calls that no message has, up to the event of the call ``until`` ("": to the end)."""
        events = self._events
        if until and until not in self._agents:
            return
        while self._next < len(events):
            event, parent = events[self._next]
            call_id = text_id(event.get("id"))
            if call_id == until:
                return
            self._next += 1
            if call_id not in self._known:
                self._tell_event(event, call_id, parent)

    def _tell_event(self, event: Fields, call_id: str, parent: str | None) -> None:
        builder, error = self._builder, event.get("error")
        builder.losses["unplaced_calls"] += 1
        builder.turn()
        inside = None if parent is None else self._told.get(parent)
        arguments = builder.arguments(event.get("arguments"))
        call = builder.call(text_id(event.get("function")), arguments, call_id=call_id, inside=inside)
        self._told[call_id] = call
        if error or event.get("result") is not None:
            result = UNSET if error else joined_text(event.get("result"))
            builder.result(result, error=_error_text(error), call=call, inside=inside)

    def _content(self, message: Fields) -> Json:
        """A message's text. What is no text in it is counted."""
        content = message.get("content")
        texts = [block for block in list_of(content) if object_of(block).get("type") == "text"]
        unknown = sum(_kind(block) not in _UNREAD for block in list_of(content))
        self._builder.losses["unknown_kinds"] += unknown
        self._builder.losses["unread_blocks"] += len(list_of(content)) - len(texts) - unknown
        return joined_text(texts) if texts else "" if isinstance(content, list) else content


def _kind(block: Json) -> str:
    return "text" if isinstance(block, str) else text_id(object_of(block).get("type"))


def _calls(message: Fields) -> Iterator[Fields]:
    for call in list_of(message.get("tool_calls")):
        if isinstance(call, dict):
            yield call


def _error_text(error: Json) -> str | None:
    if not error:
        return None
    match error:
        case {"type": str(kind), "message": str(message)}:
            return f"{kind}: {message}"
        case _:
            return text_id(object_of(error).get("message") or error)


def _tool_events(events: Sequence[Json], parent: str | None) -> Iterator[tuple[Fields, str | None]]:
    """The calls of tools in the order in which they began, each with the call inside which it was made.

    Older logs nest the events of a call in it; newer ones say in which span an event is, and which span a call opened.
    """
    spans: dict[str, str] = {}
    opened = {
        text_id(event.get("agent_span_id")): text_id(event.get("id"))
        for event in map(object_of, events)
        if event.get("event") == "tool" and event.get("agent_span_id")
    }
    for event in map(object_of, events):
        if event.get("event") == "span_begin":
            spans[text_id(event.get("id"))] = text_id(event.get("parent_id"))
        elif event.get("event") == "tool":
            yield event, _enclosing(text_id(event.get("span_id")), spans, opened) or parent
            yield from _tool_events(list_of(event.get("events")), text_id(event.get("id")))


def _enclosing(span: str, spans: Mapping[str, str], opened: Mapping[str, str]) -> str | None:
    """The call that opened the span or one around it."""
    for _ in range(len(spans) + 1):
        if not span or span in opened:
            return opened.get(span)
        span = spans.get(span, "")
    return None


IMPORTER: Final = Importer(
    name="inspect",
    about="Inspect AI logs, .json and .eval",
    sniff=sniff,
    read=read,
    losses=LOSSES,
)
