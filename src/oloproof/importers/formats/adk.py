"""Google ADK: events of a session, eval sets, and the older test files.

An event is one agent's: what it says, the functions that it calls together, or their responses, merged. Ids of calls
may be missing. A transfer is a call, and then control is with the agent that it names. What an eval set holds is both a
run and what is expected of one: its calls become ``expected.tools``. Keys are in snake case or in camel case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET

from oloproof.errors import Problem
from oloproof.importers import codes
from oloproof.importers.builder import Builder
from oloproof.importers.documents import Document, documents
from oloproof.importers.foreign import list_of, object_of, text_id, without_nulls
from oloproof.importers.format import Confidence, Importer, Item, Run
from oloproof.importers.head import Head
from oloproof.importers.source import Source
from oloproof.model.case import system_error
from oloproof.model.values import Json

USER: Final = "user"
TRANSFERS: Final = ("transfer_to_agent", "transfer_to_other_agent")
MAX_TOKENS: Final = "MAX_TOKENS"
_NO_STEP: Final = {"inline_data", "file_data", "executable_code", "code_execution_result"}
"""What a part may be that is told as no step."""
_BESIDE: Final = {"thought", "thought_signature", "video_metadata", "media_resolution", "part_metadata", "text"}
_CAMEL = re.compile(r"(?<=[a-z0-9])([A-Z])")

LOSSES: Final[Mapping[str, str]] = {
    "partial_events": "pieces of a streamed answer: the whole one follows",
    "reasoning": "the model's thoughts: they are no step",
    "other_content": "parts that are neither text nor a call nor a response",
    "no_events": "entries that are no event",
}

Fields = dict[str, Any]


def sniff(head: Head) -> Confidence | None:
    match _snake(object_of(head.item)):
        case {"eval_set_id": _} | {"eval_cases": list()}:
            return Confidence.CERTAIN
        case {"query": str(), "expected_tool_use": list()}:
            return Confidence.CERTAIN
        case {"invocation_id": _, "author": str()}:
            return Confidence.CERTAIN
        case {"events": [event, *_]} if {"author", "content"} <= object_of(event).keys():
            return Confidence.CERTAIN
        case _:
            return None


def read(sources: Sequence[Source]) -> Iterator[Item]:
    """Files of a session, of events (an array, or JSON Lines), of an eval set, or of an older test."""
    for source in sources:
        events: list[Json] = []
        for document in documents(source):
            match document:
                case Problem():
                    yield document
                case Document(line, {"author": _} as value) if line:
                    events.append(value)
                case Document(line, value):
                    yield from _runs(value, source.name, line)
        if events:
            yield _session({"events": events}, source.name, 0)


def _runs(value: Json, file: str, line: int) -> Iterator[Item]:
    match value:
        case [{"query": _}, *_]:
            yield from (_test(object_of(item), file) for item in value)
        case [{"author": _}, *_]:
            yield _session({"events": value}, file, line)
        case {"events": list()}:
            yield _session(value, file, line)
        case _ if cases := list_of(_snake(object_of(value)).get("eval_cases")):
            yield from (_eval_case(_snake(object_of(case)), file) for case in cases)
        case _:
            yield Problem(codes.NOT_OF_THE_FORMAT, "neither a session nor an eval set", file=file, line=line)


def _snake(fields: Mapping[str, Any]) -> Fields:
    """An object of ADK's own with its keys in snake case. What users' functions are given and return is left alone."""
    return {_CAMEL.sub(r"_\1", key).lower(): value for key, value in fields.items()}


# --- sessions ------------------------------------------------------------------------------------------------------


def _session(session: Mapping[str, Any], file: str, line: int) -> Run:
    whole = _snake(session)
    builder = Builder()
    last: Fields = {}
    for event in whole["events"]:
        if isinstance(event, dict) and isinstance(event.get("author"), str):
            last = _snake(event)
            _event(last, builder)
        else:
            builder.losses["unknown_kinds" if isinstance(event, dict) else "no_events"] += 1
    cut_off = MAX_TOKENS in (last.get("finish_reason"), last.get("error_code"))
    failed = None if cut_off else last.get("error_code")
    facts = {key: whole.get(key) for key in ("id", "app_name", "user_id")}
    message = ": ".join(text_id(part) for part in (failed, last.get("error_message")) if part)
    return Run(
        file=file,
        line=line,
        case=text_id(whole.get("id")) or None,
        output=UNSET if failed else builder.output,
        error=system_error(message) if failed else None,
        trajectory=builder.trajectory(truncated=cut_off or bool(failed) or builder.ends_on_open_call),
        input=_asked(whole["events"]),
        metadata=without_nulls(facts),
        of_case=(),
        losses=builder.losses,
        unanswered=len(builder.unanswered),
        origin=session,
    )


def _event(event: Fields, builder: Builder) -> None:
    """The steps of an event."""
    if event.get("partial") is True:
        builder.losses["partial_events"] += 1
        return
    author = text_id(event.get("author"))
    parts = _parts(event.get("content"))
    calls = [call for part in parts if (call := _member(part, "function_call")) is not None]
    usage = _snake(object_of(event.get("usage_metadata")))
    tokens = usage.get("total_token_count")
    if author != USER and not any("function_response" in part for part in parts):
        builder.turn()
    to_agent = text_id(_snake(object_of(event.get("actions"))).get("transfer_to_agent"))
    for part in parts:
        text, call, response = part.get("text"), _member(part, "function_call"), _member(part, "function_response")
        if response is not None:
            to_agent = _response(response, builder) or to_agent
        elif call is not None:
            _call(call, builder, agent=author, parallel=len(calls) > 1, tokens=tokens)
        elif part.get("thought"):
            builder.losses["reasoning"] += 1
            continue
        elif not isinstance(text, str):
            is_known = part.keys() <= _NO_STEP | _BESIDE
            builder.losses["other_content" if is_known else "unknown_kinds"] += 1
            continue
        elif author == USER:
            builder.hear({"role": USER, "content": text})
        else:
            builder.say({"role": "model", "content": text}, agent=author, tokens=tokens)
        tokens = None if tokens is None else 0  # all of the event's are told with its first step
    if to_agent and author != to_agent and not calls:
        builder.hand_off(to_agent, agent=author)


def _call(call: Fields, builder: Builder, **facts: Any) -> None:
    arguments = builder.arguments(call.get("args"))
    builder.call(text_id(call.get("name")), arguments, call_id=text_id(call.get("id")), **facts)


def _response(response: Fields, builder: Builder) -> str:
    """Take a function's response. The agent that it transferred control to, "" where it did not."""
    value = response.get("response")
    error = value.get("error") if isinstance(value, dict) else None
    failed = error not in (None, "", False)
    name = builder.result(
        UNSET if failed else value,
        error=(error if isinstance(error, str) else text_id(error)) if failed else None,
        call_id=text_id(response.get("id")),
        name=text_id(response.get("name")) or None,
    )
    if name not in TRANSFERS or failed:
        return ""
    asked = next(
        (step for step in reversed(builder.steps) if step.kind == "tool_call" and step.tool_name == name), None
    )
    return text_id(object_of(None if asked is None else asked.arguments).get("agent_name"))


