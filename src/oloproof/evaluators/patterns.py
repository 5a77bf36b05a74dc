"""User patterns, compiled by RE2: their time is linear in the text, whatever pattern and text are."""

from __future__ import annotations

from typing import Any

from oloproof.evaluators.base import ConfigError


def compile_pattern(field: str, pattern: str) -> Any:
    """The compiled pattern (``.search(text)``). ConfigError, on ``field``, where RE2 refuses it."""
    import re2  # imported late: most suites have no pattern

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
    message = f"RE2 cannot compile {pattern!r}: {reason}"
    if "perl operator" in reason or "invalid escape" in reason:
        message += "; what needs lookaround or back-references is an @evaluator function that uses re"
    raise ConfigError(field, message)
