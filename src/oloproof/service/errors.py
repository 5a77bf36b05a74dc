"""What is wrong with how a service is set up, and what it answers to a request that it cannot take."""

from __future__ import annotations

from collections.abc import Mapping

from oloproof.errors import Problem, UsageError

MISSING_PACKAGE = "OLO760"


class ServiceError(UsageError):
    """A service cannot be started like this."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(Problem(code, message, hint))


def missing(package: str, *, what: str) -> ServiceError:
    """The error where a package of the extra is not there."""
    return ServiceError(MISSING_PACKAGE, f"{what} needs {package}", "pip install 'oloproof[service]'")


class Refused(Exception):
    """A request that is not taken: an HTTP status, a stable code, and words for whoever sent it."""

    def __init__(self, status: int, code: str, message: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = dict(headers or {})
