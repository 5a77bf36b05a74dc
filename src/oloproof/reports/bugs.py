"""A bug of ours, told to whoever meets it: what it was, and where in our own code, in lines that can be sent to us.

Whatever an exception quotes may come from an agent, so each line is inert. Frames of others are left out but for the
one that raised: they say where Python was, and not what we did wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from traceback import walk_tb

from oloproof._version import __version__
from oloproof.reports.inert import inert

WHAT = "this is a bug in oloproof, not in your project"
REPORT = (
    "please report it in oloproof's issue tracker, with these lines and the command that you ran\n"
    "look through them before: they may quote what an agent said"
)

_HOME = __file__.removesuffix("reports/bugs.py")
_LONGEST = 300
_MOST_FRAMES = 20
_MOST_CAUSES = 5


def bug_text(error: BaseException) -> str:
    """``TypeError: it has no length``, on one line."""
    try:
        said = str(error)
    except Exception:  # it cannot even say what it is
        said = ""
    name = type(error).__name__
    return inert(f"{name}: {said}" if said else name, _LONGEST)


def bug_lines(error: BaseException) -> Iterator[str]:
    """Which oloproof this is, and through which of its functions the error went, the innermost last; then what it was
    raised from, likewise."""
    system = sys.version_info
    yield f"oloproof {__version__}, Python {system.major}.{system.minor}.{system.micro}, {sys.platform}"
    yield from _frames(error)
    seen = {id(error)}
    while (cause := _cause(error)) is not None and id(cause) not in seen and len(seen) < _MOST_CAUSES:
        yield f"raised while handling {bug_text(cause)}"
        yield from _frames(cause)
        seen.add(id(cause))
        error = cause


def _cause(error: BaseException) -> BaseException | None:
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _frames(error: BaseException) -> Iterator[str]:
    places = [(frame.f_code.co_filename, line, frame.f_code.co_name) for frame, line in walk_tb(error.__traceback__)]
    told = [place for at, place in enumerate(places, 1) if place[0].startswith(_HOME) or at == len(places)]
    left_out = len(told) - _MOST_FRAMES
    if left_out > 0:
        yield f"… {left_out:,} more"
    for file, line, name in told[-_MOST_FRAMES:]:
        where = file.removeprefix(_HOME) if file.startswith(_HOME) else "/".join(file.split("/")[-2:])
        yield inert(f"{where}:{line} in {name}")
