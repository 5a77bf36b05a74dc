"""The recording SDK: what users import into their agents and evaluators. It imports msgspec and little else."""

from __future__ import annotations

from oloproof.record.case import CurrentCase, current_case
from oloproof.record.context import Context
from oloproof.record.marks import Verdict, evaluator, system
from oloproof.record.steps import AgentCheckpoint, AgentConstraintCheck, AgentStep, AgentTrajectory
from oloproof.record.trace import Call, Trace

__all__ = [
    "AgentCheckpoint",
    "AgentConstraintCheck",
    "AgentStep",
    "AgentTrajectory",
    "Call",
    "Context",
    "CurrentCase",
    "Trace",
    "Verdict",
    "current_case",
    "evaluator",
    "system",
]
