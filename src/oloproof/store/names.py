"""What runs are called, and which one a name on the command line means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from oloproof.errors import Problem, UsageError, counted
from oloproof.store import codes

_LATEST = re.compile(r"latest(?:~([0-9]{1,9}))?")
_SHOWN = 10


def new_run_id(now: datetime, token: str) -> str:
    """``20261130T101502-k3f9``: sorts by time; ``token`` (letters and digits) keeps runs of one second apart."""
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%S}-{token}"


def resolve(name: str, ids: Sequence[str]) -> str:
    """The id that ``name`` means among ``ids``, which are in the order in which the runs started.

    An id, a part of one that only it has, ``latest`` or ``latest~2`` (the second before it).
    Raises :class:`UsageError` with the candidates when it means none or several.
    """
    if not ids:
        raise _unknown(f"no run is called {name!r}: none has been stored yet", "`oloproof run` makes one")
    if name in ids:
        return name
    if latest := _LATEST.fullmatch(name):
        back = int(latest[1] or 0)
        if back < len(ids):
            return ids[-1 - back]
        raise _unknown(f"{name} goes back too far: {counted(len(ids), 'run')} stored", f"the oldest is {ids[0]}")
    matches = [run_id for run_id in ids if name and name in run_id]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise UsageError(
            Problem(codes.SEVERAL_RUNS, f"{name!r} is part of {len(matches)} run ids", f"name one: {_newest(matches)}")
        )
    raise _unknown(f"no run is called {name!r}", f"the newest are: {_newest(ids)}")


def _newest(ids: Sequence[str]) -> str:
    more = ", …" if len(ids) > _SHOWN else ""
    return ", ".join(reversed(ids[-_SHOWN:])) + more


def _unknown(message: str, hint: str) -> UsageError:
    return UsageError(Problem(codes.NO_RUN, message, hint))
