"""A budget that is spent stops a run, which says what it left out and can be completed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from msgspec.structs import replace

from fakes.projects import answered, oloproof, project
from oloproof.model.case import Attempt, AttemptError
from oloproof.model.trajectory import Step, Trajectory
from oloproof.pipeline.budget import Budget, Spending

COSTLY = """
from oloproof import current_case, system

@system(records=["agent_trajectory/v1"])
def run(case):
    with current_case().trace() as trace:
        trace.tool_call("ask", {}, cost_usd=0.25)
    return {"answer": case}
"""


def attempt(*costs: float | None, error: AttemptError | None = None) -> Attempt:
    steps = tuple(Step(index=at, kind="message", cost_usd=cost) for at, cost in enumerate(costs, 1))
    return Attempt(case_id="c", error=error, trajectory=Trajectory(steps=steps))


NOT_RUN = attempt(error=AttemptError(kind="not_run", message="stopped"))


def stopped_after(spending: Spending, items: list[Attempt]) -> int | None:
    """How many attempts came until the system was stopped, None where it was not."""
    stops: list[int] = []
    given: list[Attempt] = []

    def giving() -> Iterator[Attempt]:
        for item in items:
            given.append(item)
            yield item

    assert list(spending.within(giving(), lambda: stops.append(len(given)))) == items
    assert len(stops) <= 1
    return stops[0] if stops else None


@pytest.mark.parametrize(("most", "after"), [(0.4, 1), (0.5, 1), (0.51, 2), (1.0, 2), (2.0, 4), (9.0, None)])
def test_it_is_spent_with_the_attempt_that_reaches_it(most: float, after: int | None) -> None:
    spending = Spending(Budget(cost_usd=most), lambda: 0.0)
    assert stopped_after(spending, [attempt(0.25, 0.25)] * 4) == after


@pytest.mark.parametrize(("most", "after"), [(0.5, 1), (1, 1), (3, 3), (100, None)])
def test_time_is_taken_by_the_stopwatch_that_is_given(most: float, after: int | None) -> None:
    ticks = count()
    spending = Spending(Budget(wall_s=most), lambda: float(next(ticks)))
    assert stopped_after(spending, [attempt()] * 4) == after


def test_what_was_left_and_what_had_no_price_are_told() -> None:
    spending = Spending(Budget(cost_usd=0.5), lambda: 0.0)
    assert stopped_after(spending, [attempt(0.25, None), attempt(0.3), NOT_RUN, NOT_RUN]) == 2
    no_price = "1 attempt has steps without a cost, which count as nothing in --max-cost-usd"
    assert spending.told("stopped_early") == (no_price,)
    assert spending.told("interrupted") == (
        "the budget was spent (0.55 USD of 0.5): 2 attempts were not run; `run --resume` completes the run",
        no_price,
    )


def test_attempts_that_were_made_again_cost_what_they_cost() -> None:
    spending = Spending(Budget(cost_usd=0.5), lambda: 0.0)
    dear = replace(attempt(0.1), earlier=(attempt(0.3), attempt(0.2)))
    assert stopped_after(spending, [attempt(0.01), dear, attempt(0.01)]) == 2


def test_a_run_that_spent_its_budget_is_completed_by_another(tmp_path: Path) -> None:
    project(tmp_path, app=COSTLY, cases=answered(*["yes"] * 400))
    done = oloproof(tmp_path, "run", "--max-cost-usd", "1", "--json")
    assert (done.code, done.json["run"]["status"]) == (5, "interrupted")
    passed, failed, missing, excluded = done.verdict("right")
    assert (passed + missing, failed, excluded) == (400, 0, 0)
    assert passed >= 4
    assert missing > 0
    assert any(f"{missing} attempts were not run" in warning for warning in done.json["warnings"])
    the_rest = str(missing * 0.25 + 0.1)  # what stood before costs nothing now
    done = oloproof(tmp_path, "run", "--resume", "latest", "--max-cost-usd", the_rest, "--json")
    assert (done.code, done.verdict("right")) == (0, (400, 0, 0, 0))
    assert not [warning for warning in done.json["warnings"] if "budget" in warning]


@pytest.mark.parametrize(("most", "status", "code"), [("9", "interrupted", 5), ("9.25", "stopped_early", 0)])
def test_a_verdict_that_is_settled_with_the_budget_leaves_nothing_to_resume(
    tmp_path: Path, most: str, status: str, code: int
) -> None:
    """37 passes of 40 are certain to be at least 80 %, and cost 9.25 USD."""
    floor = {"id": "floor", "metric": "right", "min": 0.8}
    system = {"callable": "app:run", "concurrency": 1}
    project(tmp_path, app=COSTLY, cases=answered(*["yes"] * 40), rules=[floor], system=system)
    done = oloproof(tmp_path, "run", "--stop-early", "--max-cost-usd", most, "--json")
    assert (done.code, done.json["run"]["status"]) == (code, status)
    assert any("run --resume" in warning for warning in done.json["warnings"]) == (status == "interrupted")
    assert oloproof(tmp_path, "run", "--resume", "latest").code == (2 if status == "stopped_early" else 0)


def test_a_budget_is_an_amount(tmp_path: Path) -> None:
    project(tmp_path)
    assert oloproof(tmp_path, "run", "--max-wall-s", "0").code == 2
    assert oloproof(tmp_path, "run", "--max-cost-usd", "nan").code == 2
