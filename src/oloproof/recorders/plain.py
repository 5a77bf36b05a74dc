"""What a framework's value says, as it would be written to a file."""

from __future__ import annotations

from typing import Any

from oloproof.model.values import Json, is_unrepresentable, snapshot


def plain(value: Any) -> Json:
    """The value as JSON, with times and the like as text, where its own package can say it so. Never raises."""
    dump = getattr(value, "model_dump", None)
    try:
        if callable(dump) and not isinstance(value, type):
            return snapshot(dump(mode="json", by_alias=True, warnings=False))
        if type(value).__module__.partition(".")[0] == "pydantic_ai":
            from pydantic_ai.messages import ModelMessagesTypeAdapter

            return snapshot(ModelMessagesTypeAdapter.dump_python([value], mode="json", warnings=False)[0])
    except Exception:  # something in it cannot be written; what can be is in a copy
        pass
    return snapshot(value)


def readable(result: Any) -> Json:
    """What a tool returned: as :func:`plain`, or as the text that a model reads where JSON has no such value. Never
    raises."""
    said = plain(result)
    if not is_unrepresentable(said):
        return said
    try:
        return str(result)
    except Exception:  # nobody can read it
        return said
