"""Programs of the documentation, run as systems."""

from __future__ import annotations

import re
from pathlib import Path

from fakes.projects import Done, project, spawned

HOWTO = Path(__file__).parents[2] / "docs" / "howto"


def judged_program(directory: Path, page: str, *, before: str = "", orders: tuple[str, ...]) -> Done:
    """A run of the page's first program in Python that ``before`` stands in front of, asked for a refund as many times
    as there are ``orders``, all at once; each case declares that it looks up its order and does nothing else."""
    text = (HOWTO / page).read_text(encoding="utf-8")
    program = re.search(rf"{re.escape(before)}```python\n(.*?)```", text, re.DOTALL)
    assert program is not None
    project(
        directory,
        app=program[1],
        cases=[
            {
                "id": f"c{number}",
                "input": {"question": f"Refund {number}."},
                "expected": {"tools": [{"tool": "lookup_order", "arguments": {"order_id": order}}]},
            }
            for number, order in enumerate(orders)
        ],
        evaluators=[{"type": "agent_tool_sequence"}],
        rules=[{"id": "right", "metric": "agent_tool_sequence", "kind": "observed_count", "max_failures": 0}],
        system={"callable": "app:run", "concurrency": len(orders)},
    )
    return spawned(directory, "run", "--json")
