"""Processes that a test did not start itself."""

from __future__ import annotations

import os
import select

PATIENCE_S = 60


def is_ended(pid: int) -> bool:
    """Whether a process that was killed is gone, or is waited for by nobody, which a busy machine may take a while to
    make it."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([fd], [], [], PATIENCE_S)[0])
    finally:
        os.close(fd)
