"""Items of OpenAI's Responses API: the input of a request, the output of a response, or both.

A call and its result are items of their own, paired by ``call_id`` (``id`` names the item); tools that OpenAI runs, and
those of MCP servers, have both in one item. Nothing groups the items of one response in a list: what the model called
before anything came back, it called together. New item types appear often; one that is not known here is a step
nobody looks into.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET

from oloproof.importers.builder import Builder
from oloproof.importers.conversations import (
    Conversation,
    MessageError,
    certain_where,
    own_facts,
    read_conversations,
    refuse_blocks,
    refuse_tool_calls,
)
from oloproof.importers.foreign import joined_text, kind_of, list_of, object_of, text_id
from oloproof.importers.format import Confidence, Importer, Item, Run
from oloproof.importers.head import Head
from oloproof.importers.response_items import ANSWERED_LATER, KNOWN, OUTPUTS, TEXTS, UNFINISHED, asked_of, is_known
from oloproof.importers.source import Source
from oloproof.model.case import system_error
from oloproof.model.values import Json

LOSSES: Final[Mapping[str, str]] = {
    "reasoning": "the model's reasoning: it is no step",
    "system_messages": "system prompts in the middle of a conversation: they are no step of the agent",
    "unread_parts": "parts of messages that are no text: images, files",
    "opaque_items": "items of types that are not known: each is a step that holds the item as it is",
}


def sniff(head: Head) -> Confidence | None:
    return certain_where(head, is_ours)


def is_ours(value: Json) -> bool:
    match value:
        case {"object": "response", "output": list()}:
            return True
        case {"type": str(kind), "status": _} | {"type": str(kind), "call_id": _} if kind in KNOWN:
            return True
        case {"type": "function_call_output" | "custom_tool_call_output", "call_id": _}:
            return True
        case {"role": str(), "content": [{"type": "input_text" | "output_text"}, *_]}:
            return True
        case list(items):
            return any(map(is_ours, items))
        case dict(held):
            return any(any(map(is_ours, list_of(held.get(key)))) for key in ("items", "input", "output"))
        case _:
            return False


def read(sources: Sequence[Source]) -> Iterator[Item]:
    """Files of an item list, an object with ``items`` or with ``input`` and ``output``, a list of either, or JSON Lines
    of them or of items. A run's case is its ``case_id`` or ``case``, or the ``id`` of its response."""
    return read_conversations(sources, is_message=_is_item, run=run)


def _is_item(value: Json) -> bool:
    if not isinstance(value, dict) or any(isinstance(value.get(key), list) for key in ("items", "messages")):
        return False
    if "role" in value:
        return True
    return isinstance(value.get("type"), str) and not ("input" in value and "output" in value)


def run(item: Conversation, file: str) -> Run:
    """The run that a conversation is. Raises :class:`MessageError`."""
    value = {"items": item.value} if isinstance(item.value, list) else object_of(item.value)
    response = object_of(value.get("response")) or value
    items = _items(value, response)
    teller = _Teller()
    for number, each in enumerate(items, 1):
        try:
            _require_item(each)
        except MessageError as wrong:
            wrong.message = number
            raise
    teller.tell(items)
    builder, status = teller.builder, response.get("status")
    failed = status == "failed" or bool(response.get("error"))
    error = object_of(response.get("error"))
    said = text_id(error.get("message") or error.get("code") or response.get("error")) if failed else ""
    why = object_of(response.get("incomplete_details")).get("reason")
    return Run(
        file=file,
        line=item.line,
        output=UNSET if failed else builder.output,
        error=system_error(said or "the response failed") if failed else None,
        trajectory=builder.trajectory(
            truncated=failed or status in UNFINISHED or builder.ends_on_open_call,
            errors_recorded=teller.errors_recorded,
        ),
        input={"messages": teller.opening} if teller.opening else UNSET,
        losses=builder.losses,
        unanswered=len(builder.unanswered),
        origin=value,
        **own_facts(value, status=status, incomplete=why, model=response.get("model")),
    )


def _require_item(item: Json) -> None:
    """Errors: MessageError for what is no item, and would be read as one that calls nothing."""
    if not isinstance(item, dict):
        raise MessageError(f"an item is an object, not {kind_of(item)}")
    if not text_id(item.get("type")) and not isinstance(item.get("role"), str):
        raise MessageError("an item has a type or a role", hint="of a response, the items of its `output`")
    if item.get("type") in (None, "", "message"):
        refuse_blocks(item)
        refuse_tool_calls(item)


