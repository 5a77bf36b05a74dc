"""Which recording something that a framework tells in this process belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Generic, TypeVar

R = TypeVar("R")


class Listener(Generic[R]):
    """Knows for every span of this process which recording it is of. One of it listens to each framework.

    A recording takes what begins in its context, what begins below that, and, while no other is open, what begins
    where no context is known. What a recording that is over has left running is nobody's. What begins where no context
    is known while several are open may be any of theirs.
    """

    def __init__(self, name: str) -> None:
        self._lock = Lock()
        self._open: list[R] = []
        self._of_span: dict[str, R] = {}
        self._current: ContextVar[R | None] = ContextVar(name, default=None)

    @contextmanager
    def listening(self, recording: R) -> Iterator[None]:
        """Give the recording what happens in this context."""
        with self._lock:
            self._open.append(recording)
        entered = self._current.set(recording)
        try:
            yield
        finally:
            self._current.reset(entered)
            with self._lock:
                self._open = [each for each in self._open if each is not recording]
                self._of_span = {span: kept for span, kept in self._of_span.items() if kept is not recording}

    def started(self, span_id: str, parent_id: str) -> R | None:
        """The recording of a span that begins now; None: of none."""
        here = self._current.get()
        with self._lock:
            recording = here if any(each is here for each in self._open) else self._of_span.get(parent_id)
            if recording is None and here is None and len(self._open) == 1:
                (recording,) = self._open
            if recording is not None:
                self._of_span[span_id] = recording
        return recording

    def perhaps_of(self) -> tuple[R, ...]:
        """The recordings that a span may be of which begins now and has just :meth:`started` as none's."""
        with self._lock:
            return tuple(self._open) if self._current.get() is None else ()

    def recording_of(self, span_id: str) -> R | None:
        """The recording of a span that began earlier; with "", that of the context."""
        with self._lock:
            return self._of_span.get(span_id) or (self._current.get() if not span_id else None)
