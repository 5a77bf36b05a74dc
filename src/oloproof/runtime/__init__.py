"""A bounded, audited agent runtime: the planner proposes each step, the runtime alone decides whether it runs."""

from __future__ import annotations

from oloproof.runtime.agent import Agent
from oloproof.runtime.audit import AuditHead, AuditProblem, AuditRecord, verify_audit
from oloproof.runtime.controllers import (
    CallTool,
    ChatClient,
    Completion,
    Controller,
    HeuristicController,
    LLMController,
    RunContext,
    ScriptedController,
)
from oloproof.runtime.decision import Act, Decision, Finish, Usage
from oloproof.runtime.errors import (
    AgentLoopError,
    AuditError,
    RetrievalError,
    SchemaError,
    StateError,
    StoreError,
    TornAuditWarning,
)
from oloproof.runtime.events import (
    AgentEvent,
    AgentEventKind,
    AgentPhase,
    AgentRequest,
    AgentRunResult,
    AgentStep,
    AgentToolCall,
    AgentToolResult,
    BudgetSpend,
    ChunkRef,
    Egress,
    StopReason,
)
from oloproof.runtime.gates import Approval
from oloproof.runtime.loop import AgentConfig, AgentLoop
from oloproof.runtime.policy import Limits, Policy
from oloproof.runtime.postgres import PostgresStore
from oloproof.runtime.recording import to_trajectory
from oloproof.runtime.registry import AsyncTool, FunctionTool, Retriever, RetrieveTool, ToolRegistry, ToolSpec
from oloproof.runtime.retrieval import Bm25Retriever
from oloproof.runtime.sinks import AuditSink, JsonlAuditSink, MemoryAuditSink, read_audit
from oloproof.runtime.state import ApprovalRequest, RunState, RunStatus, RunStep, Spent, StepError, StepOutcome
from oloproof.runtime.stores import MemoryStore, RunStore, SqliteStore
from oloproof.runtime.tools import Tool, ToolEffect, Toolset

__all__ = [
    "Act",
    "Agent",
    "AgentConfig",
    "AgentEvent",
    "AgentEventKind",
    "AgentLoop",
    "AgentLoopError",
    "AgentPhase",
    "AgentRequest",
    "AgentRunResult",
    "AgentStep",
    "AgentToolCall",
    "AgentToolResult",
    "Approval",
    "ApprovalRequest",
    "AsyncTool",
    "AuditError",
    "AuditHead",
    "AuditProblem",
    "AuditRecord",
    "AuditSink",
    "Bm25Retriever",
    "BudgetSpend",
    "CallTool",
    "ChatClient",
    "ChunkRef",
    "Completion",
    "Controller",
    "Decision",
    "Egress",
    "Finish",
    "FunctionTool",
    "HeuristicController",
    "JsonlAuditSink",
    "LLMController",
    "Limits",
    "MemoryAuditSink",
    "MemoryStore",
    "Policy",
    "PostgresStore",
    "RetrievalError",
    "RetrieveTool",
    "Retriever",
    "RunContext",
    "RunState",
    "RunStatus",
    "RunStep",
    "RunStore",
    "SchemaError",
    "ScriptedController",
    "Spent",
    "SqliteStore",
    "StateError",
    "StepError",
    "StepOutcome",
    "StopReason",
    "StoreError",
    "Tool",
    "ToolEffect",
    "ToolRegistry",
    "ToolSpec",
    "Toolset",
    "TornAuditWarning",
    "Usage",
    "read_audit",
    "to_trajectory",
    "verify_audit",
]