def _items(value: dict[str, Any], response: dict[str, Any]) -> list[Any]:
    """All items of a run, from wherever its object has them."""
    if isinstance(value.get("items"), list):
        return list(value["items"])
    output = response.get("output")
    asked = value.get("input")
    if not isinstance(output, list) and not isinstance(asked, list):
        hint = "a run is a list of items, or an object with `items`, or with `input` and `output`"
        raise MessageError("it holds no items of the Responses API", hint=hint)
    before = [{"role": "user", "content": asked}] if isinstance(asked, str) else list_of(asked)
    return [*before, *list_of(output)]


class _Teller:
    """Tells the items of a run. ``opening``: those before the model's first · ``errors_recorded``: every result was of
    a tool whose item says whether it failed."""

    def __init__(self) -> None:
        self.builder = Builder()
        self.opening: list[Json] = []
        self.errors_recorded = True
        self._began = False

    def tell(self, items: Sequence[dict[str, Any]]) -> None:
        """All of them, in the groups that the model answered in."""
        answer: list[dict[str, Any]] = []
        for item in items:
            if _is_models(item):
                answer.append(item)
                continue
            self._answer(answer)
            answer = []
            self._hear(item)
        self._answer(answer)

    def _answer(self, items: Sequence[dict[str, Any]]) -> None:
        """What the model said and called before anything came back."""
        if not items:
            return
        self._began = True
        self.builder.turn()
        together = sum(item.get("type") in ANSWERED_LATER for item in items) > 1
        for item in items:
            kind = text_id(item.get("type"))
            if kind == "reasoning":
                self.builder.losses["reasoning"] += 1
            elif kind in KNOWN:
                self._call(item, parallel=together and kind in ANSWERED_LATER)
            elif kind in ("", "message"):
                self.builder.say(self._said(item))
            else:
                self.builder.losses["opaque_items"] += 1
                self.builder.losses["unknown_kinds"] += not is_known(item)
                self.builder.hear(item, kind="decision")

    def _call(self, item: dict[str, Any], *, parallel: bool) -> None:
        """A call, and its result where the item holds that too."""
        builder, asked = self.builder, asked_of(item)
        call = builder.call(asked.name, asked.read(builder), call_id=asked.call_id, parallel=parallel)
        if asked.ran is not None:
            error = asked.ran.error
            builder.result(UNSET if error else asked.ran.result, error=error or None, call=call)

    def _hear(self, item: dict[str, Any]) -> None:
        kind = text_id(item.get("type"))
        if kind.endswith("_output"):
            self._began = True
            self.errors_recorded = False
            self.builder.losses["unknown_kinds"] += kind not in OUTPUTS
            name = text_id(item.get("name")) or None
            output = joined_text(item.get("output"), kinds=TEXTS)
            self.builder.result(output, call_id=text_id(item.get("call_id")), name=name)
            return
        if not self._began:
            self.opening.append(item)
        if item.get("role") not in ("system", "developer"):
            self.builder.hear(self._said(item))
        elif self._began:
            self.builder.losses["system_messages"] += 1

    def _said(self, item: dict[str, Any]) -> dict[str, Any]:
        content, role = item.get("content"), text_id(item.get("role"))
        if not isinstance(content, list):
            return {"role": role, "content": content}
        texts = [part for part in content if object_of(part).get("type") in TEXTS]
        refusals = [part["refusal"] for part in content if isinstance(object_of(part).get("refusal"), str)]
        self.builder.losses["unread_parts"] += len(content) - len(texts) - len(refusals)
        said = {"role": role, "content": joined_text(texts, kinds=TEXTS) if texts else ""}
        return {**said, "refusal": "".join(refusals)} if refusals else said


def _is_models(item: dict[str, Any]) -> bool:
    """The item is of the model's making, rather than of a user, a tool or the application."""
    kind = text_id(item.get("type"))
    if kind in ("", "message"):
        return item.get("role") == "assistant"
    return not kind.endswith("_output")


IMPORTER: Final = Importer(
    name="openai-responses",
    about="items of OpenAI's Responses API, and its responses",
    sniff=sniff,
    read=read,
    losses=LOSSES,
)
