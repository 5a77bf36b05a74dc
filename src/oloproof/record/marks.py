"""The decorators: they leave a mark on a function and the function as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from msgspec import UNSET, Struct

from oloproof.errors import RecordError, with_article
from oloproof.model.trajectory import RECORD

F = TypeVar("F", bound=Callable[..., Any])

_SYSTEM = "__oloproof_system__"
_EVALUATOR = "__oloproof_evaluator__"


class SystemMark(Struct, frozen=True, kw_only=True):
    """What ``@system`` says of a function; None where it leaves it to the configuration."""

    name: str | None = None
    version: str | None = None
    records: tuple[str, ...] = (RECORD,)


class EvaluatorMark(Struct, frozen=True, kw_only=True):
    """What ``@evaluator`` says of a function; ``criterion`` None leaves it to the configuration."""

    criterion: str | None = None


class Verdict(Struct, frozen=True):
    """What an evaluator function returns to say more than True or False.

    ``reason`` is a word for a failure, ``steps`` the indexes of the steps it was read from, ``expected`` and ``found``
    JSON values to show side by side.
    """

    passed: bool
    reason: str | None = None
    steps: tuple[int, ...] = ()
    expected: Any = UNSET
    found: Any = UNSET


@overload
def system(function: F, /) -> F: ...
@overload
def system(
    *, name: str | None = None, version: str | None = None, records: tuple[str, ...] = (RECORD,)
) -> Callable[[F], F]: ...
def system(
    function: F | None = None,
    /,
    *,
    name: str | None = None,
    version: str | None = None,
    records: tuple[str, ...] = (RECORD,),
) -> F | Callable[[F], F]:
    """Mark a function, sync or async, as the system under test and say what it records.

    It is called with a case's ``input`` and returns the output. ``records=()`` says that it records no trajectory.

    Errors: RecordError for a record that does not exist.
    """
    if isinstance(records, str):
        records = (records,)
    for record in records:
        if record != RECORD:
            raise RecordError(f"@system names the record {record!r}; the one that exists is {RECORD!r}", code="OLO704")
    mark = SystemMark(name=name, version=version, records=tuple(records))
    return _marked(_SYSTEM, mark, function)


@overload
def evaluator(function: F, /) -> F: ...
@overload
def evaluator(*, criterion: str | None = None) -> Callable[[F], F]: ...
def evaluator(function: F | None = None, /, *, criterion: str | None = None) -> F | Callable[[F], F]:
    """Mark a function as an evaluator.

    It takes, by name, a ``context`` (see :class:`Context`) or any of its parts ``case``, ``output``, ``trajectory``,
    ``state`` and ``expected``, and returns a bool or a Verdict.
    """
    return _marked(_EVALUATOR, EvaluatorMark(criterion=criterion), function)


def system_mark(function: object) -> SystemMark | None:
    """What ``@system`` said of the function, None when it was not used."""
    mark = getattr(function, _SYSTEM, None)
    return mark if isinstance(mark, SystemMark) else None


def evaluator_mark(function: object) -> EvaluatorMark | None:
    """What ``@evaluator`` said of the function, None when it was not used."""
    mark = getattr(function, _EVALUATOR, None)
    return mark if isinstance(mark, EvaluatorMark) else None


def _marked(attribute: str, mark: Struct, function: F | None) -> F | Callable[[F], F]:
    def leave_mark(function: F) -> F:
        if not callable(function):
            raise RecordError(
                f"a decorator of oloproof marks a function, not {with_article(type(function).__name__)}", code="OLO704"
            )
        setattr(function, attribute, mark)
        return function

    return leave_mark if function is None else leave_mark(function)
