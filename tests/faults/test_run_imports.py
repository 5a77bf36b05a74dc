"""The process that CI waits for imports nothing that an agent wrote, under whatever name it wrote it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fakes.projects import answered, oloproof, project

POISON = """
import os, pathlib, sys

LIBRARIES = ["rich", "click", "yaml", "numpy", "scipy", "msgspec", "re2", "jsonschema", "pygments", "markdown_it"]

def run(case):
    for name in (*sys.stdlib_module_names, *LIBRARIES):
        if name not in ("builtins", "sys", "os"):
            pathlib.Path(f"{name}.py").write_text("import os; os._exit(0)")
    return {"answer": "no"}
"""


@pytest.mark.parametrize("method", ["wilson", "exact"])
@pytest.mark.parametrize("command", [["-m", "oloproof"], ["-c", "from oloproof.cli import main; main()"]])
@pytest.mark.parametrize("output", [["--markdown", "m.md", "--junit", "j.xml"], ["--json", "--junit", "j.xml"]])
def test_modules_that_an_agent_writes_are_not_imported(
    tmp_path: Path, method: str, command: list[str], output: list[str]
) -> None:
    rules = [
        {"id": "none", "metric": "right", "kind": "observed_count", "max_failures": 0},
        {"id": "floor", "metric": "right", "min": 0.5},
    ]
    project(tmp_path, app=POISON, cases=answered("yes", "yes"), rules=rules, interval={"method": method})
    (tmp_path / "release.yaml").write_text(
        (tmp_path / "release.yaml").read_text().replace('"version"', f'"interval_method": "{method}", "version"')
    )
    done = subprocess.run(
        [sys.executable, *command, "run", *output],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert (tmp_path / "rich.py").exists()
    assert "BLOCK" in done.stdout


@pytest.mark.parametrize("method", ["wilson", "exact"])
@pytest.mark.parametrize("trials", [1, 3])
def test_nor_where_cases_are_tried_again_or_belong_together(tmp_path: Path, method: str, trials: int) -> None:
    rules = [
        {"id": "floor", "metric": "right", "min": 0.5},
        {"id": "new", "metric": "right", "kind": "max_new_failures", "max_new_failures": 0, "confirm": 1},
    ]
    cases = [case | {"cluster": name} for case, name in zip(answered("yes", "yes", "yes"), "aab", strict=True)]
    metrics = [{"id": "often", "type": "pass_hat_k", "criterion": "right", "k": trials}]
    config = {"cases": cases, "rules": rules, "trials": trials, "metrics": metrics, "interval": {"method": method}}
    oloproof(project(tmp_path, **config), "run", "--no-gate")
    oloproof(tmp_path, "baseline", "save", "-o", "base.json")
    project(tmp_path, app=POISON, **config)
    done = subprocess.run(
        [sys.executable, "-m", "oloproof", "run", "--baseline", "base.json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert (tmp_path / "scipy.py").exists()
    assert "3 newly broken (3 confirmed" in done.stdout


def test_a_project_with_a_module_of_a_librarys_name_works(tmp_path: Path) -> None:
    project(tmp_path)
    for name in ("rich", "html", "csv", "click", "yaml"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('imported')")
    done = subprocess.run(
        [sys.executable, "-m", "oloproof", "run", "--junit", "j.xml"], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
