"""What records an agent by itself, where a framework or its telemetry already tells what the agent does.

Each recorder works inside of a case, and imports the framework that it listens to when it is used.
"""

from __future__ import annotations

from oloproof.recorders.langchain import record_langchain
from oloproof.recorders.mcp import record_mcp
from oloproof.recorders.messages import record_anthropic, record_openai, record_pydantic_ai
from oloproof.recorders.openai_agents import record_openai_agents
from oloproof.recorders.otel import record_otel

__all__ = [
    "record_anthropic",
    "record_langchain",
    "record_mcp",
    "record_openai",
    "record_openai_agents",
    "record_otel",
    "record_pydantic_ai",
]
