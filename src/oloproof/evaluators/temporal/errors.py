"""What is wrong with a rule, and where in its text."""

from __future__ import annotations

from typing import Final

BAD_SYNTAX: Final = "OLO670"
SAYS_NOTHING: Final = "OLO671"
TOO_LARGE: Final = "OLO672"

_AROUND: Final = 60
"""How many characters of a long rule are shown on each side of the place."""


class RuleError(ValueError):
    """A text that is no rule, or a rule that says nothing. ``position`` counts the characters before the place."""

    def __init__(self, message: str, text: str, position: int, *, hint: str = "", code: str = BAD_SYNTAX) -> None:
        self.message = message
        self.text = text
        self.position = position
        self.hint = hint
        self.code = code
        super().__init__(message)

    @property
    def excerpt(self) -> str:
        """The rule, or what is around the place, and a caret under it."""
        line = "".join(character if character.isprintable() else " " for character in self.text)
        start = max(0, self.position - _AROUND) if len(line) > 2 * _AROUND else 0
        end = start + 2 * _AROUND
        before, after = "…" if start else "", "…" if end < len(line) else ""
        return f"  {before}{line[start:end]}{after}\n  {' ' * (len(before) + self.position - start)}^"
