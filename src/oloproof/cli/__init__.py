"""The door: parse, call the pipeline, print, exit. One short file a command; this one picks the file.

``oloproof --version`` and ``--help`` must answer at once, so a command's module is imported when it is called.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Console entry point; never returns normally."""
    if sys.argv[1:] == ["--version"]:
        from oloproof._version import __version__

        print(f"oloproof {__version__}")
        sys.exit(0)
    from oloproof.cli.app import run_app

    run_app()
