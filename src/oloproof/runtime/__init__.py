"""A bounded, audited agent runtime: the planner proposes each step, the runtime alone decides whether it runs."""

from __future__ import annotations

from oloproof.runtime.agent import Agent
from oloproof.runtime.audit import AuditHead, AuditProblem, AuditRecord, verify_audit
from oloproof.runtime.decision import Act, Decision, Finish, Usage
from oloproof.runtime.errors import AuditError, SchemaError, StateError, TornAuditWarning
from oloproof.runtime.gates import Approval
from oloproof.runtime.policy import Limits, Policy
from oloproof.runtime.recording import to_trajectory
from oloproof.runtime.sinks import AuditSink, JsonlAuditSink, MemoryAuditSink, read_audit
from oloproof.runtime.state import ApprovalRequest, RunState, RunStatus, RunStep, Spent, StepError, StepOutcome
from oloproof.runtime.stores import MemoryStore, RunStore, SqliteStore
from oloproof.runtime.tools import Tool, ToolEffect, Toolset

__all__ = [
    "Act",
    "Agent",
    "Approval",
    "ApprovalRequest",
    "AuditError",
    "AuditHead",
    "AuditProblem",
    "AuditRecord",
    "AuditSink",
    "Decision",
    "Finish",
    "JsonlAuditSink",
    "Limits",
    "MemoryAuditSink",
    "MemoryStore",
    "Policy",
    "RunState",
    "RunStatus",
    "RunStep",
    "RunStore",
    "SchemaError",
    "Spent",
    "SqliteStore",
    "StateError",
    "StepError",
    "StepOutcome",
    "Tool",
    "ToolEffect",
    "Toolset",
    "TornAuditWarning",
    "Usage",
    "read_audit",
    "to_trajectory",
    "verify_audit",
]
