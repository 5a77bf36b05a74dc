"""Content blocks as the Messages API of Anthropic has them: text, calls, results, thinking."""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET

from oloproof.importers.builder import Builder
from oloproof.importers.foreign import joined_text, object_of, text_id, total_of
from oloproof.importers.pairing import Call
from oloproof.model.values import Json

CALLS: Final = ("tool_use", "server_tool_use", "mcp_tool_use")
THINKING: Final = ("thinking", "redacted_thinking")
SHOWN: Final = ("text", "image", "document", "search_result", "container_upload", "compaction")
"""What is neither a call nor a result, and is no step unless it has a text."""


def blocks_of(message: Json) -> list[Any]:
    """The content of a message, in blocks; text alone is one of them."""
    content = message.get("content") if isinstance(message, dict) else message
    blocks = content if isinstance(content, list) else [] if content is None else [content]
    return [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]


def is_call(block: Json) -> bool:
    """A call of a tool, of the client's or the server's."""
    return isinstance(block, dict) and block.get("type") in CALLS


def is_result(block: Json) -> bool:
    """A result of a tool, of the client's or the server's."""
    return isinstance(block, dict) and text_id(block.get("type")).endswith("tool_result")


def unread(builder: Builder, block: Json) -> None:
    """Count a block that is told as no step: known to be none, or of no known kind."""
    is_shown = isinstance(block, dict) and block.get("type") in SHOWN
    builder.losses["other_content" if is_shown else "unknown_kinds"] += 1


def tell_result(builder: Builder, block: dict[str, Any], inside: Call | None = None) -> None:
    """The result that a ``tool_result`` block, or one of a server's tool, holds. A result that does not say that it
    is an error is none."""
    content = joined_text(block.get("content"))
    refused = isinstance(content, dict) and str(content.get("type")).endswith("_error")
    failed = block.get("is_error") is True or refused
    text = text_id(content.get("error_code") or content) if isinstance(content, dict) else text_id(content)
    builder.result(
        UNSET if failed else content,
        error=text if failed else None,
        call_id=text_id(block.get("tool_use_id")),
        inside=inside,
    )


def tokens_of(usage: Json) -> int | None:
    """All tokens of an answer, those that a cache held included."""
    return total_of(count for key, count in object_of(usage).items() if key.endswith("_tokens"))
