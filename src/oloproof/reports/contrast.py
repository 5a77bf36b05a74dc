"""What a failing verdict expected beside what it found, in a few words."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from oloproof.reports.inert import inert, inert_json

_LONGEST = 80


def contrast(expected: Any, found: Any) -> str:
    """A sentence for the shapes that have one, else ``expected → found``; "" where neither is known."""
    if said := sentence(expected, found):
        return said
    if found is UNSET:
        return "" if expected is UNSET else f"expected {inert_json(expected, _LONGEST)}"
    if expected is UNSET:
        return f"found {inert_json(found, _LONGEST)}"
    return f"{inert_json(expected, _LONGEST)} → {inert_json(found, _LONGEST)}"


def sentence(expected: Any, found: Any) -> str:
    """What a broken constraint or limit and a call without permission are in words; "" for all other shapes."""
    match expected, found:
        case dict(), dict() if len(found) == 1:
            ((key, value),) = found.items()
            if value is False and expected.get(key) is True:
                return f"{inert(key)} failed"
            if isinstance(value, str) and isinstance(expected.get(key), list):
                return f"{inert(key)} may not call {inert(value)}"
        case {"max": int() | float() as most}, int() | float() if len(expected) == 1:
            return f"at most {most}, found {found}"
        case list(), str():
            return f"{inert(found)} is none of {inert_json(expected, _LONGEST)}"
        case _:
            pass
    return ""
