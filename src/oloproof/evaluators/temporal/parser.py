"""From the text of a rule to its tree, or to one error with its place.

Every text of at most :data:`MAX_LENGTH` characters gives one or the other.
"""

from __future__ import annotations

import json
import math
from functools import lru_cache
from typing import Any, Final

import lark
from lark.exceptions import UnexpectedInput, VisitError

from oloproof.evaluators.base import ConfigError
from oloproof.evaluators.patterns import NO_LOOKAROUND, compile_pattern
from oloproof.evaluators.temporal import events, syntax
from oloproof.evaluators.temporal.errors import RuleError
from oloproof.evaluators.temporal.events import Condition, Deniable, Event, Path
from oloproof.evaluators.temporal.explanation import explained
from oloproof.evaluators.temporal.grammar import GRAMMAR, VALUES
from oloproof.evaluators.temporal.syntax import Statement
from oloproof.model.values import MAX_DEPTH as DEEPEST
from oloproof.model.values import snapshot

MAX_LENGTH: Final = 4_000
MAX_DEPTH: Final = 40
MAX_COUNT: Final = 1_000


class Parsed:
    """The statement that a text makes, and where in the text its parts begin."""

    def __init__(self, text: str, statement: Statement, places: Places) -> None:
        self.text = text
        self.statement = statement
        self._places = places

    def place(self, node: syntax.Node) -> int:
        """The position, from 0, of an event or condition of the tree; 0 where it is not known."""
        return self._places.of(node)


