"""What a call's arguments must be: literals, matchers and dotted paths, three-valued where they were not recorded.

An argument's value is a *matcher* where it is an object with exactly a matcher's keys (``any``, ``absent``, ``regex``,
``approx`` with ``tolerance``, ``one_of``, ``schema``, ``equals``), and a literal everywhere else. What could be taken
for either is refused, so that no literal is read as a matcher or the other way round; ``{equals: …}`` writes any
literal.

A test answers True or False where every value that the record allows gives that answer, and None where some do and
some do not. Schemas count as free: of a value that is not wholly known, a schema may say either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, Literal

from msgspec import UNSET, Struct
from msgspec.json import decode, encode

from oloproof.evaluators.base import ConfigError
from oloproof.evaluators.numbers import is_number, within
from oloproof.evaluators.patterns import compile_pattern
from oloproof.evaluators.schemas import UNBOUNDED, compile_schema
from oloproof.model.evidence import CaseProblem
from oloproof.model.values import (
    CONFLICT,
    TAG,
    UNKNOWN,
    Json,
    equal,
    has_unrepresentable,
    is_incomplete,
    lookup_known,
    unify,
)

ArgumentsMode = Literal["exact", "subset", "ignore"]

Test = Callable[[Json], bool | None]
"""Asked of the value of an argument: UNSET where there is none, UNKNOWN where there may be one."""

_MOST_OTHERS: Final = 10
"""Arguments beyond the declared ones that are told one by one."""

_NO_TOLERANCE: Final = ("approx needs a tolerance from 0 up", "{approx: 3.5, tolerance: 0.1}")
_AS_OBJECT: Final = "for an object write {equals: {…}}"


class Wanted(Struct, frozen=True):
    """One argument: where it is, the test of its value, and how that was written."""

    path: tuple[str, ...]
    test: Test
    written: Json

    def difference(self, given: dict[str, Json]) -> str | None:
        """In a line what is wanted here beside what was given; None where the test may hold."""
        found = lookup_known(given, self.path)
        if self.test(found) is not False:
            return None
        return f"{'.'.join(self.path)}: expected {short(self.written)}, found {short(found)}"


class Arguments:
    """The arguments that a call must have.

    ``names`` are all the arguments that it may have, None where others may be there. A dotted path names a part of an
    argument and leaves the rest of it free, also among ``exact`` arguments. Arguments that are no object match nothing.
    """

    def __init__(self, wanted: tuple[Wanted, ...], names: frozenset[str] | None) -> None:
        self.wanted = wanted
        self._names = names

    def match(self, given: Json) -> bool | None:
        """Whether a call with the arguments ``given`` (None: not recorded) has these; None where that is not known."""
        if given is None or is_incomplete(given):
            return None
        if type(given) is not dict or (self._names is not None and not self._names.issuperset(given)):
            return False
        verdict: bool | None = True
        for wanted in self.wanted:
            path = wanted.path
            answer = wanted.test(given.get(path[0], UNSET) if len(path) == 1 else lookup_known(given, path))
            if answer is False:
                return False
            verdict = verdict and answer
        return verdict

    def differences(self, given: Json) -> Iterator[str]:
        """In a line each, what keeps a call with the arguments ``given`` from having these."""
        if given is None or is_incomplete(given):
            return
        if type(given) is not dict:
            yield f"expected an object of arguments, found {short(given)}"
            return
        for wanted in self.wanted:
            if (difference := wanted.difference(given)) is not None:
                yield difference
        others = [] if self._names is None else [name for name in given if name not in self._names]
        for name in others[:_MOST_OTHERS]:
            yield f"{name}: expected no such argument, found {short(given[name])}"
        if len(others) > _MOST_OTHERS:
            yield f"expected none of {len(others) - _MOST_OTHERS:,} further arguments"


def read_arguments(
    written: Json, mode: ArgumentsMode, problems: list[CaseProblem], at: tuple[str | int, ...] = ()
) -> Arguments | None:
    """The arguments as a configuration or a dataset writes them, None where any will do.

    What is wrong is added to ``problems``, with its place below ``at``.
    """
    if type(written) is not dict:
        problems.append(CaseProblem("must be an object of arguments by name", at))
        return None
    wanted = []
    for name, value in written.items():
        path = tuple(name.split("."))
        if "" in path:
            problems.append(CaseProblem("is no dotted path: a key in it is empty", (*at, name)))
        if TAG in path:
            problems.append(CaseProblem(f"holds {TAG}, which no argument can have", (*at, name)))
        try:
            wanted.append(Wanted(path, _read(value), value))
        except ConfigError as error:
            message, _, hint = error.message.partition("\n")
            problems.append(CaseProblem(message, (*at, name), hint))
    ordered = sorted(each.path for each in wanted)
    for path, longer in pairwise(ordered):
        if longer[: len(path)] == path:
            message = f"is a part of {'.'.join(path)!r}, which is there too"
            problems.append(CaseProblem(message, (*at, ".".join(longer)), "keep one of them"))
    if mode == "ignore" or (mode == "subset" and not wanted):
        return None
    return Arguments(tuple(wanted), frozenset(path[0] for path in ordered) if mode == "exact" else None)


def short(value: Json) -> str:
    """The beginning of the value's JSON, for a message."""
    if value is UNSET:
        return "nothing"
    if value is UNKNOWN:
        return "what was not recorded"
    text = encode(value).decode()
    return text if len(text) <= 80 else f"{text[:79]}…"