def _parts(content: Json) -> list[Fields]:
    """A content's parts, without the members that are null."""
    parts = (object_of(part) for part in list_of(object_of(content).get("parts")))
    return [{key: value for key, value in _snake(part).items() if value is not None} for part in parts]


def _member(part: Fields, key: str) -> Fields | None:
    value = part.get(key)
    return _snake(value) if isinstance(value, dict) else None


def _text(content: Json) -> Json:
    """The text of a content; UNSET where there is none."""
    texts = [part["text"] for part in _parts(content) if isinstance(part.get("text"), str) and not part.get("thought")]
    return "".join(texts) if texts else UNSET


def _asked(events: Sequence[Json]) -> Json:
    asked = (_text(event.get("content")) for event in events if isinstance(event, dict) and event.get("author") == USER)
    return next((text for text in asked if text is not UNSET), UNSET)


# --- eval sets and tests -------------------------------------------------------------------------------------------


def _eval_case(case: Fields, file: str) -> Run:
    builder = Builder()
    asked: list[Json] = []
    for turn in map(object_of, list_of(case.get("conversation"))):
        invocation = _snake(turn)
        text = _text(invocation.get("user_content"))
        asked.append(None if text is UNSET else text)
        builder.hear({"role": USER, "content": asked[-1]})
        _intermediate(_snake(object_of(invocation.get("intermediate_data"))), builder)
        answer = _text(invocation.get("final_response"))
        if answer is not UNSET:
            builder.turn()
            speaker = next((step.agent for step in reversed(builder.steps) if step.agent), None)
            builder.say({"role": "model", "content": answer}, agent=speaker)
    name = text_id(case.get("eval_id"))
    return _reference(builder, name or None, asked[0] if len(asked) == 1 else asked, file, case)


def _intermediate(data: Fields, builder: Builder) -> None:
    """What happened between question and answer: events, or calls and responses apart."""
    for event in map(object_of, list_of(data.get("invocation_events"))):
        _event(_snake(event), builder)
    for call in map(object_of, list_of(data.get("tool_uses"))):
        builder.turn()
        _call(_snake(call), builder)
    for response in map(object_of, list_of(data.get("tool_responses"))):
        _response(_snake(response), builder)


def _test(test: Fields, file: str) -> Run:
    builder = Builder()
    builder.hear({"role": USER, "content": test.get("query")})
    for use in map(object_of, list_of(test.get("expected_tool_use"))):
        builder.turn()
        builder.call(text_id(use.get("tool_name")), builder.arguments(use.get("tool_input")))
    if test.get("reference") is not None:
        builder.turn()
        builder.say({"role": "model", "content": test["reference"]})
    return _reference(builder, None, test.get("query"), file, test)


def _reference(builder: Builder, case: str | None, asked: Json, file: str, origin: Json) -> Run:
    """A run that also says what is expected of one."""
    return Run(
        file=file,
        case=case,
        output=builder.output,
        trajectory=builder.trajectory(errors_recorded=False),
        input=asked,
        expected={"tools": list(_tools(builder)), **object_of(builder.output)},
        losses=builder.losses,
        unanswered=len(builder.unanswered),
        origin=origin,
    )


def _tools(builder: Builder) -> Iterable[Json]:
    for step in builder.steps:
        if step.kind == "tool_call":
            yield {"tool": step.tool_name, "arguments": step.arguments} if step.arguments else step.tool_name


IMPORTER: Final = Importer(
    name="adk",
    about="Google ADK sessions and events, eval sets and tests",
    sniff=sniff,
    read=read,
    losses=LOSSES,
)
