"""SIGINT and SIGTERM while a server runs: who hears them, and that they are afterwards what they were."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Final

ENDING: Final = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def ending(heard: Callable[[], object]) -> Iterator[None]:
    """Call ``heard`` when a signal asks this process to end, instead of what would happen else.

    Only the main thread may say what signals do. In any other nothing is changed: whoever started it hears them.
    """
    if current_thread() is not main_thread():
        yield
        return
    before = {each: signal.signal(each, lambda *_: heard()) for each in ENDING}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
