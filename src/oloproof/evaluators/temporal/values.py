"""Where values come from, and which of them are the same."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Final

from msgspec import UNSET

from oloproof.evaluators.temporal.atoms import Known
from oloproof.evaluators.temporal.events import Derived, Path
from oloproof.model.reading import Reading, given
from oloproof.model.values import TAG, UNKNOWN, Json, lookup_known

Key = Hashable
"""What equal values have in common, and others not."""

ABSENT: Final = UNSET


def key_at(value: Json, paths: Sequence[Path]) -> Any:
    """The key of the values at all the paths: ABSENT where one is, None where one is not known."""
    if len(paths) == 1:
        return _key_of(lookup_known(value, paths[0]))
    keys = [_key_of(lookup_known(value, path)) for path in paths]
    return ABSENT if ABSENT in keys else None if None in keys else ("all", *keys)


def _key_of(value: Json) -> Any:
    """The key of one value: ABSENT where it is, None where it is not known in full."""
    if type(value) is str:
        return value
    if value is UNSET or value is UNKNOWN:
        return ABSENT if value is UNSET else None
    try:
        return _key(value)
    except (_NotKnown, RecursionError):
        return None


def same(value: Json, path: Path, other: Json, other_path: Path) -> bool | None:
    """Whether the values at the two paths are both there and equal, None where that is not known."""
    keys = key_at(value, [path]), key_at(other, [other_path])
    if ABSENT in keys:
        return False
    return None if None in keys else keys[0] == keys[1]


def derived(reading: Reading, atoms: Sequence[Derived]) -> Known:
    """Of each atom and call: whether the value comes from an earlier one, None where that is not known.

    An argument is known as soon as it is given, a result once it has come. A call that failed has no result.
    """
    known: Known = {atom: [None] * len(reading.calls) for atom in atoms}
    seen: dict[Derived, set[Key]] = {atom: set() for atom in atoms}
    doubtful: set[Derived] = set()
    for position, has_ended in _moments(reading):
        call = reading.calls[position]
        for atom in atoms:
            if not has_ended:
                key = key_at(given(call), [atom.path])
                known[atom][position] = _is_among(key, seen[atom], doubtful=atom in doubtful)
            if atom.tool not in (None, call.tool_name) or (atom.source == "result") is not has_ended:
                continue
            value = _result(reading, position) if has_ended else given(call)
            key = ABSENT if value is UNSET else key_at(value, [atom.source_path])
            if key is None:
                doubtful.add(atom)
            elif key is not ABSENT:
                seen[atom].add(key)
    return known


def _moments(reading: Reading) -> Iterator[tuple[int, bool]]:
    """The calls by position, each once when it is made and once when it has ended, in the order of the record."""
    moments = []
    for position, (call, answer) in enumerate(zip(reading.calls, reading.answers, strict=True)):
        moments += [(call.index, False, position), ((answer or call).index, True, position)]
    return ((position, has_ended) for _, has_ended, position in sorted(moments))


def _result(reading: Reading, position: int) -> Json:
    """The result of a call: UNSET where it has none, UNKNOWN where it was not recorded."""
    call, answer = reading.calls[position], reading.answers[position]
    if answer is not None and answer.result is not UNSET:
        return answer.result
    if call.result is not UNSET:
        return call.result
    return UNSET if reading.failed[position] else UNKNOWN


def _is_among(key: Any, seen: set[Key], *, doubtful: bool) -> bool | None:
    if key is ABSENT:
        return False
    if key is None:
        return None if seen or doubtful else False
    return True if key in seen else None if doubtful else False


class _NotKnown(Exception):
    pass


def _key(value: Json) -> Key:
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return ("constant", value)
    if isinstance(value, int | float):
        return ("number", value)
    if isinstance(value, list):
        return ("array", *map(_key, value))
    if not isinstance(value, dict) or TAG in value:
        raise _NotKnown
    return frozenset([(name, _key(part)) for name, part in value.items()])
