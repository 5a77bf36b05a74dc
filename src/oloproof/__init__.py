"""Oloproof: may this agent ship?

The public API: record what an agent does, judge it with functions of one's own, and evaluate from a program or a
notebook; nothing else is promised. Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oloproof._version import __version__

if TYPE_CHECKING:
    from oloproof.api import evaluate, load_run
    from oloproof.errors import RecordError
    from oloproof.record import (
        AgentCheckpoint,
        AgentConstraintCheck,
        AgentStep,
        AgentTrajectory,
        Context,
        Verdict,
        current_case,
        evaluator,
        system,
    )

__all__ = [
    "AgentCheckpoint",
    "AgentConstraintCheck",
    "AgentStep",
    "AgentTrajectory",
    "Context",
    "RecordError",
    "Verdict",
    "__version__",
    "current_case",
    "evaluate",
    "evaluator",
    "load_run",
    "system",
]

_HOMES = {"RecordError": "oloproof.errors", "evaluate": "oloproof.api", "load_run": "oloproof.api"}
"""The module of a name that is not the recording SDK's."""


def __getattr__(name: str) -> Any:
    """A public name, looked up once."""
    if name not in __all__:
        raise AttributeError(f"module 'oloproof' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES.get(name, "oloproof.record")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
