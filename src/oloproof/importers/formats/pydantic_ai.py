"""Message histories of Pydantic AI, and its results, which hold one.

A history is a row of requests and responses, each in parts. A call that failed is told apart from one that worked, by
the ``outcome`` of its return or, in older histories, by a prompt to try again. An agent with an output type answers by
calling an output tool (``final_result``): that is its answer and no call. A run ends on an answer; a history that ends
on anything else was cut off.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET, Struct

from oloproof.importers.builder import Builder
from oloproof.importers.conversations import Conversation, MessageError, certain_where, own_facts, read_conversations
from oloproof.importers.foreign import arguments_of, kind_of, list_of, object_of, text_id, total_of
from oloproof.importers.format import Confidence, Importer, Item, Run
from oloproof.importers.head import Head
from oloproof.importers.source import Source
from oloproof.model.values import TAG, Json, is_unrepresentable

OUTPUT_TOOL: Final = "final_result"
"""How Pydantic AI calls the tool by which an agent answers; with several output types, ``final_result_`` and a name."""
_ONE_OF: Final = f"{OUTPUT_TOOL}_"
ACCEPTED: Final = "Final result processed."
"""What it returns to an answer that ends the run."""
NOT_EXECUTED: Final = "Tool not executed - a final result was already processed."
"""What it returns to a call that came beside the answer, and was not made."""
_ANSWERS: Final = ("text", "speech", "file")
_ASIDE: Final = (
    "capability-load-delta",
    "instruction",
    "instruction-baseline",
    "instruction-delta",
    "instruction-digest",
    "model-settings-delta",
    "tool-availability-delta",
)
"""Parts of requests that say nothing to the model."""
_FAILED: Final = ("failed", "denied", "interrupted", "retried")

LOSSES: Final[Mapping[str, str]] = {
    "reasoning": "the model's thinking: it is no step",
    "other_content": "parts that are neither text nor a call nor a result: images, files, compactions",
    "system_messages": "system prompts: they are no step of the agent",
}


def sniff(head: Head) -> Confidence | None:
    return certain_where(head, _is_ours)


def _is_ours(value: Json) -> bool:
    match value:
        case {"messages": [first, *_]}:
            return _is_message(first)
        case [first, *_]:
            return _is_message(first)
        case _:
            return _is_message(value)


def _is_message(value: Json) -> bool:
    return isinstance(value, dict) and value.get("kind") in ("request", "response") and "parts" in value


def read(sources: Sequence[Source]) -> Iterator[Item]:
    """Files of a history, an object with ``messages`` (a result), a list of either, or JSON Lines of them or of
    messages. A run's case is its ``id``, ``case_id`` or ``case``."""
    return read_conversations(sources, is_message=_is_message, run=run)


def run(item: Conversation, file: str) -> Run:
    """The run that a conversation is. Raises :class:`MessageError`."""
    match item.value:
        case {"messages": list(messages)}:
            value = item.value
        case list(messages):
            value = {}
        case _:
            raise MessageError("neither a list of messages nor an object with `messages`")
    teller = _Teller(_output_tools(value, messages))
    for number, message in enumerate(messages, 1):
        teller.tell(message, number)
    teller.end()
    builder = teller.builder
    answer = value.get("output", builder.answer if teller.answer is UNSET else teller.answer)
    return Run(
        file=file,
        line=item.line,
        output=UNSET if answer is None else {"answer": answer},
        trajectory=builder.trajectory(truncated=teller.was_cut_off),
        input=value.get("input", {"messages": teller.opening}),
        losses=builder.losses,
        unanswered=len(builder.unanswered),
        origin=value or {"messages": messages},
        **own_facts(value),
    )


