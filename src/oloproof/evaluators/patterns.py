"""User patterns, compiled by RE2: their time is linear in the text, whatever pattern and text are."""

from __future__ import annotations

import re
from typing import Any, Final, Literal

from oloproof.evaluators.base import ConfigError

NO_LOOKAROUND: Final = "RE2 has neither lookaround nor back-references"


def compile_pattern(field: str, pattern: str, *, engine: Literal["re2", "python"] = "re2") -> Any:
    """The compiled pattern (``.search(text)``). ConfigError, on ``field``, where the engine refuses it."""
    if engine == "python":
        try:
            return re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise ConfigError(field, f"Python cannot compile {pattern!r}: {error}") from None
    import re2  # imported late: most suites have no pattern

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
    message = f"RE2 cannot compile {pattern!r}: {reason}"
    if "perl operator" in reason or "invalid escape" in reason:
        way_out = "; what needs them asks for `engine: python`" if field == "pattern" else ""
        message += f"; {NO_LOOKAROUND}{way_out}"
    raise ConfigError(field, message)
