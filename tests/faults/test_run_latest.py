"""A run that has started is never forgotten: `gate latest` must not fall back on an older, greener one."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes.projects import answered, oloproof, project, spawned

GONE = """
import os
def run(case):
    os.rename("app.py", "gone.py")
    os._exit(0)
"""
GROWS = """
def run(case):
    with open("cases.jsonl", "a") as file:
        file.write("\\n")
    return {"answer": case}
"""
WIPES = """
import sqlite3
def run(case):
    with sqlite3.connect(".oloproof/oloproof.db", timeout=10) as db:
        db.execute("delete from runs")
    return {"answer": case}
"""
REMOVES = """
import shutil
def run(case):
    shutil.rmtree(".oloproof", ignore_errors=True)
    return {"answer": case}
"""


@pytest.mark.parametrize(
    ("app", "count"),
    [(GONE, 6), (GROWS, 3000), (WIPES, 6), (REMOVES, 6)],  # a dataset is read ahead, so only a long one can change
    ids=["gone", "grows", "wipes", "removes"],
)
def test_what_a_system_does_to_its_run_never_leaves_an_older_verdict(tmp_path: Path, app: str, count: int) -> None:
    cases = answered(*["yes"] * count)
    project(tmp_path, cases=cases)
    assert spawned(tmp_path, "run").code == 0
    project(tmp_path, cases=cases, app=app)
    assert spawned(tmp_path, "run").code != 0
    assert oloproof(tmp_path, "gate", "latest").code != 0