def _output_tools(value: dict[str, Any], messages: Sequence[Json]) -> frozenset[str]:
    """The tools by which the agent answers. A server may call its own tools as it likes, and a call must not hide: so a
    result is believed, and of a history alone only what Pydantic AI names by itself, where it was taken for an answer.
    """
    named = [name for name in list_of(value.get("output_tools")) if isinstance(name, str)]
    if "output_tool_name" in value:
        taken = [text_id(value["output_tool_name"])]
    else:
        parts = (object_of(part) for message in messages for part in list_of(object_of(message).get("parts")))
        taken = [text_id(part.get("tool_name")) for part in parts if part.get("content") == ACCEPTED]
        taken = [OUTPUT_TOOL, *(name for name in taken if name.startswith(_ONE_OF))]
    family = _ONE_OF if any(name.startswith(_ONE_OF) for name in taken) else ""
    return frozenset({*named, *taken, family} - {""})


class _Draft(Struct):
    """An answer by an output tool, until it is known whether it was taken: the number of its step, and what it says."""

    step: int
    said: Json


class _Teller:
    """Tells a history message by message. ``opening``: what was asked before the first response · ``answer``: the last
    answer that an output tool gave, UNSET where there is none · ``was_cut_off``: the history ends on no answer.
    ``_last`` is the number of the step that holds the answer, while nothing follows it."""

    def __init__(self, output_tools: frozenset[str]) -> None:
        self.builder = Builder()
        self.opening: list[Json] = []
        self.answer: Json = UNSET
        self._output_tools = output_tools
        self._drafts: dict[str, deque[_Draft]] = {}
        self._began = False
        self._last: int | None = None

    @property
    def was_cut_off(self) -> bool:
        return bool(self.builder.steps) and self._last is None

    def end(self) -> None:
        """No message follows. The answer that the history ends on, if it does, is the final one."""
        if self._last is not None and self.builder.steps[self._last].kind == "message":
            self.builder.end(self._last)

    def tell(self, message: Json, number: int) -> None:
        """The next message."""
        if not isinstance(message, dict):
            raise MessageError(f"a message is an object, not {kind_of(message)}", message=number)
        parts = [object_of(part) for part in list_of(message.get("parts"))]
        match message.get("kind"):
            case "request":
                self._last = None
                for part in parts:
                    self._hear(part)
            case "response":
                self._began = True
                self._answer(message, parts)
            case _:
                hint = "a message is a request or a response"
                raise MessageError("the message is of no kind that Pydantic AI knows", message=number, hint=hint)

    # --- what the model says ---------------------------------------------------------------------------------------

    def _answer(self, message: dict[str, Any], parts: Sequence[dict[str, Any]]) -> None:
        builder, tokens = self.builder, _tokens_of(message.get("usage"))
        builder.turn()
        asked = [part for part in parts if part.get("part_kind") == "tool-call"]
        together = sum(not self._is_output(part) for part in asked) > 1
        is_whole = message.get("state", "complete") == "complete" and message.get("finish_reason") != "length"
        self._last = None
        for part in parts:
            before = len(builder.steps)
            self._tell(part, tokens, parallel=together)
            if len(builder.steps) > before:
                tokens = None if tokens is None else 0  # those of the whole answer stand on its first step
                if is_whole and not asked and part["part_kind"] in _ANSWERS:
                    self._last = before

    def _tell(self, part: dict[str, Any], tokens: int | None, *, parallel: bool) -> None:
        builder = self.builder
        match part.get("part_kind"):
            case "text" if part.get("content"):
                builder.say(_said("assistant", part["content"]), tokens=tokens)
            case "speech":
                builder.say(_said("assistant", part.get("transcript")), tokens=tokens)
            case "file":
                builder.losses["other_content"] += 1
                builder.say(_said("assistant", None), tokens=tokens)
            case "tool-call" if self._is_output(part):
                self._draft(part, tokens)
            case "tool-call":
                self._call(part, tokens, parallel=parallel)
            case "builtin-tool-call":
                self._call(part, tokens)
            case "builtin-tool-return":
                self._result(part)
            case "thinking":
                builder.losses["reasoning"] += 1
            case "text":
                pass
            case kind:
                builder.losses["other_content" if kind == "compaction" else "unknown_kinds"] += 1

    def _is_output(self, part: dict[str, Any]) -> bool:
        name = text_id(part.get("tool_name"))
        return name in self._output_tools or (_ONE_OF in self._output_tools and name.startswith(_ONE_OF))

    def _draft(self, part: dict[str, Any], tokens: int | None) -> None:
        raw = part.get("args")
        said = arguments_of(raw)
        if is_unrepresentable(said):
            said = said[TAG]
        self.builder.say(_said("assistant", said), tokens=tokens)
        draft = _Draft(len(self.builder.steps) - 1, said)
        self._drafts.setdefault(text_id(part.get("tool_call_id")), deque()).append(draft)

    def _call(self, part: dict[str, Any], tokens: int | None, *, parallel: bool = False) -> None:
        raw = part.get("args")
        arguments = {} if raw is None or raw == "" else self.builder.arguments(raw)  # so Pydantic AI calls the tool
        call_id = text_id(part.get("tool_call_id"))
        name = text_id(part.get("tool_name"))
        self.builder.call(name, arguments, call_id=call_id, parallel=parallel, tokens=tokens)

    # --- what it is told -------------------------------------------------------------------------------------------

    def _hear(self, part: dict[str, Any]) -> None:
        builder = self.builder
        match part.get("part_kind"):
            case "user-prompt":
                self._told(_said("user", self._text(part.get("content"))))
            case "speech":
                self._told(_said("user", part.get("transcript")))
            case "system-prompt":
                if not self._began:
                    self.opening.append(_said("system", part.get("content")))
                else:
                    builder.losses["system_messages"] += 1
            case "tool-return" | "retry-prompt" if part.get("tool_name") is not None:
                if self._is_output(part):
                    self._taken(part)
                else:
                    self._result(part)
            case "retry-prompt" | "retry-feedback":
                builder.hear(_said("user", part.get("content")), kind="observation")
            case kind:  # instructions, and what became of the tools and settings
                builder.losses["unknown_kinds"] += kind not in _ASIDE

    def _told(self, said: Json) -> None:
        if not self._began:
            self.opening.append(said)
        self.builder.hear(said)

    def _result(self, part: dict[str, Any]) -> None:
        content = part.get("content")
        failed = _has_failed(part)
        self.builder.result(
            UNSET if failed else content,
            error=text_id(content) or "failed" if failed else None,
            call_id=text_id(part.get("tool_call_id")),
            name=text_id(part.get("tool_name")) or None,
        )

    def _taken(self, part: dict[str, Any]) -> None:
        """An answer was taken, or refused with what is wrong with it."""
        drafts = self._drafts.get(text_id(part.get("tool_call_id")))
        if not drafts:
            self.builder.losses["results_without_call"] += 1
            return
        draft = drafts.popleft()
        if _has_failed(part):
            self.builder.hear(_said("user", part.get("content")), kind="observation")
        elif part.get("content") == ACCEPTED:
            self.answer = draft.said
            self._last = draft.step

    def _text(self, content: Json) -> Json:
        """The text of what a user said; what is none in it is counted."""
        if not isinstance(content, list):
            return content
        texts = [part if isinstance(part, str) else _text_content(part) for part in content]
        self.builder.losses["other_content"] += texts.count(None)
        return "".join(text for text in texts if text is not None)


def _text_content(part: Json) -> str | None:
    content = object_of(part)
    held = content.get("content")
    return held if content.get("kind") in ("text-content", "structured-content") and isinstance(held, str) else None


def _has_failed(part: dict[str, Any]) -> bool:
    """The call did not do what it was to do. Older histories say so by asking to try again."""
    refused = part.get("part_kind") == "retry-prompt" or part.get("outcome") in _FAILED
    return refused or part.get("content") == NOT_EXECUTED


def _said(role: str, content: Json) -> dict[str, Any]:
    return {"role": role, "content": content}


def _tokens_of(usage: Json) -> int | None:
    """All tokens of a response. Those of a cache are among the input's."""
    counts = object_of(usage)
    return total_of(counts.get(key) for key in ("input_tokens", "output_tokens", "request_tokens", "response_tokens"))


IMPORTER: Final = Importer(
    name="pydantic-ai",
    about="message histories of Pydantic AI, and its results",
    sniff=sniff,
    read=read,
    losses=LOSSES,
)
