"""The runtime's own cost: a step of a ten-step run without persistence, and an audit record without fsync."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import row

from oloproof.runtime import Agent, Decision, JsonlAuditSink, RunState, Tool
from oloproof.runtime.audit import AuditHead, AuditRecord, chained

STEPS, RECORDS = 10, 200

TOOL = Tool(
    "search",
    lambda text: text,
    parameters={
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": False,
    },
)


def planner(state: RunState, _: Any) -> Decision:
    if len(state.steps) < STEPS:
        return Decision.act("search", {"text": "what changed?"})
    return Decision.finish("done")


def best_s(work: Callable[[], object], repeats: int) -> float:
    """The fastest of ``repeats``: what the work costs when nothing else runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Print both figures; True when both goals are met."""
    agent = Agent([TOOL], planner)
    step_s = best_s(lambda: agent.run("goal"), 300) / STEPS
    with tempfile.TemporaryDirectory() as place:
        sink = JsonlAuditSink(Path(place, "audit.jsonl"))
        head: list[AuditHead | None] = [None]

        def write() -> None:
            for _ in range(RECORDS):
                data = {"step": 1, "tool": "search", "arguments": {"text": "what changed?"}, "usage": {}}
                record: AuditRecord = chained(("tenant", "run"), head[0], "decided", data)
                sink.append([record])
                head[0] = record.head

        record_s = best_s(write, 30) / RECORDS
        sink.close()
    row("a step of a ten-step run, the planner's copy of the state included", step_s * 1e6, "µs", 60)
    row("an audit record in a file, without fsync", record_s * 1e6, "µs", 15)


if __name__ == "__main__":
    main()
