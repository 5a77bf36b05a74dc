"""What an importer is: a format's name, how a file of it is recognised, and how one is read.

An importer opens nothing. It is handed :class:`Source` objects, which the door opens, and yields a stream: a
:class:`Run` for every trajectory, :class:`Lost` for what belongs to no run, a :class:`~oloproof.errors.Problem` for
what cannot be read at all. It keeps nothing between runs that grows with the file, where its format allows that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any

from msgspec import UNSET, Struct

from oloproof.errors import Problem
from oloproof.importers.head import Head
from oloproof.importers.source import Source
from oloproof.model.case import AttemptError, State
from oloproof.model.trajectory import Trajectory
from oloproof.model.values import Json


class Confidence(IntEnum):
    """How sure a format is that a file is its own. The surest wins; two that are equally sure are told, not chosen."""

    POSSIBLE = 1
    """Nothing speaks against it."""
    LIKELY = 2
    """It has the shape, and another format may have it too."""
    CERTAIN = 3
    """It says so itself, or has keys that no other format has."""


class Run(Struct, frozen=True, kw_only=True):
    """One run, as its file has it.

    ``case`` None: it has no name there, and gets the file's. ``trial`` None: it is not numbered there, and gets the
    next number of its case. ``of_case`` are the keys of ``metadata`` that say what the case is, rather than how this
    run of it went; None: all of them. ``output`` and ``input`` UNSET, ``state`` None: not recorded. ``line`` is 0 where
    lines say nothing. ``losses`` counts by kind what could not be carried over; ``unanswered`` are calls without a
    result. ``origin`` is the run as the file has it, into which the paths of ``--metadata`` lead.
    """

    file: str
    trajectory: Trajectory | None
    case: str | None = None
    trial: int | None = None
    line: int = 0
    output: Any = UNSET
    error: AttemptError | str | None = None
    state: State | None = None
    input: Any = UNSET
    expected: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    of_case: Collection[str] | None = None
    losses: Mapping[str, int] = {}
    unanswered: int = 0
    origin: Json = None


class Lost(Struct, frozen=True):
    """Something in a file that is part of no run: its kind, where it is, and how many of it."""

    kind: str
    file: str
    line: int = 0
    count: int = 1


Item = Run | Lost | Problem


class Importer(Struct, frozen=True, kw_only=True):
    """A format.

    ``about`` is one line for the help text, ``losses`` every kind of loss that is this format's own, and what it
    means (those of the shared parts are known). ``sniff`` looks at the beginning of a file; None: not this format.
    ``read`` is given all files at once, because a run may be spread over several; after a Problem it may go on, so
    that several are told together, and what it yields then is not kept.
    """

    name: str
    about: str
    sniff: Callable[[Head], Confidence | None]
    read: Callable[[Sequence[Source]], Iterator[Item]]
    losses: Mapping[str, str] = {}
