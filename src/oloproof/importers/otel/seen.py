"""What a span says once its dialect is understood."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

from msgspec import UNSET, Struct

from oloproof.importers.otel.messages import Message
from oloproof.model.values import Json

Role = Literal["", "agent", "workflow", "model", "tool", "handoff", "aside", "other"]
"""What a span is of: an agent at work, something around agents or calls of models, one call of a model, one of a tool,
a hand-off, an aside (a guardrail, an evaluator), whose calls of models are none of the agent's, or none of these. "":
the dialect does not say.
"""

NO_ROLES: Final = ("", "other")
"""What has no part in a run."""

Messages = Callable[[], list[Message] | None]
"""Messages, read when they are asked for; None: they cannot be."""


class Seen(Struct, kw_only=True):
    """What a span, or its events, say. "" and UNSET: nothing is said of it.

    ``heard`` is what a model (or agent) was sent, its whole history, ``said`` what it answered; ``tool``, ``call_id``,
    ``arguments`` and ``result`` are of a call of a tool; ``receiver`` of a hand-off. ``stopped``: it ended because a
    limit on its steps was met. ``is_adk``: it is told the way ADK tells. ``scores`` are the verdicts of evaluators.
    """

    role: Role = ""
    agent: str = ""
    conversation: str = ""
    heard: Messages | None = None
    said: Messages | None = None
    finish: str = ""
    tokens: int | None = None
    cost_usd: float | None = None
    tool: str = ""
    call_id: str = ""
    arguments: Json = UNSET
    result: Json = UNSET
    error: str = ""
    receiver: str = ""
    stopped: bool = False
    is_adk: bool = False
    scores: dict[str, Any] | None = None

    def add(self, other: Seen) -> None:
        """Fill in what ``other`` says and this does not."""
        for name in Seen.__struct_fields__:
            value = getattr(other, name)
            if value is not _NOTHING[name] and value != _NOTHING[name] and getattr(self, name) == _NOTHING[name]:
                setattr(self, name, value)


_NOTHING: dict[str, Any] = {name: getattr(Seen(), name) for name in Seen.__struct_fields__}
