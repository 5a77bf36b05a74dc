"""Lists that are flattened into the names of attributes: ``llm.output_messages.0.message.role``."""

from __future__ import annotations

from typing import Any, Final

from oloproof.model.values import MAX_DEPTH, Json

MOST_ENTRIES: Final = 100_000


def entries(attributes: dict[str, Any], prefix: str) -> list[Json]:
    """The entries of the list that is spelled ``prefix.0.…``, ``prefix.1.…``, in the order of their numbers, each as
    the object that the rest of its names spells; also those of a list that stands there as one."""
    held = attributes.get(prefix)
    if isinstance(held, list):
        return [grown(entry) for entry in held]
    branch = f"{prefix}."
    found: dict[int, dict[str, Any]] = {}
    plain: dict[int, Json] = {}
    for key, value in attributes.items():
        if key.startswith(branch):
            number, dot, rest = key[len(branch) :].partition(".")
            if number.isdecimal() and len(number) < 10 and len(found) < MOST_ENTRIES:
                if dot:
                    found.setdefault(int(number), {})[rest] = value
                else:
                    plain[int(number)] = value
    return [grown(found[number]) if number in found else plain[number] for number in sorted({*found, *plain})]


def grown(value: Json, depth: int = MAX_DEPTH) -> Json:
    """An object with dotted names as the objects and lists that they spell, to the bottom."""
    if isinstance(value, list):
        return [grown(part, depth - 1) for part in value] if depth else value
    if not isinstance(value, dict) or not depth:
        return value
    branches: dict[str, Any] = {}
    for key, part in value.items():
        name, dot, rest = key.partition(".")
        if not dot:
            held = branches.get(name)
            branches[name] = {**held, **part} if isinstance(held, dict) and isinstance(part, dict) else part
        else:
            held = branches.get(name)
            branches[name] = {**held, rest: part} if isinstance(held, dict) else {rest: part}
    return {name: _listed(grown(part, depth - 1)) for name, part in branches.items()}


def _listed(value: Json) -> Json:
    """An object whose names are all numbers is a list."""
    if isinstance(value, dict) and value and all(key.isdecimal() and len(key) < 10 for key in value):
        return [value[key] for key in sorted(value, key=int)]
    return value