class Places:
    """Where nodes begin. Nodes are told apart by identity, since equal ones stand at several places."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, int]] = {}

    def note(self, node: Any, position: int) -> None:
        self._known.setdefault(id(node), (node, position))

    def of(self, node: Any) -> int:
        return self._known.get(id(node), (None, 0))[1]


def parse(text: str) -> Parsed:
    """The rule that ``text`` writes. RuleError where it writes none."""
    if len(text) > MAX_LENGTH:
        raise RuleError(f"a rule has at most {MAX_LENGTH:,} characters, and this one has {len(text):,}", text, 0)
    if not text.strip():
        raise RuleError("the rule is empty", text, 0, hint="for example: lookup_order before issue_refund")
    places = Places()
    try:
        tree = _parser().parse(text)
        statement: Any = _Builder(text, places).transform(tree)
    except UnexpectedInput as error:
        raise explained(error, text) from None
    except VisitError as error:
        raise error.orig_exc from None
    _refuse_depth(statement, text, places)
    return Parsed(text, statement, places)


@lru_cache(maxsize=1)
def _parser() -> lark.Lark:
    return lark.Lark(GRAMMAR, parser="lalr", lexer="basic", start="rule", propagate_positions=True)


def _refuse_depth(statement: Statement, text: str, places: Places) -> None:
    pending: list[tuple[Event | Statement, int]] = [(statement, 1)]
    while pending:
        node, depth = pending.pop()
        if depth > MAX_DEPTH:
            raise RuleError(f"nested deeper than {MAX_DEPTH} levels", text, places.of(node))
        pending += [(part, depth + 1) for part in syntax.parts(node)]


class _Builder(lark.visitors.Transformer_NonRecursive[lark.Token, Any]):
    """One method a rule of the grammar, named like it."""

    def __init__(self, text: str, places: Places) -> None:
        super().__init__()
        self.text = text
        self.places = places

    def __default__(self, data: str, children: list[Any], meta: Any) -> Any:
        build = getattr(self, f"on_{data}")
        node = build(*children)
        if not meta.empty:
            self.places.note(node, meta.start_pos)
        return node

    def error(self, message: str, token: lark.Token, hint: str = "") -> RuleError:
        return RuleError(message, self.text, token.start_pos or 0, hint=hint)

    # Statements

    def on_some(self, *statements: Statement) -> Statement:
        return syntax.Some(statements)

    def on_all(self, *statements: Statement) -> Statement:
        return syntax.All(statements)

    def on_negation(self, statement: Statement) -> Statement:
        return syntax.Not(statement)

    def on_after(self, event: Event, body: Statement) -> Statement:
        return syntax.After(event, body)

    def on_before_first(self, event: Event, body: Statement) -> Statement:
        return syntax.Before(event, body)

    def on_condition(self, body: Statement, event: Event) -> Statement:
        return syntax.If(body, event)

    def on_between(self, body: Statement, first: Event, last: Event) -> Statement:
        return syntax.After(first, syntax.Before(last, body))

    def on_never(self, event: Event) -> Statement:
        return syntax.Times(event, 0, 0)

    def on_eventually(self, event: Event) -> Statement:
        return syntax.Times(event, 1, None)

    def on_every(self, event: Event) -> Statement:
        return syntax.Every(event)

    def on_last(self, event: Event) -> Statement:
        return syntax.Last(event)

    def on_next(self, event: Event) -> Statement:
        return syntax.Within(event, 1)

    def on_within(self, event: Event, calls: lark.Token) -> Statement:
        return syntax.Within(event, self.whole(calls, least=1, says="within 0 calls there is none"))

    def on_exactly(self, event: Event, times: lark.Token, per: Path | None) -> Statement:
        count = self.whole(times)
        if per is not None:
            raise self.error("a count per value has an upper bound alone", times, hint="at most … times per …")
        return syntax.Times(event, count, count)

    def on_at_least(self, event: Event, times: lark.Token, per: Path | None) -> Statement:
        count = self.whole(times, least=1, says="at least 0 times is true of every run")
        if per is not None:
            raise self.error("a count per value has an upper bound alone", times, hint="at most … times per …")
        return syntax.Times(event, count, None)

    def on_at_most(self, event: Event, times: lark.Token, per: Path | None) -> Statement:
        return syntax.Times(event, 0, self.whole(times), per)

    def on_before(self, first: Event, then: Event) -> Statement:
        return syntax.Precedes(first, then)

    def on_only_after(self, then: Event, first: Event) -> Statement:
        return syntax.Precedes(first, then)

    def on_only_immediately_after(self, then: Event, first: Event) -> Statement:
        return syntax.Precedes(first, then, immediately=True)

    def on_until(self, event: Event, goal: Event) -> Statement:
        return syntax.Until(event, goal)

    def on_count(self, number: lark.Token) -> lark.Token:
        return number

    on_times = on_count

    def whole(self, token: lark.Token, *, least: int = 0, says: str = "") -> int:
        text = {"once": "1", "twice": "2"}.get(token, str(token))
        if not text.isdecimal() or not text.isascii():
            raise self.error("a count is a whole number", token)
        if len(text) > 9 or int(text) > MAX_COUNT:
            raise self.error(f"a count is at most {MAX_COUNT:,}", token)
        if int(text) < least:
            raise self.error(says, token)
        return int(text)

    # Events

    def on_any_of(self, *each: Event) -> Event:
        return events.AnyOf(each)

    def on_all_of(self, *each: Event) -> Event:
        return events.AllOf(each)

    def on_no_event(self, event: Event) -> Event:
        return events.NoEvent(event)

    def on_call(self, tool: str | None, *conditions: Condition | None) -> Event:
        return events.Call(tool, tuple([condition for condition in conditions if condition is not None]))

    def on_failed(self, event: Event | None) -> Event:
        return events.Ended(event or events.Call(None), failed=True)

    def on_succeeded(self, event: Event | None) -> Event:
        return events.Ended(event or events.Call(None), failed=False)

    def on_by(self, event: events.Call | events.Ended, agent: str) -> Event:
        return events.By(event, agent)

    def on_tool(self, name: str | lark.Token) -> str | None:
        return None if isinstance(name, lark.Token) else name

    def on_name(self, token: lark.Token) -> str:
        name = self.unquoted(token)
        if not name:
            raise self.error("a name is not empty", token)
        return name

    # Conditions

    def on_equals(self, path: Path, _: lark.Token, value: str) -> Condition:
        return events.Equals(path, value)

    def on_unequal(self, path: Path, _: lark.Token, value: str) -> Condition:
        return events.Unlike(events.Equals(path, value))

    def on_ordered(self, path: Path, order: Any, value: str) -> Condition:
        if not isinstance(json.loads(value), int | float) or value in VALUES:
            raise self.error(f"{order} compares with a number, not with {value}", order)
        return events.Ordered(path, order.value, value)

    def on_same(self, path: Path, _: lark.Token, other: Path | None) -> Condition:
        return events.Same(path, other or path)

    def on_not_same(self, path: Path, sign: lark.Token, other: Path | None) -> Condition:
        return events.Unlike(events.Same(path, other or path))

    def on_one_of(self, path: Path, *values: str) -> Deniable:
        return events.OneOf(path, values)

    def on_not_one_of(self, path: Path, *values: str) -> Condition:
        return events.Unlike(self.on_one_of(path, *values))

    def on_matches(self, path: Path, pattern: lark.Token) -> Deniable:
        return events.Matches(path, self.pattern(pattern))

    def on_not_matches(self, path: Path, pattern: lark.Token) -> Condition:
        return events.Unlike(self.on_matches(path, pattern))

    def on_derived(self, path: Path, source: tuple[str | None, Any, Path]) -> Deniable:
        return events.Derived(path, *source)

    def on_not_derived(self, path: Path, source: tuple[str | None, Any, Path]) -> Condition:
        return events.Unlike(self.on_derived(path, source))

    def on_present(self, path: Path) -> Condition:
        return events.Given(path)

    def on_absent(self, path: Path) -> Condition:
        return events.Unlike(events.Given(path))

    def on_keyword(self, token: lark.Token) -> lark.Token:
        return token

    def on_path(self, token: lark.Token) -> Path:
        if token.type == "TEXT":
            return (self.on_name(token),)
        keys = tuple(token.split("."))
        if len(keys) > DEEPEST:
            raise self.error(f"a path has at most {DEEPEST} keys: no value is nested deeper", token)
        return keys

    def on_source(self, token: lark.Token, tail: lark.Token | None = None) -> tuple[str | None, str, Path]:
        if tail is not None:
            name, keys = self.on_name(token), tail.split(".")[1:]
        else:
            keys = token.split(".")
            channel = next((place for place, key in enumerate(keys) if key in ("result", "arguments") and place), 0)
            name, keys = ".".join(keys[:channel]), keys[channel:]
        if not name or not keys or keys[0] not in ("result", "arguments"):
            hint = f"for example: from {name or keys[0]}.result.id"
            raise self.error(f"{token} does not say of what: its .result or its .arguments", token, hint)
        if keys[0] == "arguments" and len(keys) == 1:
            raise self.error(f"{token} does not say which of the arguments", token)
        is_any = tail is None and name == events.ANY_TOOL
        return None if is_any else name, keys[0], tuple(keys[1:])

    def on_literal(self, token: lark.Token) -> str:
        match token.type:
            case "TRUE" | "FALSE" | "NULL":
                return str(token)
            case "NUMBER":
                return self.number(token)
            case _:
                return events.quoted(self.unquoted(token))

    def number(self, token: lark.Token) -> str:
        try:
            value = json.loads(token)
        except ValueError:  # leading zeros, or more digits than an int may have
            raise self.error(f"{token[:40]} is no number of JSON's", token) from None
        if value == math.inf or value == -math.inf or snapshot(value) != value:
            raise self.error("this number is too large", token)
        return str(token)

    def unquoted(self, token: lark.Token) -> str:
        if token.type != "TEXT":
            return str(token)
        if token.startswith("'"):
            return token[1:-1]
        try:
            text = str(json.loads(token, strict=False))
        except ValueError:
            hint = "a text in single quotes has no escapes: '^[0-9]+\\.$'"
            raise self.error("the escapes in this text are not JSON's", token, hint) from None
        if snapshot(text) != text:
            raise self.error("the text holds half of a surrogate pair, which is no character", token)
        return text

    def pattern(self, token: lark.Token) -> str:
        pattern = self.unquoted(token)
        try:
            compile_pattern("rule", pattern)
        except ConfigError as error:
            message = error.message.removesuffix(f"; {NO_LOOKAROUND}")
            hint = NO_LOOKAROUND if message != error.message else ""
            raise self.error(message, token, hint) from None
        return pattern
