"""Items of OpenAI's Responses API that are calls: of functions, which the client runs, and of what OpenAI runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import UNSET

from oloproof.importers.agent_spans import Answer, Asked, Ran
from oloproof.importers.foreign import list_of, object_of, text_id

UNFINISHED: Final = ("incomplete", "in_progress", "queued", "cancelled")
TEXTS: Final = ("input_text", "output_text", "text")
FREE: Final = ("custom_tool_call",)
"""Calls whose input is text by design."""
ANSWERED_LATER: Final = (
    "apply_patch_call",
    "computer_call",
    "custom_tool_call",
    "function_call",
    "local_shell_call",
    "shell_call",
)
OUTPUTS: Final = tuple(f"{kind}_output" for kind in ANSWERED_LATER)
ANSWERED_INSIDE: Final[Mapping[str, str | None]] = {
    "code_interpreter_call": "outputs",
    "file_search_call": "results",
    "image_generation_call": "result",
    "mcp_call": "output",
    "web_search_call": None,
}
"""Tools that ran before the item was written, and where it holds the result (None: nowhere)."""
_ENVELOPE: Final = frozenset({"type", "id", "call_id", "status", "name", "error", "output", "agent", "phase"})
KNOWN: Final = (*ANSWERED_LATER, *ANSWERED_INSIDE)
NO_CALL: Final = (
    "compaction",
    "mcp_approval_request",
    "mcp_approval_response",
    "mcp_list_tools",
    "message",
    "reasoning",
)
"""Other items that are known to be no calls."""


def asked_of(item: dict[str, Any]) -> Asked:
    """The call that an item of one of the :data:`KNOWN` types is. ``ran`` is None, too, where OpenAI runs it still."""
    kind = text_id(item.get("type"))
    name = text_id(item.get("name")) if "name" in item else kind.removesuffix("_call")
    is_later = kind in ANSWERED_LATER
    call_id = text_id(item.get("call_id" if is_later else "id"))
    if kind in FREE:
        return Asked(name, call_id, item.get("input"), free=True)
    is_written = kind in ("function_call", "mcp_call")
    arguments = item.get("arguments") if is_written else _given(item, kind)
    return Asked(name, call_id, arguments, ran=None if is_later else _ran(item, kind))


def answer_of(response: dict[str, Any]) -> Answer | None:
    """What the items of a response (``output``) say and call; None where they are no list."""
    items = response.get("output")
    if not isinstance(items, list):
        return None
    objects = [object_of(item) for item in items]
    texts = [text for item in objects if item.get("type") == "message" for text in _texts(item)]
    asked = [asked_of(item) for item in objects if item.get("type") in KNOWN]
    unknown = sum(not is_known(item) for item in objects)
    return Answer("".join(texts) or None, asked, cut_off=response.get("status") in UNFINISHED, unknown=unknown)


def is_known(item: dict[str, Any]) -> bool:
    """Whether an item is a call, or known to be none."""
    kind = text_id(item.get("type"))
    return kind in (*KNOWN, *NO_CALL) or (not kind and "role" in item)


def _texts(message: dict[str, Any]) -> Iterable[str]:
    """The texts of a message; a refusal is one."""
    for part in map(object_of, list_of(message.get("content"))):
        for text in (part.get("text"), part.get("refusal")):
            if isinstance(text, str):
                yield text


def _ran(item: dict[str, Any], kind: str) -> Ran | None:
    failed = bool(item.get("error")) or item.get("status") == "failed"
    if failed:
        error = object_of(item.get("error"))
        return Ran(error=text_id(error.get("message") or item.get("error")) or "failed")
    if item.get("status") in UNFINISHED:
        return None
    held = ANSWERED_INSIDE[kind]
    result = item.get(held) if held is not None else None
    return Ran(UNSET if result is None else result)


def _given(item: dict[str, Any], kind: str) -> dict[str, Any]:
    """What a tool that is no function was asked: all that the item says besides who, when and what came of it."""
    held = ANSWERED_INSIDE.get(kind)
    return {key: fact for key, fact in item.items() if key not in _ENVELOPE and key != held and fact is not None}
