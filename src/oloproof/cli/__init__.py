"""The door: parse, call the pipeline, print, exit. One short file a command; this one picks the file.

``oloproof --version`` and ``--help`` must answer at once, so a command's module is imported when it is called.
"""

from __future__ import annotations

import gc
import os
import sys

_COLLECTED_AT = 200_000
"""Most of what a command makes lives until it ends, so garbage is looked for seldom."""


def main() -> None:
    """Console entry point; never returns normally."""
    gc.set_threshold(_COLLECTED_AT)
    forget(os.getcwd())
    if sys.argv[1:] == ["--version"]:
        from oloproof._version import __version__

        print(f"oloproof {__version__}")
        sys.exit(0)
    try:
        from oloproof.cli.app import run_app
    except KeyboardInterrupt:  # nothing has begun yet
        sys.exit(130)
    run_app()


def forget(directory: str) -> None:
    """Take a directory, and entries that depend on where one stands, off the path that this process imports from.

    A project's files are the user's code, and an agent may write some while it runs; the process that CI waits for
    imports neither.
    """
    place = os.path.realpath(directory)
    sys.path[:] = [entry for entry in sys.path if os.path.isabs(entry) and os.path.realpath(entry) != place]
