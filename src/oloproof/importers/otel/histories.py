"""The histories that models are sent: mostly what is known already, over and over, and now and then something new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct

from oloproof.importers.otel.known import Known
from oloproof.importers.otel.messages import Answer, Asked, Media, Message, Text, Unread
from oloproof.importers.otel.story import Planned
from oloproof.importers.otel.traces import Node
from oloproof.importers.pairing import Call, Waiting
from oloproof.model.values import Json


class AskedBefore(Struct, kw_only=True):
    """A call in a history, with its result there, if any."""

    name: str
    call_id: str
    arguments: Json
    answer: Answer | None = None


class Unknown(Struct):
    """An earlier answer of a model of which there is no other record."""

    text: str | None
    calls: list[AskedBefore]


class Found(Struct):
    """What a history tells that is new: words of the user, answers of models, results of calls."""

    words: list[Json]
    unknown: list[Unknown]
    answered: list[tuple[Planned, Answer]]


class _Seen(Struct):
    """How many messages of users there were, and the last of them."""

    count: int
    last: list[Json]


class Histories:
    """All histories of a run, in order. ``opening``: the messages with which it begins; None: not recorded."""

    def __init__(self, known: Known, losses: Counter[str]) -> None:
        self.opening: list[Message] | None = None
        self.lacks_something = False
        """A history of this run has the result of a call that is not known, or what may be a call."""
        self._known = known
        self._losses = losses
        self._seen: dict[Any, _Seen] = {}
        self._words: list[Json] = []
        self._unasked: set[str] = set()
        self._begun = False

    def begin(self) -> None:
        """Another trace begins."""
        self._seen.clear()
        self._words = []

    def open(self, node: Node) -> list[Json]:
        """The user's words with which a trace begins, as the first that acts heard them, or what is around it; [None]
        where they were not recorded."""
        first = not self._begun
        self._begun = True
        messages = _heard_around(node)
        if not messages:
            return [None]
        start, words = _last_words(messages)
        if first:
            self.opening = messages[: _end_of_opening(messages, start)]
            self._losses["earlier_turns"] += any(message.role == "assistant" for message in messages[:start])
        self._words += words
        self._seen[node.scope] = _Seen(_count(messages), words)
        return words or [None]

    def read(self, messages: list[Message], scope: Any, *, is_inside: bool) -> Found:
        """What one history of the agent's (``scope``) tells. Inside of a tool nobody else has a word."""
        start, words = _last_words(messages)
        found = Found([], [], [])
        if not is_inside:
            found.words = self._new_words(messages, words, scope)
        self._read_calls(messages, start, found)
        return found

    def _new_words(self, messages: list[Message], words: list[Json], scope: Any) -> list[Json]:
        before = self._seen.get(scope)
        count = _count(messages)
        self._seen[scope] = _Seen(count, words)
        if before is None:
            new = [word for word in words if word not in self._words]
        elif count > before.count:
            new = words[-(count - before.count) :]
        else:
            new = [] if words == before.last else [word for word in words if word not in before.last]
        self._words += new
        return new

    def _read_calls(self, messages: Sequence[Message], start: int, found: Found) -> None:
        asked: list[tuple[int, Asked]] = []
        answers: dict[int, Answer] = {}
        strangers: list[tuple[int, Answer]] = []
        waiting = Waiting()
        for number, message in enumerate(messages):
            for part in message.parts:
                if isinstance(part, Asked):
                    waiting.add(Call(len(asked), part.name, part.call_id, number))
                    asked.append((number, part))
                elif isinstance(part, Answer):
                    call = waiting.answer(part.call_id, part.name or None)
                    if call is None:
                        strangers.append((number, part))
                    else:
                        answers[call.index] = part
                elif isinstance(part, Unread) and number >= start and part.may_be_call:
                    self.lacks_something = True
        if asked:
            matched = self._match(asked)
            for place, planned in sorted(matched.items()):
                if place in answers:
                    found.answered.append((planned, answers[place]))
            found.unknown = _unknown(messages, start, asked, matched, answers)
        for number, answer in strangers:
            self._read_stranger(answer, found, is_earlier=number < start)

    def _match(self, asked: list[tuple[int, Asked]]) -> dict[int, Planned]:
        """The calls of a history that are known, by their places."""
        history = self._known.history()
        matched: dict[int, Planned] = {}
        ways: tuple[Callable[[Asked], Planned | None], ...] = (
            lambda call: history.match_same(call.name, call.call_id, call.arguments),
            lambda call: history.match_id(call.name, call.call_id),
            lambda call: history.match(call.name, call.arguments),
        )
        for match in ways:
            for place in range(len(asked) - 1, -1, -1):
                if place not in matched and (planned := match(asked[place][1])) is not None:
                    matched[place] = planned
        return matched

    def _read_stranger(self, answer: Answer, found: Found, *, is_earlier: bool) -> None:
        """A result whose call is not in the history: that of the call with its id."""
        planned = next((call for call in reversed(self._known.by_id(answer.call_id)) if not call.answered), None)
        if planned is not None:
            found.answered.append((planned, answer))
        elif answer.call_id and answer.call_id not in self._unasked and not self._known.by_id(answer.call_id):
            self._unasked.add(answer.call_id)
            self._losses["results_without_call"] += 1
            self.lacks_something |= not is_earlier


def _heard_around(node: Node) -> list[Message] | None:
    """What was said to a node, or to the nearest around it that says so."""
    around: Node | None = node
    for _ in range(64):
        if around is None:
            return None
        if around.seen is not None and around.seen.heard is not None:
            messages = around.seen.heard()
            if messages:
                return messages
        around = around.up
    return None


def _unknown(
    messages: Sequence[Message],
    start: int,
    asked: list[tuple[int, Asked]],
    matched: dict[int, Planned],
    answers: dict[int, Answer],
) -> list[Unknown]:
    """The answers since the user's last words that ask for calls of which there is no other record."""
    unknown: dict[int, Unknown] = {}
    for place, (number, call) in enumerate(asked):
        if number < start or place in matched:
            continue
        turn = unknown.setdefault(number, Unknown(messages[number].text, []))
        turn.calls.append(
            AskedBefore(name=call.name, call_id=call.call_id, arguments=call.arguments, answer=answers.get(place))
        )
    return list(unknown.values())


def _last_words(messages: Sequence[Message]) -> tuple[int, list[Json]]:
    """Where the last words of the user begin, and what they are."""
    end = next((at for at in range(len(messages) - 1, -1, -1) if messages[at].is_heard), -1)
    if end < 0:
        return 0, []
    start = end
    while start > 0 and messages[start - 1].role in ("user", "system") and not messages[start - 1].answers:
        start -= 1
    return start, [_content(message) for message in messages[start : end + 1] if message.is_heard]


def _end_of_opening(messages: Sequence[Message], start: int) -> int:
    end = start
    while end < len(messages) and messages[end].role in ("user", "system"):
        end += 1
    return end


def _content(message: Message) -> Json:
    """The text of a message, or its parts where not all of them are text."""
    if any(isinstance(part, Media) for part in message.parts):
        shown = (part for part in message.parts if isinstance(part, Text | Media))
        return [{"type": "text", "text": part.text} if isinstance(part, Text) else part.part for part in shown]
    return message.text


def _count(messages: Iterable[Message]) -> int:
    return sum([message.is_heard for message in messages])
