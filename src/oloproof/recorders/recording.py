"""What a recorder does with the case that it records."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from msgspec.structs import replace

from oloproof.errors import RecordError
from oloproof.model.trajectory import Trajectory
from oloproof.record.case import CurrentCase

CALLERS = 5
"""How far above the warning the user's ``with`` is: two context managers, each called by the library's own."""


@contextmanager
def needing(package: str, what: str) -> Iterator[None]:
    """Import the package in this block. Errors: RecordError with ``what``, and how to install it, where it lacks."""
    try:
        yield
    except ImportError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise RecordError(what, code="OLO695") from None


@contextmanager
def recording(case: CurrentCase, told: Callable[[], Trajectory | None], *, nothing: str) -> Iterator[None]:
    """Hand over what was ``told`` when the block ends (None: nothing, which the warning ``nothing`` says). Where it
    raises, the trajectory is truncated.

    Errors: RecordError where the case has been recorded already.
    """
    try:
        yield
    except BaseException:
        trajectory = told()
        if trajectory is not None:
            with suppress(RecordError):  # what the block raised matters more
                case.agent_trajectory(replace(trajectory, truncated=True))
        raise
    trajectory = told()
    if trajectory is None:
        warnings.warn(nothing, stacklevel=CALLERS)
    else:
        case.agent_trajectory(trajectory)
