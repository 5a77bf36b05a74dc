"""What is wrong with how a runtime is used. What goes wrong inside a run is no exception: it is an outcome."""

from __future__ import annotations

from oloproof.errors import BrokenError, Problem, UsageError


class SchemaError(UsageError, ValueError):
    """A tool's parameters are outside the supported JSON Schema, or do not fit its function's signature."""

    def __init__(self, message: str) -> None:
        super().__init__(Problem("OLO750", message))


class StateError(BrokenError):
    """A run cannot be started or resumed from this state: it would repeat, fork or lose what was done."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message, code="OLO751", hint=hint)


class StoreError(BrokenError):
    """The database that keeps the runs cannot be reached, or refused what was asked of it."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="OLO757")


class AuditError(BrokenError):
    """An audit file holds a line that is no record, or cannot be written."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message, code="OLO752", hint=hint)


class AgentLoopError(BrokenError):
    """A run of the loop failed, or could not be resumed. ``reason`` is the stable code of the failure."""

    def __init__(self, message: str, *, reason: str, hint: str = "") -> None:
        super().__init__(message, code="OLO753", hint=hint)
        self.reason = reason


class RetrievalError(Exception):
    """What a retriever raises when it cannot answer now; the run goes on."""


class TornAuditWarning(UserWarning):
    """An audit file ended in half a line, as a crash leaves it. The half line was set aside."""
