"""A sound file of each format, and the ways to break one."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

from fakes.imports import as_lines

_CALL = {"id": "1", "function": {"name": "open", "arguments": "{}"}}
SOUND: dict[str, list[Any]] = {
    "openai": [{"role": "assistant", "content": None, "tool_calls": [_CALL]}, {"role": "tool", "tool_call_id": "1"}],
    "langchain": [
        {"type": "human", "content": [{"type": "text", "text": "t"}]},
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "AIMessage"],
            "kwargs": {
                "content": "",
                "name": "a",
                "tool_calls": [{"name": "transfer_to_b", "args": {}, "id": "1"}],
                "invalid_tool_calls": [{"name": "f", "args": "{", "id": "2"}],
                "usage_metadata": {"input_tokens": 1},
                "response_metadata": {"finish_reason": "stop"},
            },
        },
        {"type": "tool", "data": {"content": "c", "tool_call_id": "1", "status": "success"}},
        {"agent": {"messages": [{"type": "ai", "content": "c", "additional_kwargs": {"tool_calls": [_CALL]}}]}},
    ],
    "langsmith": [
        {
            "id": "r",
            "run_type": "chain",
            "trace_id": "r",
            "inputs": {"messages": [{"type": "human", "content": "c"}]},
            "error": "e",
            "feedback_stats": {"f": {"avg": 1}},
            "child_runs": [
                {
                    "id": "m",
                    "run_type": "llm",
                    "dotted_order": "1Zr.2Zm",
                    "start_time": "2026-01-01T00:00:00",
                    "outputs": {"choices": [{"message": {"role": "assistant", "tool_calls": [_CALL]}}]},
                    "extra": {"metadata": {"lc_agent_name": "a"}},
                },
                {
                    "id": "t",
                    "run_type": "tool",
                    "name": "open",
                    "inputs": {"input": "{}"},
                    "outputs": {"output": {"type": "tool", "content": "c", "tool_call_id": "1"}},
                },
            ],
        }
    ],
    "openai-agents": [
        {"object": "trace", "id": "t", "workflow_name": "w", "metadata": {"a": 1}},
        {
            "object": "trace.span",
            "id": "a",
            "trace_id": "t",
            "parent_id": None,
            "started_at": "2026-01-01T00:00:00Z",
            "ended_at": "2026-01-01T00:00:09Z",
            "span_data": {"type": "agent", "name": "a"},
            "error": {"message": "Max turns exceeded", "data": {"error": "e"}},
        },
        {
            "object": "trace.span",
            "id": "g",
            "trace_id": "t",
            "parent_id": "a",
            "started_at": "2026-01-01T00:00:01Z",
            "span_data": {
                "type": "generation",
                "input": [{"role": "user", "content": "c"}],
                "output": [{"role": "assistant", "content": "c", "tool_calls": [_CALL]}],
                "usage": {"input_tokens": 1},
            },
        },
        {
            "object": "trace.span",
            "id": "f",
            "trace_id": "t",
            "parent_id": "a",
            "started_at": "2026-01-01T00:00:02Z",
            "span_data": {"type": "function", "name": "open", "input": "{}", "output": "o"},
        },
        {"object": "trace.span", "id": "h", "trace_id": "t", "span_data": {"type": "handoff", "to_agent": "b"}},
    ],
    "openai-responses": [
        {
            "id": "r",
            "object": "response",
            "status": "incomplete",
            "incomplete_details": {"reason": "max_output_tokens"},
            "input": [{"role": "user", "content": [{"type": "input_text", "text": "t"}]}],
            "output": [
                {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "1", "output": [{"type": "input_text", "text": "t"}]},
                {"type": "mcp_call", "id": "2", "name": "f", "arguments": "{}", "error": {"message": "m"}},
                {"type": "web_search_call", "action": {"query": "q"}},
                {"role": "assistant", "content": [{"type": "refusal", "refusal": "r"}]},
            ],
        }
    ],
    "swe-agent": [
        {
            "trajectory": [{"thought": "t", "action": "ls", "observation": "o", "state": "{}", "execution_time": 1}],
            "history": [
                {"role": "system", "content": "s", "agent": "main", "is_demo": False},
                {"role": "assistant", "thought": "t", "agent": "main", "tool_calls": [_CALL]},
                {"role": "tool", "content": "c", "agent": "main", "tool_call_ids": ["1"]},
            ],
            "info": {"exit_status": "submitted", "submission": "d"},
        }
    ],
    "mini-swe-agent": [
        {
            "info": {"exit_status": "Submitted", "submission": "d"},
            "messages": [
                {"role": "assistant", "content": "```bash\nls\n```", "extra": {"actions": [{"command": "ls"}]}},
                {"role": "assistant", "tool_calls": [_CALL]},
                {"role": "exit", "extra": {"exit_status": "Submitted"}},
            ],
        }
    ],
    "adk": [
        {
            "events": [
                {
                    "author": "a",
                    "content": {"parts": [{"function_call": {"id": "1", "name": "f", "args": {}}}]},
                    "actions": {"transfer_to_agent": "b"},
                    "usage_metadata": {"total_token_count": 1},
                },
                {"author": "a", "content": {"parts": [{"function_response": {"name": "f", "response": {}}}]}},
            ],
        },
        {
            "eval_cases": [
                {
                    "eval_id": "e",
                    "conversation": [
                        {
                            "user_content": {"parts": [{"text": "t"}]},
                            "intermediate_data": {"tool_uses": [{"name": "f", "args": {}}], "invocation_events": []},
                        }
                    ],
                }
            ]
        },
    ],
    "claude-code": [
        {
            "type": "assistant",
            "sessionId": "s",
            "uuid": "u",
            "message": {
                "id": "m",
                "content": [{"type": "tool_use", "id": "1", "name": "Task", "input": {"prompt": "p"}}],
                "usage": {"input_tokens": 1},
            },
        },
        {"type": "user", "agentId": "x", "isSidechain": True, "sessionId": "s", "message": {"content": "p"}},
        {
            "type": "user",
            "sessionId": "s",
            "toolUseResult": {"agentId": "x"},
            "message": {"content": [{"type": "tool_result", "tool_use_id": "1", "content": "c", "is_error": True}]},
        },
        {"type": "result", "session_id": "s", "subtype": "success", "result": "r"},
    ],
    "inspect": [
        {
            "eval": {"task": "t"},
            "samples": [
                {
                    "id": 1,
                    "epoch": 1,
                    "messages": [
                        {"role": "assistant", "content": [{"type": "text", "text": "t"}], "tool_calls": [_CALL]},
                        {"role": "tool", "tool_call_id": "1", "error": {"type": "t", "message": "m"}},
                    ],
                    "events": [
                        {"event": "span_begin", "id": "s", "parent_id": "s"},
                        {"event": "tool", "id": "2", "function": "f", "span_id": "s", "events": []},
                    ],
                    "output": {"choices": [{"stop_reason": "stop"}]},
                    "scores": {"m": {"value": "C"}},
                    "attachments": {"h": "v"},
                    "limit": {"type": "time"},
                }
            ],
        }
    ],
    "atif": [
        {
            "schema_version": "ATIF-v1.7",
            "agent": {"name": "a"},
            "steps": [
                {
                    "source": "agent",
                    "message": [{"type": "text", "text": "t"}],
                    "tool_calls": [{"tool_call_id": "1", "function_name": "f", "arguments": {}}],
                    "metrics": {"prompt_tokens": 1, "cost_usd": 0.5},
                    "observation": {"results": [{"content": "c", "subagent_trajectory_ref": [{"trajectory_id": "t"}]}]},
                }
            ],
            "subagent_trajectories": [{"trajectory_id": "t", "agent": {"name": "b"}, "steps": []}],
        }
    ],
    "tau2": [
        {
            "tasks": [{"id": "7", "evaluation_criteria": {"actions": [{"name": "f", "arguments": {"a": 1}}]}}],
            "simulations": [
                {
                    "task_id": "7",
                    "trial": 0,
                    "termination_reason": "user_stop",
                    "reward_info": {"reward": 1},
                    "messages": [
                        {"role": "assistant", "tool_calls": [{"id": "1", "name": "f", "arguments": {}}], "usage": {}},
                        {"role": "tool", "tool_messages": [{"id": "1", "content": "c", "error": True}]},
                        {"role": "user", "tool_calls": [{"id": "2"}]},
                    ],
                }
            ],
        }
    ],
    "anthropic": [
        {
            "id": "c",
            "stop_reason": "tool_use",
            "system": "s",
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "t"}]},
                {
                    "role": "assistant",
                    "content": [{"type": "thinking"}, {"type": "tool_use", "id": "1", "name": "f", "input": {}}],
                    "usage": {"input_tokens": 1},
                },
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "1", "is_error": True, "content": ["c"]}],
                },
            ],
        }
    ],
    "pydantic-ai": [
        {
            "id": "c",
            "output_tool_name": "report",
            "messages": [
                {
                    "kind": "request",
                    "parts": [{"part_kind": "user-prompt", "content": ["t", {"kind": "text-content", "content": "t"}]}],
                },
                {
                    "kind": "response",
                    "usage": {"input_tokens": 1},
                    "state": "complete",
                    "parts": [
                        {"part_kind": "text", "content": "t"},
                        {"part_kind": "tool-call", "tool_name": "f", "args": "{}", "tool_call_id": "1"},
                        {"part_kind": "tool-call", "tool_name": "report", "args": {}, "tool_call_id": "2"},
                    ],
                },
                {
                    "kind": "request",
                    "parts": [
                        {"part_kind": "tool-return", "tool_name": "f", "content": "c", "outcome": "failed"},
                        {"part_kind": "retry-prompt", "tool_name": "report", "content": "c", "tool_call_id": "2"},
                    ],
                },
                {"kind": "response", "parts": [{"part_kind": "text", "content": "t"}], "finish_reason": "length"},
            ],
        }
    ],
    "agentdojo": [
        {
            "suite_name": "s",
            "messages": [
                {"role": "assistant", "content": "c", "tool_calls": [{"function": "f", "args": {}, "id": ""}]},
                {"role": "tool", "content": "c", "tool_call": {"function": "f", "args": {}}, "error": "e"},
            ],
            "metadata": {"success": True},
        }
    ],
}


def sound_file(name: str) -> bytes:
    """The bytes of the sound file."""
    value = SOUND[name]
    return as_lines(*value) if isinstance(value, list) else json.dumps(value).encode()


def sound_archive() -> bytes:
    """The log of Inspect as an archive."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("header.json", json.dumps({"eval": SOUND["inspect"][0]["eval"]}))
        opened.writestr("samples/1_epoch_1.json", json.dumps(SOUND["inspect"][0]["samples"][0]))
    return held.getvalue()


def paths(value: Any) -> list[tuple[Any, ...]]:
    """Where the parts of a value are, itself included."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(), *((key, *rest) for key, item in items for rest in paths(item))]


def replaced(value: Any, path: tuple[Any, ...], junk: Any) -> Any:
    if not path:
        return junk
    copied = value.copy()
    copied[path[0]] = replaced(value[path[0]], path[1:], junk)
    return copied
