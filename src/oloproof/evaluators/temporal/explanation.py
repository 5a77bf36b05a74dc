"""Why a text is no rule: what stands there, what could, and what was perhaps meant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import lark
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from oloproof.errors import did_you_mean
from oloproof.evaluators.temporal.errors import RuleError
from oloproof.evaluators.temporal.events import KEYWORDS

_MEANT: Final = {
    "after": "`X only after Y` says that no X comes without a Y before it; `after Y: …` what must follow",
    "immediately": "`X only immediately after Y` restricts X; `after Y: next call is X` says what must follow Y",
    "unless": "`X only after Y`, or `… or eventually Y`",
    "always": "`every call is X`",
    "must": "`eventually X`",
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
    "->": "`X before Y`, or `after X: eventually Y`",
    "then": "`X before Y`, or `after X: eventually Y`",
    "implies": "`eventually Y if X`",
    "followed": "`after X: eventually Y`",
    "precedes": "`X before Y`",
    "more": "`at least … times`",
    "less": "`at most … times`",
    "no": "`never X`",
    "==>": "`eventually Y if X`",
}
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
        hint = next((meant for sign, meant in _MEANT.items() if text.startswith(sign, position)), "")
        return RuleError(f"{found!r} means nothing here", text, position, hint=hint)
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
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _hint(token: lark.Token, accepted: set[str], text: str) -> str:
    word = str(token).lower()
    if token.type == "$END" and "ONLY" in accepted and "WORD" not in accepted:
        return f"say something of it: `eventually {text.strip()}`, `never {text.strip()}`" if len(text) < 80 else ""
    if word in _MEANT and not (word == "after" and "AFTER" in accepted):
        return _MEANT[word]
    opening = text[: token.start_pos or 0].strip().lower()
    if opening in _MEANT and opening not in KEYWORDS:
        return _MEANT[opening]
    if "CALL" in accepted and len(accepted) == 1:
        return f"of every call: `every call is X`; of those of one tool: `never {token}(amount > 100)`"
    if "COLON" in accepted:
        return "a colon stands before what must follow: `after X: eventually Y`"
    if word in KEYWORDS and "WORD" in accepted:
        return f'{word} is a word of the language: a tool or an agent of that name is written in quotes, "{word}"'
    known = [name.lower() for name in accepted if name.lower() in KEYWORDS]
    return did_you_mean(word, known) if token.type == "WORD" else ""


def _excerpt(text: str) -> str:
    """The beginning of a text that somebody wrote, quoted."""
    return repr(text if len(text) <= 40 else f"{text[:39]}…")
