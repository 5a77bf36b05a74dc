"""A recording: an attempt that lives in a line of a file, and how such a line becomes one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

from msgspec import UNSET, DecodeError, Raw, Struct, ValidationError, convert
from msgspec.json import Decoder

from oloproof.model.case import Attempt, AttemptError, Case, State, system_error
from oloproof.model.trajectory import Step, Trajectory
from oloproof.model.values import snapshot

T = TypeVar("T")


class Recording(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A line of ``traces.jsonl``. ``input``, ``expected`` and ``metadata`` count only where no dataset is given.

    A key that is not listed here is refused: a misspelt ``trajectory`` must not become missing data.
    """

    case: str
    trial: int = 1
    output: Any = UNSET
    error: AttemptError | str | None = None
    trajectory: Trajectory | None = None
    state: State | None = None
    input: Any = UNSET
    expected: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


class _SkimmedStep(Step, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    result: Raw = Raw(b"")


class _SkimmedTrajectory(Trajectory, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    steps: tuple[_SkimmedStep, ...] = ()


class _Skimmed(Recording, frozen=True, kw_only=True, forbid_unknown_fields=True):
    trajectory: _SkimmedTrajectory | None = None


_read = Decoder(Recording).decode
_skim = Decoder(_Skimmed).decode


def read(line: bytes) -> Recording:
    """The recording on a line. Raises msgspec's DecodeError or ValidationError, or RecursionError.

    What only lenient writers produce (NaN, half a surrogate pair) is tagged as unrepresentable, and the case kept.
    """
    return decoded(line, Recording, _read)


def skim(line: bytes) -> Recording:
    """:func:`read`, but the results of tools stay bytes that nobody may look into.

    Results are most of a trace, and what judges calls, order and counts does not need them.
    """
    return decoded(line, Recording, _skim)


def decoded(line: bytes, kind: type[T], decode: Callable[[bytes], T]) -> T:
    """What ``decode``, of which ``kind`` is the type, makes of JSON text; for text that only lenient writers produce,
    ``kind`` with what JSON cannot carry tagged. Raises msgspec's DecodeError or ValidationError, or RecursionError."""
    try:
        return decode(line)
    except ValidationError:
        raise
    except DecodeError as error:
        try:
            value = snapshot(json.loads(line))
        except (ValueError, RecursionError):
            raise error from None
        return convert(value, kind)


class Reader(NamedTuple):
    """One way to read recordings: a whole line, or its steps and the rest of it, each by itself."""

    line: Callable[[bytes], Recording]
    rest: Callable[[bytes], Recording]
    steps: Callable[[bytes], tuple[Step, ...]]


READ: Final = Reader(read, _read, Decoder(tuple[Step, ...]).decode)
SKIM: Final = Reader(skim, _skim, Decoder(tuple[_SkimmedStep, ...]).decode)


def to_attempt(recording: Recording) -> Attempt:
    """The attempt that was recorded. An error that is only a text becomes a ``system_error``."""
    error = recording.error
    return Attempt(
        case_id=recording.case,
        trial=recording.trial,
        output=recording.output,
        error=system_error(error) if isinstance(error, str) else error,
        trajectory=recording.trajectory,
        state=recording.state,
    )


def brings_a_case(recording: Recording) -> bool:
    """Whether a recording says what was asked or expected, as only one that is its own dataset must."""
    return recording.input is not UNSET or recording.expected is not None or recording.metadata is not None


def to_case(recording: Recording) -> Case:
    """The case that a recording stands for where recordings are their own dataset."""
    return Case(
        id=recording.case,
        input=None if recording.input is UNSET else recording.input,
        expected=recording.expected or {},
        metadata=recording.metadata or {},
    )
