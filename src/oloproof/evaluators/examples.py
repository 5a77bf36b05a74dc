"""One entry of ``evaluators:`` for every type, as it may stand in a configuration that runs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_EXAMPLES = """
{type: contains, field: answer, expected_field: answer}
{type: exact_match, field: answer, expected_field: answer}
{type: regex, field: answer, pattern: "^[A-Z]"}
{type: json_schema, schema: {type: object, required: [answer]}}
{type: numeric, field: amount, expected_field: amount, tolerance: 0.01}
{type: agent_tool_called, tool_name: lookup_order, max_calls: 3}
{type: agent_tool_not_called, tool_name: delete_customer}
{type: agent_tool_call_counts, bounds: {search: {max: 3}, lookup_order: {min: 1}}}
{type: agent_tool_sequence, mode: in_order}
{type: agent_no_undeclared_tool}
{type: agent_no_tool_loop, max_repeats: 2, max_cycle: 2}
{type: agent_tool_errors, max_error_rate: 0.1, ignore_recovered: true}
{type: agent_constraints_satisfied, constraints: [no_deletion]}
{type: agent_max_steps, max_steps: 10}
{type: agent_max_tool_calls, max_calls: 6}
{type: agent_budget, tool_name: search, max_tokens: 2000, max_latency_ms: 1500}
{type: agent_terminal_status, status: success}
{type: canary_absent, input_field: secret}
{type: state_matches, path: orders, mode: subset}
{type: state_unchanged, paths: [customers]}
{type: agent_route}
{type: agent_tool_permissions, permissions: {triage: [], billing: [lookup_order, issue_refund]}}
{type: agent_max_handoffs, max_handoffs: 2}
{type: agent_rule, rule: lookup_order before issue_refund}
"""


def _by_type(text: str) -> dict[str, str]:
    lines = text.split("\n")[1:-1]
    return {line.removeprefix("{type: ").partition("}")[0].partition(",")[0]: line for line in lines}


EXAMPLES: Final[Mapping[str, str]] = MappingProxyType(_by_type(_EXAMPLES))
"""The entry of each type, in YAML's flow style."""
