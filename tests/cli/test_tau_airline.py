"""The example on results of tau-bench: on its own small file, and on one of the benchmark where there is one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from fakes.projects import oloproof

EXAMPLE = Path(__file__).parents[2] / "examples/tau_airline"
BENCHMARK = Path(__file__).parents[3] / "shared/data/tau-bench/gpt-4o-airline-tasks-0-9.json"


def copied(directory: Path, *, cases: int = 3) -> Path:
    project = directory / "tau_airline"
    shutil.copytree(EXAMPLE, project, ignore=shutil.ignore_patterns(".oloproof"))
    config = project / "oloproof.yaml"
    config.write_text(config.read_text().replace("cases: 3", f"cases: {cases}"))
    return project


def measured(metrics: Any) -> dict[str, Any]:
    return {metric["id"]: metric for metric in metrics}


def trials(metric: Any) -> tuple[int, int, int]:
    counts = metric["trials"]
    return counts["passed"], counts["failed"], counts["missing"]


def test_the_small_file(tmp_path: Path) -> None:
    directory = copied(tmp_path)
    done = oloproof(directory, "judge", "--json")
    assert done.code == 1
    metrics = measured(json.loads(done.out)["metrics"])
    assert trials(metrics["success"]) == (6, 6, 0)
    assert trials(metrics["reference_actions"]) == (7, 4, 1)
    assert trials(metrics["no_loop"]) == (11, 1, 0)
    assert metrics["reliable"]["estimate"] == pytest.approx(1 / 3)
    told = oloproof(directory, "inspect", "--case", "task_1", "--trial", "4").out
    assert "search_direct_flight" in told


def test_the_first_tool_tells_the_trials_apart(tmp_path: Path) -> None:
    document = json.loads(oloproof(copied(tmp_path), "judge", "--json").out)
    slices = {each["value"]: measured(each["metrics"]) for each in document["slices"]}
    assert trials(slices["get_user_details"]["success"]) == (4, 4, 0)
    assert trials(slices["search_direct_flight"]["success"]) == (1, 1, 0)


@pytest.mark.skipif(not BENCHMARK.exists(), reason="no result file of the benchmark beside the repository")
def test_a_file_of_the_benchmark(tmp_path: Path) -> None:
    runs = json.loads(BENCHMARK.read_text())
    tasks = {run["task_id"] for run in runs}
    directory = copied(tmp_path, cases=len(tasks))
    done = oloproof(directory, "judge", str(BENCHMARK), "--format", "openai", "--json")
    assert done.code == 1
    metrics = measured(json.loads(done.out)["metrics"])
    rewarded = sum(run["reward"] == 1 for run in runs)
    assert trials(metrics["success"]) == (rewarded, len(runs) - rewarded, 0)
    always = sum(all(run["reward"] == 1 for run in runs if run["task_id"] == task) for task in tasks)
    assert metrics["reliable"]["estimate"] == always / len(tasks)
