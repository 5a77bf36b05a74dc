"""The example of three planners through the real command, to the last figure of the page about it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from fakes.projects import Done, oloproof

pytest.importorskip("bm25s")

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "retrieval_planners"
PAGE = (ROOT / "docs" / "howto" / "compare-planners.md").read_text()
PLANNERS = {"one shot": "one_shot.yaml", "verify": "verify.yaml", "verify (3)": "verify_3.yaml"}
QUANTITIES = ("decisions_p50", "decisions_p95", "calls_p50", "calls_p95", "cost_p50", "cost_p95")


def copied(place: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, place / "planners", ignore=shutil.ignore_patterns(".oloproof", "__*")))


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Done]]:
    """The example after a run of each planner against the one before."""
    home = copied(tmp_path_factory.mktemp("example"))
    told = {}
    for name, config in PLANNERS.items():
        baseline = ("--baseline", "latest") if told else ()
        told[name] = oloproof(home, "run", "--config", config, "--json", *baseline)
    return home, told


def row(table: str, *cells: str) -> list[str]:
    """The cells of the page's row that begins with these, in the table with that heading."""
    lines = PAGE[PAGE.index(table) :].split("\n\n")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return next(each for each in rows if each[: len(cells)] == list(cells))[len(cells) :]


def cells(text: str, name: str) -> list[str]:
    """The cells of a terminal table's row."""
    line = next(line for line in text.splitlines() if line.startswith(f"│ {name} "))
    return [cell.strip() for cell in line.strip("│").split("│")][1:]


@pytest.mark.parametrize("planner", PLANNERS)
def test_the_page_shows_what_was_measured(compared: tuple[Path, dict[str, Done]], planner: str) -> None:
    home, told = compared
    assert told[planner].code == 0, told[planner]
    text = oloproof(home, "gate", told[planner].json["run"]["id"], "--config", PLANNERS[planner]).out
    measured = [re.sub(r" (decisions?|calls?|USD)\b", "", " ".join(cells(text, name)[:2])) for name in QUANTITIES]
    assert row("| planner ", planner) == [" ".join(cells(text, "found")[:2]), *measured]


@pytest.mark.parametrize(("candidate", "against"), [("verify", "one shot"), ("verify (3)", "verify")])
def test_the_page_shows_what_was_compared(compared: tuple[Path, dict[str, Done]], candidate: str, against: str) -> None:
    home, told = compared
    runs = [told[name].json["run"]["id"] for name in (candidate, against)]
    done = oloproof(home, "compare", *runs, "--config", PLANNERS[candidate])
    assert done.code == 0
    difference, interval, pairs, _ = cells(done.out, "found")
    fixed, broken = re.findall(r"(\d+) (?:fixed|broken)", pairs)
    costs = [cells(done.out, name)[2].removesuffix(" USD") for name in ("cost_p50", "cost_p95")]
    assert row("| candidate ", candidate, against) == [f"{difference} {interval}", fixed, broken, *costs]


def test_every_run_is_audited_and_every_call_has_its_cost(compared: tuple[Path, dict[str, Done]]) -> None:
    _, told = compared
    for done in told.values():
        assert done.verdict("agent_constraints_satisfied") == (280, 0, 0, 0)
        assert all(each["missing"] == 0 for each in done.json["metrics"])


def test_without_the_scope_no_tool_runs(tmp_path: Path) -> None:
    home = copied(tmp_path)
    app = (home / "app.py").read_text()
    granted = 'POLICY = Policy(granted_scopes={"docs:read"})'
    assert granted in app
    (home / "app.py").write_text(app.replace(granted, "POLICY = Policy()"))
    done = oloproof(home, "run", "--config", "verify.yaml", "--json")
    assert (done.code, done.verdict("agent_constraints_satisfied")) == (1, (0, 280, 0, 0))
    assert done.verdict("found") == (0, 280, 0, 0)
    shown = oloproof(home, "inspect", "latest", "--case", "task-001", "--config", "verify.yaml").out
    assert "scope_denied" in shown


def test_the_tasks_are_sentences_of_their_passages() -> None:
    def rows(name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (EXAMPLE / name).read_text().splitlines()]

    texts = {each["id"]: each["text"] for each in rows("passages.jsonl")}
    tasks = rows("data/tasks.jsonl")
    assert (len(texts), len(tasks)) == (598, 280)
    assert all(task["input"]["query"] in texts[task["expected"]["passage"]] for task in tasks)
    assert f"{len(texts)} passages" in PAGE
    assert f"There are {len(tasks)}" in PAGE
