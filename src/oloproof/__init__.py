"""Oloproof: may this agent ship?

The public API, to record what an agent does and to judge it with functions of one's own; nothing else is promised.
"""

from oloproof._version import __version__
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
    "evaluator",
    "system",
]
