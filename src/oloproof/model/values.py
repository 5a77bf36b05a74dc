"""JSON values: how anything becomes one, when two are equal, and what an unknown one may still be.

Everything that a judgment reads is a JSON value: None, bool, int, float, str, list and dict with text keys. What JSON
cannot carry is kept as a *tag*, ``{"$unrepresentable": "float nan"}``, which equals nothing, itself included. An object
some of whose keys it cannot carry keeps the others, and under the tag's key those it lost, each with its value:
``{"answer": "yes", "$unrepresentable": [["int 7", "no"]]}``. It equals nothing either.

Where a record does not say what a value was (arguments not recorded, a tag), every JSON value is possible. Such values
are linear patterns: each unknown part stands for itself alone. So values that pairwise allow a common reading have one
together, and :func:`unify` can be folded over any number of them.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct

Json = Any

TAG: Final = "$unrepresentable"
MAX_DEPTH: Final = 100
MAX_NODES: Final = 2_000_000
MAX_INT_BITS: Final = 4096
MAX_TAG_LENGTH: Final = 200


class _Sentinel(Enum):
    UNKNOWN = "unknown"
    CONFLICT = "conflict"


UNKNOWN: Final = _Sentinel.UNKNOWN
"""A value of which nothing is known: any JSON value."""

CONFLICT: Final = _Sentinel.CONFLICT
"""No JSON value is both."""


def snapshot(value: Any) -> Json:
    """A deep copy of ``value`` as a JSON value; later changes to ``value`` do not reach it. Never raises.

    Tuples become arrays; dataclasses, msgspec Structs and objects with ``model_dump()`` become objects; members of an
    Enum become their values. Tagged are: NaN and infinities, integers of more than 4,096 bits, text with lone
    surrogates, keys of objects that are no text, values nested deeper than 100 levels or inside themselves, whatever
    comes after two million parts, and any other type. Tags pass unchanged, so a snapshot of a snapshot equals it.
    """
    kind = type(value)
    if kind is str and _is_text(value):
        return value
    try:
        if kind in _CONTAINERS and _is_plain(value):
            text = _encode(value)
            copied = _decode(text)
            # What has become something else (NaN) is not equal to what it was.
            if copied == value and (len(text) < 1000 or _LONG_NUMBER.search(text) is None):
                return copied
    except Exception:  # a lone surrogate, a class without a hash, or another thread changes it
        pass  # by hand, there is a place for everything
    return _Copier().copy(value)


def is_unrepresentable(value: Json) -> bool:
    """``value`` is a tag: of what it stands for, JSON could carry nothing."""
    return type(value) is dict and len(value) == 1 and TAG in value


def is_incomplete(value: Json) -> bool:
    """``value`` is a tag, or an object that lost a key. As a pattern it may be anything."""
    return type(value) is dict and TAG in value


def has_unrepresentable(value: Json) -> bool:
    """``value`` is incomplete, or holds an incomplete value at any depth."""
    pending = [value]
    while pending:
        part = pending.pop()
        if type(part) is dict:
            if TAG in part:
                return True
            pending.extend(part.values())
        elif type(part) is list:
            pending.extend(part)
    return False


def equal(a: Json, b: Json) -> bool:
    """JSON equality: objects without key order, arrays with it, numbers by value, booleans never equal to numbers.

    Text is equal by code point. Tags, and what is no JSON value (UNSET included), equal nothing.
    """
    pending = [(a, b)]
    while pending:
        x, y = pending.pop()
        kind, other = type(x), type(y)
        if kind is dict:
            if other is not dict or len(x) != len(y) or TAG in x:
                return False
            for key, part in x.items():
                if key not in y:
                    return False
                pending.append((part, y[key]))
        elif kind is list:
            if other is not list or len(x) != len(y):
                return False
            pending.extend(zip(x, y, strict=True))
        elif kind is int or kind is float:
            if (other is not int and other is not float) or x != y:
                return False
        elif kind is not other or kind not in _PLAIN or x != y:
            return False
    return True


def unify(a: Json, b: Json) -> Json:
    """The pattern of the values that both ``a`` and ``b`` may be, or :data:`CONFLICT` where there are none.

    Tags at any depth, objects that lost a key, and :data:`UNKNOWN` may be anything. A nesting that is deeper than a
    snapshot can be counts as unknown.
    """
    return _unify(a, b, MAX_DEPTH)


def lookup(value: Json, path: Sequence[str]) -> Json:
    """The part of ``value`` at ``path``, UNSET where there is none. A part of decimal digits indexes an array."""
    for key in path:
        if type(value) is dict and key in value:
            value = value[key]
        elif type(value) is list and key.isascii() and key.isdigit() and len(key) < 10 and int(key) < len(value):
            value = value[int(key)]
        else:
            return UNSET
    return value


def lookup_known(value: Json, path: Sequence[str]) -> Json:
    """:func:`lookup` in a value that may be UNKNOWN or incomplete; UNKNOWN where what the path leads through is."""
    for key in path:
        if type(value) is dict and TAG not in value:
            value = value.get(key, UNSET)
        elif value is UNKNOWN or type(value) is dict:
            return UNKNOWN
        else:
            value = lookup(value, (key,))
    return value


_PLAIN = frozenset({str, bool, type(None)})


def _unify(a: Json, b: Json, levels: int) -> Json:
    if a is UNKNOWN or is_incomplete(a):
        return b
    if b is UNKNOWN or is_incomplete(b):
        return a
    if type(a) is dict and type(b) is dict:
        if a.keys() != b.keys():
            return CONFLICT
        parts = _unify_all(((a[key], b[key]) for key in a), levels)
        return parts if parts is CONFLICT or parts is UNKNOWN else dict(zip(a, parts, strict=True))
    if type(a) is list and type(b) is list:
        return _unify_all(zip(a, b, strict=True), levels) if len(a) == len(b) else CONFLICT
    return a if equal(a, b) else CONFLICT


def _unify_all(pairs: Iterable[tuple[Json, Json]], levels: int) -> Json:
    if levels == 0:
        return UNKNOWN
    parts = []
    for x, y in pairs:
        part = _unify(x, y, levels - 1)
        if part is CONFLICT:
            return CONFLICT
        parts.append(part)
    return parts


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_LEAVES = frozenset({str, int, float, bool, type(None)})
_CONTAINERS = frozenset({dict, list})
_KEYS = frozenset({str})
_MANY_PARTS = 100_000
_LONG_NUMBER = re.compile(rb"[0-9]{1000}")


def _is_plain(value: Any) -> bool:
    """A dict or list that holds nothing but JSON's own types, neither deep nor many: no class of the user's that might
    tell its parts otherwise than the encoder sees them."""
    if type(value) is dict and _LEAVES.issuperset(map(type, value.values())):
        return _KEYS.issuperset(map(type, value))  # nearly all that is recorded
    level, left = [value], _MANY_PARTS
    for _ in range(MAX_DEPTH):
        parts: list[Any] = []
        for container in level:
            if type(container) is not dict:
                parts += container
            elif _KEYS.issuperset(map(type, container)):
                parts += container.values()
            else:
                return False
            if len(parts) > left:
                return False
        left -= len(parts)
        kinds = {*map(type, parts)}
        if kinds <= _LEAVES:
            return True
        if not kinds <= _LEAVES | _CONTAINERS:
            return False
        level = [part for part in parts if type(part) in _CONTAINERS]
    return False


_ARRAYS = (list, tuple)
_SCALARS = (str, int, float)


class _Copier:
    """One snapshot: the containers being copied right now, and how many parts may still come."""

    def __init__(self) -> None:
        self.open: set[int] = set()
        self.left = MAX_NODES

    def copy(self, value: Any) -> Json:
        kind = type(value)
        if kind is str:
            return value if _is_text(value) else _tagged(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            return value if value.bit_length() <= MAX_INT_BITS else {TAG: f"int of {value.bit_length()} bits"}
        if kind is float:
            return value if math.isfinite(value) else _tagged(value)
        try:
            return self._copy_container(value)
        except Exception:  # the value's own code (properties, model_dump, __iter__) may raise anything
            return _tagged(value)

    def _copy_container(self, value: Any) -> Json:
        if id(value) in self.open:
            return _tagged_as(value, "inside itself")
        if len(self.open) == MAX_DEPTH:
            return _tagged_as(value, f"deeper than {MAX_DEPTH} levels")
        if self.left <= 0:
            return _tagged_as(value, f"after {MAX_NODES} parts")
        self.open.add(id(value))
        try:
            return self._copy_parts(value)
        finally:
            self.open.remove(id(value))

    def _copy_parts(self, value: Any) -> Json:
        if type(value) is dict:
            return self._copy_members(value)
        if isinstance(value, Enum):
            return self.copy(value.value)
        if isinstance(value, _ARRAYS):
            self.left -= len(value)
            return [self.copy(part) for part in value]
        if isinstance(value, _SCALARS):
            return self.copy(_plain(value))
        members = _members(value)
        if members is None:
            dump = None if isinstance(value, type) else getattr(value, "model_dump", None)
            return self.copy(dump()) if callable(dump) else _tagged(value)
        return self._copy_members(members)

    def _copy_members(self, members: Mapping[Any, Any]) -> Json:
        self.left -= len(members)
        copied: dict[str, Json] = {}
        lost: list[Json] = []
        for key, part in members.items():
            if type(key) is not str and isinstance(key, Enum):
                key = key.value
            if isinstance(key, str) and _is_text(key):
                copied[key if type(key) is str else str.__str__(key)] = self.copy(part)
            else:
                lost.append([_tagged(key)[TAG], self.copy(part)])
        if lost:
            copied[TAG] = lost
        return copied


def _members(value: Any) -> Mapping[Any, Any] | None:
    """What an object-like value holds, None for any other value."""
    if isinstance(value, dict | Mapping):
        return value
    if isinstance(value, type):
        return None
    if isinstance(value, Struct):
        names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        return {key: part for key, name in names if (part := getattr(value, name)) is not UNSET}
    if hasattr(type(value), "__dataclass_fields__"):
        import dataclasses  # whoever made the value has imported it; the recording SDK must start without

        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


def _plain(value: str | float) -> str | int | float:
    """The exact built-in value under a subclass, whatever the subclass overrides."""
    if isinstance(value, str):
        return str.__str__(value)
    return int.__int__(value) if isinstance(value, int) else float.__float__(value)


def _is_text(value: str) -> bool:
    """UTF-8 can carry it: it holds no lone surrogate."""
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _tagged(value: Any) -> Json:
    try:
        text = _REPR.repr(value)
    except Exception:  # so may __repr__
        text = "without a readable form"
    return _tagged_as(value, text)


def _tagged_as(value: Any, text: str) -> Json:
    text = _ADDRESS.sub("", f"{type(value).__name__} {text}").encode(errors="backslashreplace").decode()
    return {TAG: text if len(text) <= MAX_TAG_LENGTH else text[: MAX_TAG_LENGTH - 1] + "…"}


_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # no two runs would agree on it
_REPR = reprlib.Repr()
_REPR.maxlevel = 3
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = MAX_TAG_LENGTH
