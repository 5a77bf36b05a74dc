"""What a page is told of a run that goes on: how far it is, and when it has ended, as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from threading import Event
from typing import Any

from oloproof.model.progress import Progress
from oloproof.pipeline.watching import progress
from oloproof.reports.progress import progress_view
from oloproof.view.pages import Shelf, wrong

LOOK_EVERY_S = 1.0
"""Between two looks at the store; longer the more a look has to count."""
ATTEMPTS_A_SECOND = 2_000
_SILENT_S = 15.0
_WAKE_EVERY_S = 0.2


def look(shelf: Shelf, name: str) -> Progress:
    """How far the run is at this moment."""
    with shelf.opened() as store:
        return progress(store, store.find(name))


async def told(
    looking: Callable[[], Progress], stop: Event, *, config: str, every_s: float = LOOK_EVERY_S
) -> AsyncIterator[bytes]:
    """The events, until the run has ended, cannot be read any more, or ``stop`` is set.

    ``progress`` comes at once and whenever something changed, ``ended`` and ``problem`` come last.
    """
    before, silent_s = None, 0.0
    while not stop.is_set():
        try:
            found = await asyncio.to_thread(looking)
        except Exception as error:
            yield _event("problem", wrong(error).text)
            return
        if found.run.status != "running":
            yield _event("ended", "")
            return
        if found != before:
            drawn = progress_view(found, config=config)
            yield _event("progress", {"told": drawn.told, "counts": drawn.counts.rows})
            before, silent_s = found, 0.0
        elif silent_s >= _SILENT_S:
            yield b": the run goes on\n\n"
            silent_s = 0.0
        wait_s = every_s + found.attempts / ATTEMPTS_A_SECOND
        silent_s += wait_s
        await _pause(wait_s, stop)


async def _pause(wait_s: float, stop: Event) -> None:
    """So long, or until whoever ends the server need not wait for it."""
    loop = asyncio.get_running_loop()
    until = loop.time() + wait_s
    while not stop.is_set() and (left := until - loop.time()) > 0:
        await asyncio.sleep(min(left, _WAKE_EVERY_S))


def _event(name: str, data: Any) -> bytes:
    """JSON has no line breaks, which would end the event."""
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()
