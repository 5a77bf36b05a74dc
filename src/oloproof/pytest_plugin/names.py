"""Rules and cases as the names of tests: what a dataset calls a case must not look like another node or a terminal's
escape, and the same id always gives the same name."""

from __future__ import annotations

import hashlib

from oloproof.reports.inert import inert

LONGEST = 120
_SYNTAX = frozenset('%[]\\"')


def node_name(identifier: str) -> str:
    """The id itself where it is plain. What draws nothing, ``%``, ``[``, ``]``, ``\\``, ``"`` and, where two follow one
    another, colons are percent-encoded; of a long one the beginning is left, and a digest of the whole."""
    special = _SYNTAX | {":"} if "::" in identifier else _SYNTAX
    name = "".join(
        character if character not in special and inert(character) == character else _encoded(character)
        for character in identifier
    )
    if len(name) <= LONGEST:
        return name
    digest = hashlib.sha256(identifier.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{name[: LONGEST - 17]}~{digest}"


def _encoded(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))
