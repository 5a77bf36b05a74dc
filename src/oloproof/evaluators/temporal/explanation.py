"""Why a text is no rule: what stands there, what could, and what was perhaps meant."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import lark
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from oloproof.errors import did_you_mean, either
from oloproof.evaluators.temporal.errors import RuleError
from oloproof.evaluators.temporal.events import KEYWORDS

_QUOTED: Final = 'a name with other signs than letters, digits, _, -, / and . is quoted: "server:tool"'
_MEANT: Final = {
    "after": "`X only after Y` says that no X comes without a Y before it; `after Y: …` what must follow",
    "immediately": "`X only immediately after Y` restricts X; `after Y: next call is X` says what must follow Y",
    "unless": "`X only after Y`, or `… or eventually Y`",
    "always": "`every call is X`",
    "must": "`eventually X`, or `X before Y`",
    "should": "`eventually X`",
    "requires": "`X only after Y`",
    "needs": "`X only after Y`",
    "without": "`X only after Y`",
    "with": "conditions stand in parentheses: `X(amount > 100)`, `X only after Y(order_id = same)`",
    "where": "conditions stand in parentheses: `X(amount > 100)`",
    "has": "conditions stand in parentheses: `X(amount > 100)`",
    "never": "`never X`",
    "if": "`after X: eventually Y`, or `eventually Y if X`",
    "max": "`X at most 3 times`",
    "min": "`X at least 3 times`",
    "comes": "`X before Y`",
    "when": "`after X: …`, or `eventually Y if X`",
    "fewer": "`at most … times`",
    "steps": "calls are counted: `within 3 calls`",
    "turns": "calls are counted: `within 3 calls`",
    "contains": 'in a text: `matches "…"`',
    "like": 'in a text: `matches "…"`',
    "then": "`X before Y`, or `after X: eventually Y`",
    "implies": "`eventually Y if X`",
    "followed": "`after X: eventually Y`",
    "precedes": "`X before Y`",
    "more": "`at least … times`",
    "less": "`at most … times`",
    "no": "`never X`, or `X at most … times`",
}
_SIGNS_MEANT: Final = {
    "==>": "`eventually Y if X`",
    "=>": "`eventually Y if X`",
    "->": "`X before Y`, or `after X: eventually Y`",
    "/": _QUOTED,
    ":": _QUOTED,
    ".": "a rule has no full stop",
}
_EVENT_ALONE: Final = re.compile(r"(?:^|\b(?:and|or)\b|[:(])\s*(?P<event>(?:(?!\b(?:and|or)\b)[^:])*)$")
"""The last event of a rule, with what comes before it."""
_JOINT: Final = re.compile(r"(?P<event>[\w.-]+)\s+(?P<word>and|or)\s+$")
_LAST_WORD: Final = re.compile(r"(?P<word>\w+)\s*$")
_EVENT: Final = frozenset({"WORD", "TEXT", "ANY", "ERROR", "SUCCESS", "LPAR"})
_SIGNS: Final = {
    "LPAR": "'('",
    "RPAR": "')'",
    "LSQB": "'['",
    "RSQB": "']'",
    "COMMA": "','",
    "COLON": "':'",
    "NUMBER": "a number",
    "EQUALS": "'='",
    "UNEQUAL": "'!='",
    "ORDER": "'<', '<=', '>' or '>='",
}


def explained(error: UnexpectedInput, text: str) -> RuleError:
    """What lark found, in words: what stands there, what could stand there, and what was perhaps meant."""
    if isinstance(error, UnexpectedCharacters):
        position = error.pos_in_stream or 0
        found = text[position]
        if found in "\"'":
            return RuleError("this quote is never closed", text, position)
        return RuleError(f"{found!r} means nothing here", text, position, hint=_sign_meant(text, position))
    assert isinstance(error, UnexpectedToken)
    state: Any = error.interactive_parser
    token, accepted = error.token, state.accepts()
    ended = token.type == "$END"
    position = len(text.rstrip()) if ended else token.start_pos or 0
    found = "the rule ends here, but" if ended else f"{_excerpt(str(token))} cannot come here:"
    return RuleError(f"{found} {_expected(accepted)} must come", text, position, hint=_hint(token, accepted, text))


def _expected(accepted: Iterable[str]) -> str:
    """``a tool or an event``; ``before, until or within``."""
    left = set(accepted)
    words = []
    if "WORD" in left and "BETWEEN" in left:  # every word is the name of an argument
        words, left = ["the name of an argument"], set()
    if "NULL" in left:
        words, left = ["a value"], left - {"WORD", "TEXT", "NUMBER", "TRUE", "FALSE", "NULL"}
    if left >= {"WORD", "ANY"}:
        words, left = ["an event"], left - _EVENT
    if left >= {"WORD", "TEXT"}:
        words, left = ["a name"], left - {"WORD", "TEXT"}
    if "TEXT" in left:
        words, left = ["a quoted text"], left - {"TEXT"}
    ended = ["the end"] if "$END" in left else []
    left.discard("$END")
    words += sorted(_SIGNS.get(name, f"'{name.lower()}'") for name in left)
    words += ended
    return either(words)


def _hint(token: lark.Token, accepted: set[str], text: str) -> str:
    word, position = str(token).lower(), len(text) if token.type == "$END" else token.start_pos or 0
    needs_statement = "ONLY" in accepted and "WORD" not in accepted
    if needs_statement and token.type in ("$END", "AND", "OR"):
        return _unsaid(text[:position].rstrip())
    before = _LAST_WORD.search(text[:position])
    if before is not None and before["word"] not in KEYWORDS and before["word"].lower() in KEYWORDS:
        return f"the words of the language are written small: {before['word'].lower()}"
    if word in _MEANT and not (word == "after" and "AFTER" in accepted):
        return _MEANT[word]
    opening = text[: token.start_pos or 0].strip().lower()
    if opening in _MEANT and opening not in KEYWORDS:
        return _MEANT[opening]
    if needs_statement and token.type in ("NUMBER", "ONCE", "TWICE"):
        return "`exactly`, `at least` or `at most` so many times"
    if "CALL" in accepted and len(accepted) == 1:
        return f"of every call: `every call is X`; of those of one tool: `never {token}(amount > 100)`"
    if "COLON" in accepted:
        return "a colon stands before what must follow: `after X: eventually Y`"
    if word in ("and", "or") and "COMMA" in accepted:
        return "the conditions of a call are joined by commas, and all of them are to be met"
    if word == "at" and "NEVER" in accepted:
        return "`X at most 3 times`: the count follows what is counted"
    if word == "not" and accepted >= {"WORD", "LPAR"}:
        return "an event is denied in parentheses: `(not X)`"
    if word in KEYWORDS and "WORD" in accepted:
        return f'{word} is a word of the language: a tool or an agent of that name is written in quotes, "{word}"'
    if token.type != "WORD":
        return "a value follows `=`" if word == ":" and "EQUALS" in accepted else _sign_meant(text, position)
    return did_you_mean(word, [name.lower() for name in accepted if name.lower() in KEYWORDS])


def _unsaid(text: str) -> str:
    """The hint for a text that ends with an event of which nothing is said."""
    found = _EVENT_ALONE.search(text)
    event = "" if found is None else found["event"].strip()
    if found is None or len(event) > 80 or event.count("(") != event.count(")"):
        return ""
    joint = _JOINT.search(text[: found.start("event")])
    if joint is not None:
        return f"events are joined in parentheses: `({joint['event']} {joint['word']} {event})`"
    return f"say something of it: `eventually {event}`, `never {event}`"


def _sign_meant(text: str, position: int) -> str:
    return next((hint for sign, hint in _SIGNS_MEANT.items() if text.startswith(sign, position)), "")


def _excerpt(text: str) -> str:
    """The beginning of a text that somebody wrote, quoted."""
    return repr(text if len(text) <= 40 else f"{text[:39]}…")
