"""Values of foreign files, where anything may stand anywhere: each is taken for what it should be, or for nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import UNSET
from msgspec.json import encode

from oloproof.importers.documents import NotJson, read_json
from oloproof.model.values import TAG, Json


def text_of(value: Json) -> str:
    """Text as it is, "" for anything else."""
    return value if isinstance(value, str) else ""


def text_id(value: Json) -> str:
    """An id as text; "" for none."""
    return value if isinstance(value, str) else "" if value is None else encode(value).decode()


def object_of(value: Json) -> dict[str, Any]:
    """The value where it is an object, otherwise an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Json) -> list[Any]:
    """The value where it is an array, otherwise an empty one."""
    return value if isinstance(value, list) else []


def without_nulls(facts: Mapping[str, Json]) -> dict[str, Any]:
    """The facts that are there."""
    return {key: fact for key, fact in facts.items() if fact is not None}


def total_of(counts: Iterable[Json]) -> int | None:
    """The sum of those that are whole numbers; None where none is."""
    known = [count for count in counts if type(count) is int]
    return sum(known) if known else None


def before_traceback(error: str) -> str:
    """What an error says; "" where it is nothing but a traceback."""
    return error.partition("Traceback (most recent call last)")[0].strip()


def joined_text(content: Json, *, kinds: tuple[str, ...] = ("text",)) -> Json:
    """Text parts (``{"type": "text", "text": …}``) joined; any other content as it is."""
    if not isinstance(content, list) or not content:
        return content
    texts = []
    for part in content:
        if not isinstance(part, dict) or part.get("type") not in kinds:
            return content
        text = part.get("text")
        if isinstance(text, str):
            texts.append(text)
    return "".join(texts)


def arguments_of(raw: Json) -> Json:
    """An object, written as JSON or not, as it is; None (not recorded) for None; anything else kept as written in a
    tag, which is unknown to argument checks. Text that is empty means no arguments to some writers and is no JSON: it
    is kept too, never turned into ``{}``."""
    value = raw
    if isinstance(raw, str):
        try:
            value = read_json(raw.encode())
        except NotJson:
            value = UNSET
    if isinstance(value, dict):
        return value
    if raw is None:
        return None
    return {TAG: raw if isinstance(raw, str) else encode(raw).decode()}


def declared_call(name: str, arguments: Json) -> Json:
    """A call as ``expected.tools`` declares it: by its name alone where it takes no arguments."""
    given = object_of(arguments)
    return {"tool": name, "arguments": given} if given else name


def kind_of(value: Json) -> str:
    """What a JSON value is, in words."""
    match value:
        case None:
            return "null"
        case bool():
            return "a truth value"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "an array"
        case _:
            return "an object"
