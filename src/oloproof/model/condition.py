"""The condition of ``only:``, a small language over the case: ``metadata.surface == chat and not id in [c1, c2]``.

Grammar, loosest first::

    condition  = conjunction { "or" conjunction }
    conjunction = negation { "and" negation }
    negation   = "not" negation | "(" condition ")" | comparison
    comparison = path ("==" | "!=" | "<" | "<=" | ">" | ">=") literal
               | path ["not"] "in" "[" literal { "," literal } "]"
    path       = "id" | "input" { "." key } | ("expected" | "metadata") "." key { "." key }
    literal    = a JSON number, true, false, null, a quoted text, or a bare word (a text)

``==`` is JSON equality (1 equals 1.0, true does not equal 1). The orderings hold between two numbers and between two
texts (by code point) and are false otherwise. Where the path is absent from the case, comparisons are false; ``!=`` and
``not in``, which deny one, are therefore true.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable
from typing import Final, Literal, get_args

from msgspec import Struct

from oloproof.model.case import Case
from oloproof.model.values import Json, equal, lookup

MAX_DEPTH: Final = 50

Operator = Literal["==", "!=", "<", "<=", ">", ">="]


class Comparison(Struct, frozen=True):
    """``path operator literal``."""

    path: tuple[str, ...]
    operator: Operator
    literal: Json

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        return (self.path,)

    def holds(self, case: Case) -> bool:
        found = _at(case, self.path)
        match self.operator:
            case "==":
                return equal(found, self.literal)
            case "!=":
                return not equal(found, self.literal)
            case "<" | "<=" | ">" | ">=":
                return _ordered(found, self.literal) and _ORDERINGS[self.operator](found, self.literal)


class Membership(Struct, frozen=True):
    """``path in [literal, …]``."""

    path: tuple[str, ...]
    literals: tuple[Json, ...]

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        return (self.path,)

    def holds(self, case: Case) -> bool:
        found = _at(case, self.path)
        return any(equal(found, literal) for literal in self.literals)


class Not(Struct, frozen=True):
    """``not operand``."""

    operand: Condition

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        return self.operand.paths

    def holds(self, case: Case) -> bool:
        return not self.operand.holds(case)


class And(Struct, frozen=True):
    """Every operand holds."""

    operands: tuple[Condition, ...]

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        return tuple(path for operand in self.operands for path in operand.paths)

    def holds(self, case: Case) -> bool:
        return all(operand.holds(case) for operand in self.operands)


class Or(Struct, frozen=True):
    """Some operand holds."""

    operands: tuple[Condition, ...]

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        return tuple(path for operand in self.operands for path in operand.paths)

    def holds(self, case: Case) -> bool:
        return any(operand.holds(case) for operand in self.operands)


Condition = Comparison | Membership | Not | And | Or


def parse(text: str) -> Condition:
    """The condition that ``text`` writes. ValueError, with a caret under the place, where it writes none."""
    parser = _Parser(text)
    condition = parser.disjunction()
    parser.expect_end()
    return condition


_ORDERINGS: Final[dict[str, Callable[[Json, Json], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _at(case: Case, path: tuple[str, ...]) -> Json:
    return lookup(getattr(case, path[0]), path[1:])


def _ordered(a: Json, b: Json) -> bool:
    numbers = (int, float)
    return (type(a) in numbers and type(b) in numbers) or (type(a) is str and type(b) is str)


_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<sign>==|!=|<=|>=|[<>()\[\],])
      | (?P<text>"(?:[^"\\]|\\.)*"|'[^']*')
      | (?P<word>[^\s()\[\],=!<>"']+)""",
    re.VERBOSE | re.DOTALL,
)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_KEYWORDS = frozenset({"and", "or", "not", "in"})
_CONSTANTS: Final[dict[str, Json]] = {"true": True, "false": False, "null": None}


class _Token(Struct, frozen=True):
    """``kind`` is ``sign``, ``text`` (quoted), ``word`` or ``end``; ``start`` its first column, from 0."""

    kind: str
    text: str
    start: int


