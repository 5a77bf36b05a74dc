from __future__ import annotations

from oloproof.gates import decide
from oloproof.model.decision import Gate, IntervalThreshold, Policy
from oloproof.model.measured import Measured, Rate
from oloproof.model.run import Report, Run, RunStatus, SystemIdentity
from oloproof.model.stopping import EarlyStopping, Saved, Settled, Stopping
from oloproof.model.tally import Tally
from oloproof.reports.document import report_document
from oloproof.reports.view import View, view

FLOOR = IntervalThreshold(id="floor", metric="right", min="0.8")
HYBRID = EarlyStopping(method="hybrid", rules=("floor",))


def report(tally: Tally, stopping: Stopping, *, status: RunStatus | None = None) -> Report:
    policy = Policy(rules=(FLOOR,), early_stopping=HYBRID)
    run = Run(
        id="r",
        project="p",
        system=SystemIdentity(name="s"),
        status=status or ("complete" if stopping.after is None else "stopped_early"),
        started_at="2026-11-30T10:15:00Z",
        cases=tally.n,
        criteria=("right",),
        stopping=stopping,
    )
    measured = Measured(tally.n, (Rate("right", tally),))
    decisions = decide(measured, policy, stopping=stopping)
    return Report(
        run=run, measured=measured, policy=policy, decisions=decisions, gate=Gate(outcome="BLOCK", exit_code=1)
    )


def facts(drawn: View) -> dict[str, str]:
    return {fact.label: fact.text for fact in drawn.facts}


def test_a_run_that_went_on_says_at_which_level_the_rule_was_decided() -> None:
    drawn = view(report(Tally(826, 174), Stopping(seed=7, method="hybrid", rules=("floor",))))
    assert facts(drawn)["early stopping"] == "hybrid on floor, launch order from seed 7; no case was left out"
    (row,) = drawn.decisions
    assert row.words == "lower bound 80.0% ≥ minimum 80% (wilson, 96%)"
    # Of both together: 0.5 % by evidence, and what the full run at 96 % comes to.
    assert row.achieved == "error at the bound: false pass 2.6%, false fail 2.9% (nominal 2.5%)"


def test_of_a_run_that_was_cut_short_it_is_not_said_that_nothing_was_left_out() -> None:
    drawn = view(report(Tally(8, 0, 992), Stopping(seed=7), status="interrupted"))
    said = "curtailment, launch order from seed 7; cut short before its verdict was settled"
    assert facts(drawn)["early stopping"] == said


def test_a_rule_that_was_left_open_names_no_interval() -> None:
    stopping = Stopping(seed=7, method="hybrid", rules=("floor",), after=20, not_run={"right": 980})
    (row,) = view(report(Tally(15, 5, 980), stopping)).decisions
    assert row.words == (
        "not settled when the run stopped: of 1,000 cases 980 did not run or left no verdict,"
        " and an interval of the others alone would not be valid"
    )


def test_what_was_saved_is_in_units_that_one_can_read() -> None:
    def saved(**spent: float) -> str:
        stopping = Stopping(seed=7, after=20, not_run={"right": 980}, saved=Saved(cases=980, **spent))
        return facts(view(report(Tally(15, 5, 980), stopping)))["saved"]

    assert saved() == "980 of 1,000 cases not run"
    assert saved(cost_usd=12.3456789) == "980 of 1,000 cases not run, about 12.3457 USD"
    texts = [saved(seconds=seconds).rpartition("about ")[2] for seconds in (0.0214, 59.6, 90, 7260)]
    assert texts == [f"{time} of the system's time" for time in ("21 ms", "1 min 0 s", "1 min 30 s", "2 h 1 min")]


def test_the_reasons_for_stopping_are_the_rules_that_settled_the_run() -> None:
    def where(*states: str) -> str:
        settled = tuple(
            Settled(rule=f"r{at}", state=state, by="certainty", after=20, boundary="…")  # type: ignore[arg-type]
            for at, state in enumerate(states)
        )
        stopping = Stopping(seed=7, after=20, settled=settled, not_run={"right": 980})
        return facts(view(report(Tally(15, 5, 980), stopping)))["early stopping"].partition("cases: ")[2]

    assert where("PASS", "PASS") == "r0 PASS by certainty, r1 PASS by certainty"
    assert where("PASS", "FAIL") == "r1 FAIL by certainty"


def test_a_criterion_of_which_nothing_ran_has_the_widest_interval() -> None:
    stopping = Stopping(seed=7, after=20, not_run={"right": 20})
    (metric,) = report_document(report(Tally(missing=20), stopping))["metrics"]
    assert (metric["lower"], metric["upper"], metric["not_run"]) == (0.0, 1.0, 20)
    assert metric["full_run"] == {"passed_at_least": 0, "passed_at_most": 20}
