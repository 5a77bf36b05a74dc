"""What the values of a slice are called. Some names are rows of the report, where no case can put itself."""

from __future__ import annotations

import json
import re
from functools import lru_cache

from msgspec import UNSET, UnsetType

from oloproof.model.values import Json

UNPLACED = "(unplaced)"
NONE = "(none)"
OTHERS = "(others)"
RESERVED = frozenset({NONE, OTHERS, UNPLACED})
_SCALAR = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")


def value_text(value: Json | UnsetType) -> str:
    """A JSON value as the value of a slice: strings as they are, numbers that are equal alike, the rest as JSON.

    UNSET is ``(none)``. A string that reads like one of the report's own rows, or like another JSON value (``1``,
    ``true``), is in quotes, so that no agent and no dataset can put a case there.
    """
    if isinstance(value, str):
        return _known_text(value) if len(value) <= _SHORT else _string_text(value)
    if value is UNSET:
        return NONE
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _string_text(value: str) -> str:
    return json.dumps(value) if value in RESERVED or _reads_like_json(value) else value


_SHORT = 64
_known_text = lru_cache(maxsize=1024)(_string_text)
"""Of a run's cases most have one of a few values; long ones are not worth their memory."""


def _reads_like_json(text: str) -> bool:
    if text[:1] not in ('"', "[", "{"):
        return _SCALAR.fullmatch(text) is not None
    try:
        json.loads(text)
    except RecursionError:
        return True
    except ValueError:
        return False
    return True
