"""``oloproof.evaluate`` in a real kernel of Jupyter, whose loop is running."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

CELLS = (
    """
import asyncio, oloproof

async def system(asked):
    await asyncio.sleep(0)
    with oloproof.current_case().trace() as trace:
        trace.tool_call("<script>alert(1)</script>", {})
    return {"answer": asked}

result = oloproof.evaluate(
    system,
    [{"id": "c1", "input": "yes", "expected": {"answer": "yes", "tools": []}}],
    evaluators=[
        {"type": "contains", "criterion": "right", "field": "answer", "expected_field": "answer"},
        {"type": "agent_tool_sequence"},
    ],
    rules=[{"id": "none-wrong", "metric": "right", "kind": "observed_count", "max_failures": 0}],
)
result
""",
    "result.cases['c1']",
    "print(result.verdict, result.cases['c1'].verdicts)",
)


CLIENT = """
import json, sys
import nbclient, nbformat

cells = [nbformat.v4.new_code_cell(cell) for cell in json.load(sys.stdin)]
notebook = nbformat.v4.new_notebook(cells=cells)
nbclient.NotebookClient(notebook, kernel_name="python3", timeout=120).execute()
print(json.dumps([cell.outputs for cell in notebook.cells]))
"""


def test_a_cell_evaluates_an_async_system_and_draws_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CLIENT]  # apart: sockets of the client are closed when it ends, not before
    done = subprocess.run(command, cwd=tmp_path, input=json.dumps(CELLS), capture_output=True, text=True, check=True)
    (whole,), (case,), (printed,) = json.loads(done.stdout)
    assert "ALLOW (exit 0)" in whole["data"]["text/html"]
    assert "&lt;script&gt;" in case["data"]["text/html"]
    assert "<script" not in case["data"]["text/html"]
    assert printed["text"] == "ALLOW {'right': 'pass', 'agent_tool_sequence': 'fail'}\n"