# Literals and matchers


def _read(written: Json) -> Test:
    """The test that an argument's value stands for. ConfigError where it is none."""
    if type(written) is str and written == "any":
        raise _refused(
            "'any' may be meant as a text or as a matcher", "write {any: true}, or {equals: any} for the text"
        )
    if type(written) is not dict or WORDS.isdisjoint(written):
        return _literal(written)
    reader = _READERS.get(frozenset(written))
    if reader is None:
        if written.keys() == {"approx"}:
            raise _refused(*_NO_TOLERANCE)
        word = next(word for word in written if word in WORDS)
        raise _refused(f"has the key {word!r} of a matcher, and others", _AS_OBJECT)
    return reader(written)


def _literal(written: Json) -> Test:
    part = next((part for part in _inner_objects(written) if frozenset(part) in _READERS), None)
    if part is not None:
        hint = f"name its place by a dotted path (customer.id); {_AS_OBJECT}"
        raise _refused(f"holds the matcher {short(part)}", hint)
    return _equals(written)


def _inner_objects(written: Json) -> Iterator[dict[str, Json]]:
    pending = [written]
    while pending:
        part = pending.pop()
        if type(part) is dict:
            yield part
            pending.extend(part.values())
        elif type(part) is list:
            pending.extend(part)


def _equals(value: Json) -> Test:
    if has_unrepresentable(value):
        raise _refused(f"holds {TAG}, which nothing equals")

    def test(found: Json) -> bool | None:
        if equal(found, value):
            return True
        if found is UNKNOWN:
            return None
        return None if has_unrepresentable(found) and unify(found, value) is not CONFLICT else False

    return test


def _regex(pattern: Json) -> Test:
    if type(pattern) is not str:
        raise _refused("regex must be a text")
    search = _pattern(pattern).search

    def test(found: Json) -> bool | None:
        if type(found) is str:
            return search(found) is not None
        return _doubt(found)

    return test


def _approx(value: Json, tolerance: Json) -> Test:
    if not is_number(value):
        raise _refused("approx must be a number")
    if not is_number(tolerance) or tolerance < 0:
        raise _refused(*_NO_TOLERANCE)

    def test(found: Json) -> bool | None:
        return within(found, value, tolerance) if is_number(found) else _doubt(found)

    return test


def _one_of(choices: Json) -> Test:
    if type(choices) is not list:
        raise _refused("one_of must be a list")
    if not choices:
        raise _refused("one_of is empty: no value is one of none")
    tests = [_read(choice) for choice in choices]
    if _any in tests and _absent in tests:
        return _whatever

    def test(found: Json) -> bool | None:
        answers = [test(found) for test in tests]
        return True if True in answers else None if None in answers else False

    return test


def _schema(schema: Json) -> Test:
    if type(schema) is not dict:
        raise _refused("schema must be a JSON Schema, which is an object")
    is_valid = _compiled(encode(schema)).is_valid

    def test(found: Json) -> bool | None:
        if found is UNSET:
            return False
        return None if found is UNKNOWN or has_unrepresentable(found) else bool(is_valid(found))

    return test


def _any(found: Json) -> bool | None:
    return None if found is UNKNOWN else found is not UNSET


def _absent(found: Json) -> bool | None:
    return None if found is UNKNOWN else found is UNSET


def _whatever(found: Json) -> bool | None:
    return True


def _doubt(found: Json) -> bool | None:
    """The answer where ``found`` is not known to be of the right type."""
    return None if found is UNKNOWN or is_incomplete(found) else False


def _flag(word: str, test: Test) -> Callable[[dict[str, Json]], Test]:
    def read(written: dict[str, Json]) -> Test:
        if written[word] is not True:
            raise _refused(f"{word} must be true", _AS_OBJECT)
        return test

    return read


def _refused(message: str, hint: str = "") -> ConfigError:
    return ConfigError("arguments", f"{message}\n{hint}")


@lru_cache(maxsize=1024)
def _pattern(pattern: str) -> Any:
    return compile_pattern("regex", pattern)


@lru_cache(maxsize=1024)
def _compiled(schema: bytes) -> Any:
    return compile_schema(decode(schema), refused=UNBOUNDED)


_READERS: Final[dict[frozenset[str], Callable[[dict[str, Json]], Test]]] = {
    frozenset({"any"}): _flag("any", _any),
    frozenset({"absent"}): _flag("absent", _absent),
    frozenset({"regex"}): lambda written: _regex(written["regex"]),
    frozenset({"approx", "tolerance"}): lambda written: _approx(written["approx"], written["tolerance"]),
    frozenset({"one_of"}): lambda written: _one_of(written["one_of"]),
    frozenset({"schema"}): lambda written: _schema(written["schema"]),
    frozenset({"equals"}): lambda written: _equals(written["equals"]),
}
MATCHERS: Final = frozenset(_READERS)
"""The keys of each matcher."""

WORDS: Final = frozenset({"any", "absent", "regex", "approx", "one_of", "schema", "equals"})
"""What makes an object a matcher, or something to be refused."""
