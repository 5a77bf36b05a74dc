"""Errors that quote what an agent or a dataset says, told without its secrets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from oloproof.errors import OloproofError
from oloproof.model.redaction import Redaction
from oloproof.redaction.scope import Limits, Redactor


def texts_redacted(rules: Redaction | None, texts: tuple[str, ...]) -> tuple[str, ...]:
    """The texts with markers in the place of secrets; as they are where there are no ``rules``."""
    return texts if rules is None or not texts else tuple(map(Redactor(rules).scope().text, texts))


@contextmanager
def problems_redacted(rules: Redaction | None, limits: Limits | None = None) -> Iterator[None]:
    """What is wrong inside is told with markers in the place of secrets; as it is where there are no ``rules``.

    Errors: those from inside.
    """
    try:
        yield
    except OloproofError as error:
        if rules is None:
            raise
        scope = Redactor(rules, limits).scope()
        told = [
            replace(each, message=scope.long_text(each.message), hint=scope.long_text(each.hint))
            for each in error.problems
        ]
        OloproofError.__init__(error, told)
        raise error from None  # a notebook shows what it came from, too
