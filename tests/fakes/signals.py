"""What tests that press Ctrl-C need of the process that they run in."""

from __future__ import annotations

import signal


def let_ctrl_c_through() -> None:
    """Ctrl-C reaches what these tests start, also where they run in the background of a shell that ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # what is ignored is inherited, a handler is not