def _tokens(text: str) -> list[_Token]:
    tokens = []
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            what = "this quote is never closed" if text[position] in "\"'" else f"{text[position]!r} means nothing here"
            raise _error(text, position, what)
        if found.lastgroup != "space":
            tokens.append(_Token(found.lastgroup or "", found.group(), position))
        position = found.end()
    tokens.append(_Token("end", "", len(text)))
    return tokens


def _error(text: str, position: int, message: str) -> ValueError:
    line = "".join(" " if character.isspace() else character for character in text)
    return ValueError(f"{message}\n  {line}\n  {' ' * position}^")


class _Parser:
    """Recursive descent, one method a rule of the grammar."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.next = 0
        self.depth = 0

    @property
    def token(self) -> _Token:
        return self.tokens[self.next]

    def error(self, message: str) -> ValueError:
        return _error(self.text, self.token.start, message)

    def take(self, text: str) -> bool:
        """Step over the word or sign ``text`` if it comes next."""
        if self.token.kind == "text" or self.token.text != text:
            return False
        self.next += 1
        return True

    def expect(self, text: str) -> None:
        if not self.take(text):
            raise self.error(f"'{text}' is missing")

    def expect_end(self) -> None:
        if self.token.kind != "end":
            raise self.error("'and', 'or' or the end must come here")

    def disjunction(self) -> Condition:
        operands = [self.conjunction()]
        while self.take("or"):
            operands.append(self.conjunction())
        return operands[0] if len(operands) == 1 else Or(tuple(operands))

    def conjunction(self) -> Condition:
        operands = [self.negation()]
        while self.take("and"):
            operands.append(self.negation())
        return operands[0] if len(operands) == 1 else And(tuple(operands))

    def negation(self) -> Condition:
        if self.depth == MAX_DEPTH:
            raise self.error(f"nested deeper than {MAX_DEPTH} levels")
        self.depth += 1
        condition: Condition
        if self.take("not"):
            condition = Not(self.negation())
        elif self.take("("):
            condition = self.disjunction()
            self.expect(")")
        else:
            condition = self.comparison()
        self.depth -= 1
        return condition

    def comparison(self) -> Condition:
        path = self.path()
        if self.take("not"):
            self.expect("in")
            return Not(Membership(path, self.literals()))
        if self.take("in"):
            return Membership(path, self.literals())
        for sign in get_args(Operator):
            if self.take(sign):
                return Comparison(path, sign, self.literal())
        raise self.error("a comparison (==, !=, <, <=, >, >=, in, not in) must come here")

    def path(self) -> tuple[str, ...]:
        path = tuple(self.token.text.split(".")) if self.token.kind == "word" else ("",)
        match path:
            case ("id",) | ("input", *_) | ("expected" | "metadata", _, *_) if "" not in path:
                self.next += 1
                return path
            case _:
                raise self.error("a path must come here: id, input, input.<key>, expected.<key> or metadata.<key>")

    def literals(self) -> tuple[Json, ...]:
        self.expect("[")
        literals = [self.literal()]
        while self.take(","):
            literals.append(self.literal())
        self.expect("]")
        return tuple(literals)

    def literal(self) -> Json:
        token = self.token
        if token.kind not in ("word", "text") or (token.kind == "word" and token.text in _KEYWORDS):
            raise self.error("a value must come here: a number, true, false, null, a word or a quoted text")
        self.next += 1
        if token.kind == "text":
            return self.quoted(token)
        if token.text in _CONSTANTS:
            return _CONSTANTS[token.text]
        return self.number(token) if _NUMBER.fullmatch(token.text) else token.text

    def quoted(self, token: _Token) -> str:
        if token.text.startswith("'"):
            return token.text[1:-1]
        try:
            return str(json.loads(token.text, strict=False))
        except ValueError:
            raise _error(self.text, token.start, "the escapes in this text are not JSON's") from None

    def number(self, token: _Token) -> int | float:
        try:
            number: int | float = json.loads(token.text)
        except ValueError:  # more digits than an int may have
            number = math.inf
        if math.isinf(number):
            raise _error(self.text, token.start, "this number is too large")
        return number
