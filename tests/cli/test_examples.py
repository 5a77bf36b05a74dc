"""Both example projects, end to end through the real command, to the last figure."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fakes import projects

EXAMPLES = Path(__file__).parents[2] / "examples"

# id: passed, failed, missing, and the interval by method, as printed.
Rates = dict[str, tuple[int, int, int, str, str]]
Tables = Callable[[str, str], set[tuple[str, ...]]]

SUPPORT: Rates = {
    "answer_correct": (33, 7, 0, "[68.0%, 91.3%]", "[67.2%, 92.7%]"),
    "agent_tool_lookup_order_called": (39, 0, 1, "[87.1%, 100.0%]", "[86.8%, 100.0%]"),
    "agent_no_tool_loop": (29, 10, 1, "[57.1%, 85.9%]", "[56.1%, 87.4%]"),
    "agent_tool_sequence": (24, 16, 0, "[44.5%, 73.7%]", "[43.3%, 75.2%]"),
    "agent_constraints_satisfied": (37, 3, 0, "[80.1%, 97.5%]", "[79.6%, 98.5%]"),
    "agent_steps_le_10": (39, 1, 0, "[87.1%, 99.6%]", "[86.8%, 100.0%]"),
}
TRIAGE: Rates = {
    "answer_correct": (29, 1, 0, "[83.3%, 99.5%]", "[82.7%, 100.0%]"),
    "agent_route": (26, 4, 0, "[70.3%, 94.7%]", "[69.2%, 96.3%]"),
    "agent_tool_permissions": (27, 2, 1, "[74.3%, 98.2%]", "[73.4%, 99.2%]"),
    "agent_handoffs_le_2": (26, 4, 0, "[70.3%, 94.7%]", "[69.2%, 96.3%]"),
}


def oloproof(directory: Path, *arguments: str) -> tuple[int, str]:
    done = projects.oloproof(directory, *arguments, columns=160)
    return done.code, done.out


def copied(name: str, directory: Path, *, method: str = "wilson") -> Path:
    """A copy of the example, with intervals by ``method``."""
    project = directory / name
    shutil.copytree(EXAMPLES / name, project, ignore=shutil.ignore_patterns(".oloproof", "__pycache__"))
    config = project / "oloproof.yaml"
    config.write_text(config.read_text().replace("method: wilson", f"method: {method}"))
    return project


def rows(table: str) -> set[tuple[str, ...]]:
    """The rows of all tables in a report: their cells, stripped."""
    lines = (line for line in table.splitlines() if line.startswith(("│", "┃")))
    return {tuple(cell.strip() for cell in re.split("[│┃]", line)[1:-1]) for line in lines}


def has_row(table: set[tuple[str, ...]], *cells: str) -> bool:
    """Whether some row begins with these cells; the last one may be the beginning of a longer text."""
    *whole, last = cells
    return any(
        row[: len(whole)] == tuple(whole) and len(row) > len(whole) and row[len(whole)].startswith(last)
        for row in table
    )


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """The rows that ``run`` prints for an example under an interval method; each pair runs once."""

    @cache
    def run(name: str, method: str) -> set[tuple[str, ...]]:
        status, text = oloproof(copied(name, tmp_path_factory.mktemp(name), method=method), "run", "--slices")
        assert status == 1
        return rows(text)

    return run


@pytest.mark.parametrize("method", ["wilson", "exact"])
@pytest.mark.parametrize(("name", "rates"), [("support_agent", SUPPORT), ("triage_agents", TRIAGE)])
def test_rates(tables: Tables, name: str, rates: Rates, method: str) -> None:
    table = tables(name, method)
    for criterion, (passed, failed, missing, wilson, exact) in rates.items():
        estimate = f"{100 * passed / (passed + failed):.1f}%"
        interval = wilson if method == "wilson" else exact
        counts = f"{passed} / {passed + failed} observed · {missing} missing · 0 excluded"
        assert has_row(table, criterion, estimate, interval, counts), criterion


@pytest.mark.parametrize("method", ["wilson", "exact"])
def test_quantiles(tables: Tables, method: str) -> None:
    table = tables("support_agent", method)
    counts = "of 39 observed · 1 missing · 0 excluded"
    assert has_row(table, "steps_p95", "10 steps", "[10, no bound] steps", f"p95 {counts}")
    assert has_row(table, "tool_calls_p50", "2 calls", "[2, 3] calls", f"p50 {counts}")


def test_slices_with_exact_intervals(tables: Tables) -> None:
    table = tables("support_agent", "exact")
    for slice_, criterion, estimate, interval, counts in [
        ("first_tool=search", "agent_no_tool_loop", "0.0%", "[0.0%, 57.9%]", "0 / 6 observed · 1 missing"),
        ("first_tool=search", "agent_tool_sequence", "0.0%", "[0.0%, 41.0%]", "0 / 7 observed · 0 missing"),
        ("repeated_action=false", "answer_correct", "93.1%", "[77.2%, 99.2%]", "27 / 29 observed · 0 missing"),
        ("repeated_action=true", "answer_correct", "60.0%", "[26.2%, 87.9%]", "6 / 10 observed · 0 missing"),
    ]:
        assert has_row(table, slice_, criterion, estimate, interval, counts), slice_


def test_slices_in_short(tmp_path: Path) -> None:
    project = copied("support_agent", tmp_path)
    status, text = oloproof(project, "run")
    assert status == 1
    cells = ("79.2% (19/24)", "100.0% (23/23)", "73.9% (17/23)", "58.3% (14/24)", "91.7% (22/24)", "95.8% (23/24)")
    assert has_row(rows(text), "metadata.surface=chat", "24", *cells)
    assert not has_row(rows(text), "metadata.surface=chat", "agent_no_tool_loop")


def report(directory: Path) -> dict[str, Any]:
    status, text = oloproof(directory, "run", "--json")
    document: dict[str, Any] = json.loads(text)
    assert (status, document["gate"]) == (1, {"outcome": "BLOCK", "exit_code": 1})
    return document


def test_support_document(tmp_path: Path) -> None:
    document = report(copied("support_agent", tmp_path))
    answer = document["metrics"][0]
    assert (answer["estimate"], answer["lower"], answer["upper"]) == pytest.approx(
        (0.825, 0.6805000966821229, 0.9125458625396408), abs=1e-12
    )
    support = {(group["slice"], group["value"]): group["support"] for group in document["slices"]}
    assert support == {
        ("metadata.surface", "chat"): 24,
        ("metadata.surface", "email"): 8,
        ("metadata.surface", "phone"): 8,
        ("first_tool", "lookup_order"): 33,
        ("first_tool", "search"): 7,
        ("repeated_action", "false"): 29,
        ("repeated_action", "true"): 10,
        ("repeated_action", "(unplaced)"): 1,
        ("trajectory_length", "1-4"): 26,
        ("trajectory_length", "5-8"): 3,
        ("trajectory_length", "9+"): 11,
    }
    assert [(each["rule"], each["state"], each["reason"]) for each in document["decisions"]] == [
        ("no-deletion", "FAIL", "observed_failures_exceed_limit"),
        ("answer-floor", "INSUFFICIENT_EVIDENCE", "interval_overlaps_threshold"),
        ("order-looked-up", "PASS", "lower_bound_meets_minimum"),
    ]


def test_triage_document(tmp_path: Path) -> None:
    document = report(copied("triage_agents", tmp_path))
    support = {group["value"]: group["support"] for group in document["slices"]}
    assert support == {
        "triage>billing": 12,
        "triage>tech": 10,
        "triage>billing>person": 4,
        "triage>billing>tech>billing": 3,
        "(unplaced)": 1,
    }
    assert [(each["rule"], each["state"], each["reason"]) for each in document["decisions"]] == [
        ("own-tools-only", "FAIL", "observed_failures_exceed_limit"),
        ("answer-floor", "PASS", "lower_bound_meets_minimum"),
        ("route-floor", "INSUFFICIENT_EVIDENCE", "interval_overlaps_threshold"),
    ]


def test_the_truncated_case_is_judged_by_its_prefix(tmp_path: Path) -> None:
    project = copied("support_agent", tmp_path)
    oloproof(project, "run")
    status, text = oloproof(project, "inspect", "latest", "--case", "case_040", "--json")
    assert status == 0
    case = json.loads(text)
    assert case["trajectory"]["truncated"] is True
    assert {each["criterion"]: each["verdict"] for each in case["judgments"]} == {
        "answer_correct": "fail",
        "agent_tool_lookup_order_called": "missing",
        "agent_no_tool_loop": "missing",
        "agent_tool_sequence": "fail",
        "agent_constraints_satisfied": "pass",
        "agent_steps_le_10": "fail",
    }
    assert {each["reason"] for each in case["judgments"] if each["verdict"] == "missing"} == {"truncated_trajectory"}
