"""Spans and log events. Spans need opentelemetry-api; where they go is for the SDK that the user has set up."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

LOGGER: Final = logging.getLogger("oloproof.service")
"""Where the log events go. A record's message is the event's name, and its ``event`` a dict of the fields."""


def log(name: str, level: int, fields: Mapping[str, Any], *, error: BaseException | None = None) -> None:
    """Write a log event."""
    if LOGGER.isEnabledFor(level):
        LOGGER.log(level, name, extra={"event": dict(fields)}, exc_info=error)


class OpenSpan:
    """A span from its start to :meth:`end`; nothing at all where opentelemetry-api is not installed."""

    def __init__(self, name: str, *, parent: OpenSpan | None = None) -> None:
        self._trace = _trace()
        self._span: Any = None
        self._context: Any = None
        if self._trace is not None:
            above = None if parent is None else parent._context
            self._span = self._trace.get_tracer("oloproof.service").start_span(name, context=above)
            self._context = self._trace.set_span_in_context(self._span, above)

    @property
    def is_recording(self) -> bool:
        """Whether anybody wants to know."""
        return self._span is not None and self._span.is_recording()

    def set(self, **attributes: Any) -> None:
        """Set attributes, named without their prefix ``oloproof.`` and with ``__`` for a dot."""
        if self._span is not None:
            for name, value in attributes.items():
                self._span.set_attribute("oloproof." + name.replace("__", "."), value)

    def fail(self, what: str) -> None:
        """Mark the span as failed."""
        if self._span is not None:
            self._span.set_status(self._trace.StatusCode.ERROR, what)

    def end(self) -> None:
        """End the span."""
        if self._span is not None:
            self._span.end()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Spans that start in here are its children. It must be left in the task that entered it."""
        if not self.is_recording:
            yield
            return
        from opentelemetry import context

        token = context.attach(self._context)
        try:
            yield
        finally:
            context.detach(token)


@cache
def _trace() -> Any:
    """``opentelemetry.trace``, None where it is not installed."""
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace
