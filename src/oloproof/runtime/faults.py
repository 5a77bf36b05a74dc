"""What user code may raise inside an event loop, and what of it is about the task that runs it."""

from __future__ import annotations

import asyncio


def ends_the_task(error: BaseException) -> bool:
    """Whether an exception ends the task that awaited user code: its own cancellation, or the end of the program.

    Anything else is a fault of that code. So is a ``CancelledError`` where nobody cancelled the task: it comes from a
    task of the code's own. So is ``SystemExit``, with which one run would end the process of all others.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt | GeneratorExit)
