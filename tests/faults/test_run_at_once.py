"""Many cases, and several runs at once, in one store."""

from __future__ import annotations

from pathlib import Path

from fakes.projects import answered, oloproof, project, spawned, started


def test_ten_thousand_cases_are_run_and_judged(tmp_path: Path) -> None:
    answers = ["no" if number % 1000 == 999 else "yes" for number in range(10_000)]
    floor = {"id": "floor", "metric": "right", "min": 0.99}
    done = spawned(project(tmp_path, cases=answered(*answers), rules=[floor]), "run", "--json")
    assert done.code == 0
    assert done.verdict("right") == (9_990, 10, 0, 0)
    failures = oloproof(tmp_path, "inspect", "--failures", "--csv").out.splitlines()[1:]
    assert [line.split(",")[0] for line in failures] == [f"c{number}" for number in range(1000, 10_001, 1000)]


def test_two_runs_at_once_share_a_store(tmp_path: Path) -> None:
    directory = project(tmp_path, cases=answered(*["yes"] * 300, "no"))
    processes = [started(directory, "run", "--run-id-file", f"id{number}") for number in range(3)]
    for process in processes:
        process.communicate()
    assert [process.returncode for process in processes] == [1, 1, 1]
    ids = {(directory / f"id{number}").read_text().strip() for number in range(3)}
    listed = oloproof(directory, "runs", "--json").json["runs"]
    assert {run["id"] for run in listed} == ids
    assert [(run["status"], run["cases"]) for run in listed] == [("complete", 301)] * 3
    for run_id in ids:
        assert oloproof(directory, "inspect", run_id, "--json").verdict("right") == (300, 1, 0, 0)
