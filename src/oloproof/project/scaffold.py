"""What ``oloproof init`` writes: a small project that records, runs and gates out of the box, as text."""

from __future__ import annotations

import json

from oloproof.project.schema import json_schema

EXAMPLES = ("team",)

_SCHEMAS = {"schema/oloproof.json": "oloproof", "schema/release.json": "release"}


def files(example: str | None) -> dict[str, str]:
    """The files of a new project by relative path: one agent (None), or the ``team`` of two with hand-offs.

    Raises KeyError for an unknown example.
    """
    schemas = {path: json.dumps(json_schema(which), indent=1) + "\n" for path, which in _SCHEMAS.items()}
    return _PROJECTS[example] | schemas


def _rows(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _refund_case(number: int) -> dict[str, object]:
    paid = number % 3 != 0
    return {
        "id": f"case_{number:03}",
        "input": {"order_id": f"ord-{number:03}"},
        "expected": {
            "answer": "refunded" if paid else "refused",
            "tools": ["lookup_order", "issue_refund"] if paid else ["lookup_order"],
        },
        "metadata": {"surface": "chat" if number % 2 else "mail"},
    }


def _request_case(number: int) -> dict[str, object]:
    topic = "billing" if number % 2 else "question"
    return {
        "id": f"case_{number:03}",
        "input": {"topic": topic, "order_id": f"ord-{number:03}"},
        "expected": {
            "answer": "refunded" if topic == "billing" else "answered",
            "route": ["triage", "billing"] if topic == "billing" else ["triage"],
        },
        "metadata": {"topic": topic},
    }


_APP = '''"""A refund agent that records what it does. Put your own in its place."""

from oloproof import current_case, system


def lookup_order(order_id):
    """A tool: the order's state. Every third order was never paid."""
    return {"order_id": order_id, "paid": int(order_id.removeprefix("ord-")) % 3 != 0}


def issue_refund(order_id):
    """A tool: pays the money back."""
    return {"refunded": True}


@system(name="refund-agent", version="1", records=("agent_trajectory/v1",))
def run(case):
    """Answer one request. ``case`` is what the dataset says under ``input``."""
    order_id = case["order_id"]
    with current_case().trace() as trace:
        with trace.calling("lookup_order", order_id=order_id) as call:
            call.result = order = lookup_order(order_id)
        if order["paid"]:
            with trace.calling("issue_refund", order_id=order_id) as call:
                call.result = issue_refund(order_id)
        answer = "refunded" if order["paid"] else "refused"
        trace.final(answer)
        trace.check("no_unpaid_refund", order["paid"] or answer != "refunded")
    return {"answer": answer}
'''

_CONFIG = """# yaml-language-server: $schema=schema/oloproof.json
version: 1
project: refund-agent
dataset: data/cases.jsonl
system:
  callable: app:run                    # module:function, beside this file
evaluators:
  - {type: contains, criterion: answer_correct, field: answer, expected_field: answer}
  - {type: agent_tool_sequence}        # the calls equal expected.tools
  - {type: agent_no_tool_loop, max_repeats: 2}
  - {type: agent_constraints_satisfied, constraints: [no_unpaid_refund]}
metrics:
  - {id: steps_p95, type: quantile, source: agent_steps, quantile: 0.95}
slices: [metadata.surface, first_tool]
interval: {method: exact}             # what reports show; release.yaml says what decides
"""

_RELEASE = """# yaml-language-server: $schema=schema/release.json
version: 1
confidence_level: 0.95
interval_method: exact                 # for a small suite; the default, wilson, suits twenty cases and more
rules:
  # Twelve cases that all pass support a floor of 0.73; more cases support more.
  - {id: answer-floor, metric: answer_correct, min: 0.70}
  - {id: no-unpaid-refund, metric: agent_constraints_satisfied, kind: observed_count, max_failures: 0}
"""

_TEAM_APP = '''"""A team of two: triage answers questions and hands billing requests over. Put your own in its place."""

from oloproof import current_case, system


def issue_refund(order_id):
    """A tool: pays the money back."""
    return {"refunded": True}


@system(name="support-team", version="1", records=("agent_trajectory/v1",))
def run(case):
    """Answer one request. ``case`` is what the dataset says under ``input``."""
    with current_case().trace() as trace:
        triage, billing = trace.within(agent="triage"), trace.within(agent="billing")
        triage.message(case["topic"])
        if case["topic"] != "billing":
            triage.final("answered")
            return {"answer": "answered"}
        triage.handoff("billing")
        with billing.calling("issue_refund", order_id=case["order_id"]) as call:
            call.result = issue_refund(case["order_id"])
        billing.final("refunded")
    return {"answer": "refunded"}
'''

_TEAM_CONFIG = """# yaml-language-server: $schema=schema/oloproof.json
version: 1
project: support-team
dataset: data/cases.jsonl
system:
  callable: app:run                    # module:function, beside this file
evaluators:
  - {type: contains, criterion: answer_correct, field: answer, expected_field: answer}
  - {type: agent_route}                # the agents in control equal expected.route
  - type: agent_tool_permissions       # who may call what; an agent that is not listed may call nothing
    permissions:
      triage: []
      billing: [issue_refund]
  - {type: agent_max_handoffs, max_handoffs: 1}
slices: [metadata.topic, route]
interval: {method: exact}             # what reports show; release.yaml says what decides
"""

_TEAM_RELEASE = """# yaml-language-server: $schema=schema/release.json
version: 1
confidence_level: 0.95
interval_method: exact                 # for a small suite; the default, wilson, suits twenty cases and more
rules:
  # Twelve cases that all pass support a floor of 0.73; more cases support more.
  - {id: answer-floor, metric: answer_correct, min: 0.70}
  - {id: permissions, metric: agent_tool_permissions, kind: observed_count, max_failures: 0}
"""

_PROJECTS: dict[str | None, dict[str, str]] = {
    None: {
        "app.py": _APP,
        "data/cases.jsonl": _rows(*map(_refund_case, range(1, 13))),
        "oloproof.yaml": _CONFIG,
        "release.yaml": _RELEASE,
    },
    "team": {
        "app.py": _TEAM_APP,
        "data/cases.jsonl": _rows(*map(_request_case, range(1, 13))),
        "oloproof.yaml": _TEAM_CONFIG,
        "release.yaml": _TEAM_RELEASE,
    },
}
