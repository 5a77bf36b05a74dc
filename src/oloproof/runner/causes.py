"""Which infrastructure error an exception, a status or an exit code tells of, and how long a service asks for.

The libraries that raise them are not imported: they are known by what an exception carries (an HTTP status) and by the
names of its classes. What is not known is the system's own error.
"""

from __future__ import annotations

import errno
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from oloproof.model.case import AttemptError, Infrastructure, system_error

TEMPORARY_FAILURE = 75
"""The exit status of a command that may be tried again later (``EX_TEMPFAIL`` of ``sysexits.h``)."""

_STATUSES: dict[int, Infrastructure] = {
    429: "rate_limit",
    502: "unavailable",
    503: "unavailable",
    504: "unavailable",
    529: "unavailable",  # overloaded, as some model providers say
}

_CONNECTION = frozenset(
    {
        ("builtins", "ConnectionError"),
        ("socket", "gaierror"),
        ("httpx", "NetworkError"),
        ("httpx", "RemoteProtocolError"),
        ("httpx", "TimeoutException"),
        ("httpcore", "NetworkError"),
        ("httpcore", "RemoteProtocolError"),
        ("httpcore", "TimeoutException"),
        ("openai", "APIConnectionError"),
        ("anthropic", "APIConnectionError"),
        ("requests", "ConnectionError"),
        ("requests", "Timeout"),
        ("aiohttp", "ClientConnectionError"),
        ("botocore", "ConnectionError"),
        ("urllib3", "TimeoutError"),
        ("urllib3", "ProtocolError"),
        ("urllib3", "NewConnectionError"),
    }
)
"""Classes, by the first part of their module's name, whose exceptions say that a connection could not be made or
broke."""

_DEEP = 16
"""How many exceptions a chain or a tree of groups may hold that is followed."""


def with_cause(error: AttemptError, exc: BaseException) -> AttemptError:
    """The error with what the exception tells of its cause."""
    found = infrastructure_of(exc)
    if found is None:
        return error
    infrastructure, retry_after_s = found
    return system_error(
        error.message, traceback=error.traceback, infrastructure=infrastructure, retry_after_s=retry_after_s
    )


def infrastructure_of(exc: BaseException) -> tuple[Infrastructure, float | None] | None:
    """Which infrastructure error an exception tells of, and how many seconds to wait; None where it tells of none.

    What it was raised *from* counts, what it was raised *during* does not: code that fails while it handles an outage
    has a fault of its own. A group tells of one where each of its exceptions does.
    """
    try:
        return _found(exc, _DEEP)
    except Exception:  # attributes of the user's exceptions may be code, too
        return None


def of_status(status: int) -> Infrastructure | None:
    """What an HTTP status says of the service; None where it says nothing of the kind."""
    return _STATUSES.get(status)


def of_exit_status(status: int) -> Infrastructure | None:
    """What the exit status of a command says."""
    return "unavailable" if status == TEMPORARY_FAILURE else None


def seconds_to_wait(retry_after: object, now: datetime | None = None) -> float | None:
    """The seconds that a ``Retry-After`` header says, as a number or as a date; None where it says neither."""
    if not isinstance(retry_after, str):
        return None
    try:
        seconds = float(retry_after)
    except ValueError:
        try:
            from email.utils import parsedate_to_datetime  # what it imports would be a tenth of a worker's start

            until = parsedate_to_datetime(retry_after)
        except (ValueError, ImportError):  # in a worker, `email` may be a module of the user's
            return None
        seconds = (until.astimezone(UTC) - (now or datetime.now(UTC))).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _found(exc: BaseException, left: int) -> tuple[Infrastructure, float | None] | None:
    if left <= 0:
        return None
    if isinstance(exc, BaseExceptionGroup):
        each = [_found(inner, left - 1) for inner in exc.exceptions]
        return each[0] if all(each) else None
    status = _status_of(exc)
    if status is not None:
        infrastructure = None if _is_out_of_money(exc) else of_status(status)
        return None if infrastructure is None else (infrastructure, _asked_to_wait(exc))
    if _is_connection(exc):
        return "connection", None
    return next((found for inner in _causes(exc) if (found := _found(inner, left - 1))), None)


def _causes(exc: BaseException) -> Iterator[BaseException]:
    if exc.__cause__ is not None:
        yield exc.__cause__
    reason = getattr(exc, "reason", None)  # urllib's URLError wraps what happened
    if isinstance(reason, BaseException):
        yield reason


def _status_of(exc: BaseException) -> int | None:
    response = getattr(exc, "response", None)
    said = [getattr(exc, "status_code", None), getattr(response, "status_code", None)]
    root = _root(type(exc))
    if root == "aiohttp":
        said.append(getattr(exc, "status", None))
    if root in ("urllib", "google"):
        said.append(getattr(exc, "code", None))
    if root == "botocore" and isinstance(response, dict):
        said.append(response.get("ResponseMetadata", {}).get("HTTPStatusCode"))
    return next((int(each) for each in said if isinstance(each, int) and not isinstance(each, bool)), None)


def _is_out_of_money(exc: BaseException) -> bool:
    """A quota that is used up is no rate: it does not come back by waiting."""
    return getattr(exc, "code", None) == "insufficient_quota"


def _asked_to_wait(exc: BaseException) -> float | None:
    headers: Any = getattr(getattr(exc, "response", None), "headers", None) or getattr(exc, "headers", None)
    return None if headers is None else seconds_to_wait(headers.get("retry-after") or headers.get("Retry-After"))


def _is_connection(exc: BaseException) -> bool:
    if isinstance(exc, TimeoutError):  # code's own time-outs have no number, the system's have
        return exc.errno == errno.ETIMEDOUT
    return any((_root(kind), kind.__name__) in _CONNECTION for kind in type(exc).__mro__)


def _root(kind: type) -> str:
    return kind.__module__.partition(".")[0]
