from __future__ import annotations

from fractions import Fraction

import pytest
from msgspec.structs import replace

from oloproof.gates import decide
from oloproof.gates.flips import gate_flips
from oloproof.gates.plan import plan
from oloproof.gates.stopping import Course, Standing, Suite, launch_order
from oloproof.model.decision import (
    Basis,
    CountFinding,
    IntervalThreshold,
    ObservedCount,
    Policy,
    RateFinding,
    Rule,
    Superiority,
)
from oloproof.model.judgment import Word
from oloproof.model.measured import Measured, Rate
from oloproof.model.plan import CountedPlan, Scenario
from oloproof.model.stopping import EarlyStopping, Settled, Stopping
from oloproof.model.tally import AtLeast, Tally

FLOOR = IntervalThreshold(id="floor", metric="right", min="0.8")
CEILING = IntervalThreshold(id="ceiling", metric="right", max="0.2")
SAFE = ObservedCount(id="safe", metric="careful", max_failures=0)


def after(course: Course, *words: Word, start: Standing | None = None) -> Standing:
    """Where a course stands after these verdicts, the same under both criteria."""
    standing = start or course.begin()
    for word in words:
        standing = course.step(standing, {"right": word, "careful": word}, {})
    return standing


def course(*rules: Rule, n: int = 40, evident: tuple[str, ...] = ()) -> Course:
    return Course(Policy(rules=rules), Suite({"right": n, "careful": n}), evident=evident)


def test_all_rules_must_pass_or_one_fail() -> None:
    both = course(FLOOR, SAFE)
    passing = after(both, *["pass"] * 39)
    assert [settled and settled.state for settled in passing.settled] == ["PASS", None]
    assert not passing.is_over
    assert after(both, "pass", start=passing).is_over
    assert after(both, "pass", "fail").is_over
    assert not both.begin().is_over


def test_what_settled_a_rule_is_told() -> None:
    (settled,) = after(course(FLOOR), *["fail"] * 3, *["missing"] * 2, *["pass"] * 37).settled
    assert settled == Settled(
        rule="floor", state="PASS", by="certainty", after=42, boundary="37 passes of 40", passed=37, failed=3, missing=2
    )
    (settled,) = after(course(CEILING), *["pass"] * 40).settled
    assert settled is not None
    assert (settled.state, settled.boundary, settled.passed, settled.after) == ("FAIL", "13 passes of 40", 13, 13)
    (settled,) = after(course(SAFE), "pass", "fail").settled
    assert settled is not None
    assert settled.boundary == "1 failure of 40"


def test_a_settled_rule_stays_as_it_was() -> None:
    first = after(course(SAFE), "fail")
    assert after(course(SAFE), *["fail"] * 5, start=first).settled == first.settled


def test_a_quantile_is_settled_by_the_cases_known_to_lie_on_one_side() -> None:
    quick = IntervalThreshold(id="quick", metric="steps", max="3")
    policy = Policy(rules=(quick,), confidence_level=0.6)
    walking = Course(policy, Suite({"steps": 5}, {"steps": (Fraction("0.5"), "agent_steps")}))
    standing = walking.begin()
    for steps in (3, 3, AtLeast(2), 3, 3):
        assert not standing.is_over
        standing = walking.step(standing, {}, {"agent_steps": steps})
    (settled,) = standing.settled
    assert settled is not None
    assert settled.boundary == "4 known to be at most 3 of 5"
    standing = walking.begin()
    for steps in (4, AtLeast(4), AtLeast(9)):
        standing = walking.step(standing, {}, {"agent_steps": steps})
    assert standing.settled[0] is None
    (settled,) = walking.step(standing, {}, {"agent_steps": 5}).settled
    assert settled is not None
    assert (settled.state, settled.missing) == ("FAIL", 2)


def test_evidence_settles_the_rules_that_are_named() -> None:
    walking = course(FLOOR, n=1000, evident=("floor",))
    assert not after(walking, *["pass"] * 32).is_over
    (settled,) = after(walking, *["pass"] * 33).settled
    assert settled is not None
    assert (settled.by, settled.after, settled.boundary) == ("evidence", 33, "")
    assert not after(course(FLOOR, n=1000), *["pass"] * 33).is_over
    assert not after(walking, *["fail"] * 9).is_over
    assert after(walking, *["fail"] * 10).is_over


def test_evidence_waits_for_what_the_rule_asks_of_its_cases() -> None:
    asking = IntervalThreshold(id="floor", metric="right", min="0.8", min_cases=50, max_missing="0.02")
    walking = course(asking, n=1000, evident=("floor",))
    assert not after(walking, *["pass"] * 49).is_over
    assert after(walking, *["pass"] * 50).is_over
    assert not after(walking, *["missing"] * 2, *["pass"] * 97).is_over
    assert after(walking, *["missing"] * 2, *["pass"] * 98).is_over


def test_the_rules_that_must_wait_for_their_last_case() -> None:
    loose = ObservedCount(id="loose", metric="careful", max_failures=5)
    never = IntervalThreshold(id="never", metric="right", min="0.99")
    better = Superiority(id="better", metric="right")
    assert course(FLOOR, SAFE, loose, never, better).waiting == ("safe", "never", "better")
    assert course(FLOOR, evident=("floor",)).waiting == ()


@pytest.mark.parametrize("allowed", [None, "0", "0.024", "0.025", "0.5"])
@pytest.mark.parametrize("rule", [FLOOR, ObservedCount(id="safe", metric="right", max_failures=3)])
def test_a_rule_waits_for_the_last_case_where_not_even_passes_alone_settle_it_before(
    rule: Rule, allowed: str | None
) -> None:
    demanding = replace(rule, max_missing=allowed)
    last_but_one = after(course(demanding), *["pass"] * 39).settled
    assert course(demanding).waiting == (() if last_but_one[0] is not None else (rule.id,))


def test_a_rule_that_compares_ends_no_run() -> None:
    walking = course(FLOOR, Superiority(id="better", metric="right"))
    assert not after(walking, *["pass"] * 40).is_over
    assert after(walking, *["fail"] * 40).is_over


def test_the_launch_order_is_the_same_everywhere() -> None:
    assert launch_order(["a", "b", "c", "d", "\ud800"], 7) == [2, 0, 3, 1, 4]
    assert launch_order(["a", "b", "c", "d", "\ud800"], 8) != launch_order(["a", "b", "c", "d", "\ud800"], 7)


# --- what the gate says of such a run -------------------------------------------------------------------------------


def right(passed: int, failed: int, missing: int) -> Measured:
    tally = Tally(passed, failed, missing)
    return Measured(tally.n, (Rate("right", tally), Rate("careful", tally)))


def test_what_a_stopped_run_did_not_settle_is_undecided_because_of_that() -> None:
    settled = Settled(rule="safe", state="FAIL", by="certainty", after=20, boundary="1 failure of 40")
    stopping = Stopping(seed=1, after=20, settled=(settled,))
    floor, safe = decide(right(19, 1, 20), Policy(rules=(FLOOR, SAFE)), stopping=stopping)
    assert (floor.state, floor.reason, floor.settled) == ("INSUFFICIENT_EVIDENCE", "stopped_early", None)
    assert (safe.state, safe.reason, safe.settled) == ("FAIL", "observed_failures_exceed_limit", settled)
    few = IntervalThreshold(id="floor", metric="right", min="0.8", min_cases=50)
    (decision,) = decide(right(19, 1, 20), Policy(rules=(few,)), stopping=stopping)
    assert decision.reason == "below_min_cases"


def test_evidence_is_decided_on_as_it_was_when_it_sufficed() -> None:
    settled = Settled(rule="floor", state="PASS", by="evidence", after=34, boundary="", passed=33, failed=0, missing=1)
    stopping = Stopping(seed=1, method="hybrid", rules=("floor",), settled=(settled,), after=34)
    (decision,) = decide(right(40, 1, 959), Policy(rules=(FLOOR,)), stopping=stopping)
    assert (decision.state, decision.reason) == ("PASS", "lower_bound_meets_minimum")
    finding = decision.finding
    assert isinstance(finding, RateFinding)
    assert finding.tally == Tally(33, 0, 1)
    assert finding.basis == Basis(method="anytime_mixture", level=0.99)
    assert finding.false_pass is None


def test_a_rule_that_evidence_might_have_settled_pays_for_it_in_the_end() -> None:
    """826 of 1,000 are needed then, not 825."""
    stopping = Stopping(seed=1, method="hybrid", rules=("floor",))
    policy = Policy(rules=(FLOOR,), early_stopping=EarlyStopping(method="hybrid", rules=("floor",)))
    states = [decide(right(k, 1000 - k, 0), policy, stopping=stopping)[0].state for k in (774, 775, 825, 826)]
    assert states == ["FAIL", "INSUFFICIENT_EVIDENCE", "INSUFFICIENT_EVIDENCE", "PASS"]
    (decision,) = decide(right(826, 174, 0), policy, stopping=stopping)
    assert isinstance(decision.finding, RateFinding)
    assert decision.finding.basis == Basis(method="wilson", level=0.96)


def test_a_run_that_went_on_to_its_end_is_decided_like_any_other() -> None:
    stopping = Stopping(seed=1, settled=(Settled(rule="floor", state="PASS", by="certainty", after=38, boundary="…"),))
    policy = Policy(rules=(FLOOR, SAFE))
    assert decide(right(38, 2, 0), policy, stopping=stopping) == decide(right(38, 2, 0), policy)
    assert isinstance(decide(right(38, 2, 0), policy)[1].finding, CountFinding)


def test_policies_that_ask_the_same() -> None:
    policy = Policy(rules=(FLOOR,))
    assert policy.decides_like(Policy(rules=(FLOOR,), block_on=("FAIL",), warn_on=("INSUFFICIENT_EVIDENCE",)))
    for other in (
        Policy(rules=(FLOOR, SAFE)),
        Policy(rules=(FLOOR,), confidence_level=0.9),
        Policy(rules=(FLOOR,), interval_method="exact"),
        Policy(rules=(FLOOR,), early_stopping=EarlyStopping()),
    ):
        assert not policy.decides_like(other)


# --- what is foreseen of it -----------------------------------------------------------------------------------------


def foreseen(
    rule: Rule, wish: EarlyStopping | None, *truths: str, n: int = 1000
) -> list[tuple[float, float, int] | None]:
    found = [Scenario(name=truth, truths={rule.id: Fraction(truth)}) for truth in truths]
    (planned,) = plan(Policy(rules=(rule,), early_stopping=wish), found, sizes={rule.metric: n}, quantiles={})
    assert isinstance(planned, CountedPlan)
    return [
        row.early and (round(row.early.passes, 3), round(row.early.fails, 3), round(row.early.cases))
        for row in planned.rows
    ]


def test_how_many_cases_a_rule_takes_is_foreseen() -> None:
    """The figures of the published comparison; an early failure waits for ten cases."""
    evidence = EarlyStopping(method="hybrid", rules=("floor", "ceiling"))
    truths = "0.6", "0.82", "0.9", "0.95"
    assert foreseen(FLOOR, EarlyStopping(), *truths)[2:] == [(1.0, 0.0, 917), (1.0, 0.0, 868)]
    assert foreseen(FLOOR, evidence, *truths) == [(0.0, 1.0, 63), (0.332, 0.001, 975), (1.0, 0.0, 165), (1.0, 0.0, 65)]
    mirrored = foreseen(CEILING, evidence, "0.4", "0.18", "0.1", "0.05")
    assert mirrored == foreseen(FLOOR, evidence, *truths)
    assert foreseen(SAFE, EarlyStopping(), "1", "0.5") == [(1.0, 0.0, 1000), (0.0, 1.0, 2)]


def test_what_is_not_foreseen() -> None:
    band = IntervalThreshold(id="band", metric="right", min="0.2", max="0.8")
    assert foreseen(FLOOR, None, "0.9") == [None]
    assert foreseen(band, EarlyStopping(), "0.5") == [None]
    assert foreseen(FLOOR, EarlyStopping(), "0.9", n=5001) == [None]


DEMANDING = [
    replace(FLOOR, min_cases=120),
    replace(CEILING, max_missing="0.1"),
    replace(FLOOR, min_cases=201),
    ObservedCount(id="safe", metric="right", max_failures=22, max_missing="0.05"),
]


@pytest.mark.parametrize("rule", DEMANDING)
def test_a_rule_is_foreseen_as_it_is_settled(rule: IntervalThreshold | ObservedCount) -> None:
    """By enumeration of all orders of outcomes, through the step function: with what the rule asks of its evidence."""
    n, chance = 200, 0.86
    policy = Policy(rules=(rule,), early_stopping=EarlyStopping(method="hybrid", rules=("floor", "ceiling")))
    steps = Course(policy, Suite({"right": n}), evident=[rule.id] if isinstance(rule, IntervalThreshold) else ())
    alive, ends, cases = {steps.begin(): 1.0}, {"PASS": 0.0, "FAIL": 0.0}, 0.0
    for _ in range(n):
        moved: dict[Standing, float] = {}
        cases += sum(alive.values())
        for standing, mass in alive.items():
            for word, share in (("pass", chance), ("fail", 1 - chance)):
                now = steps.step(standing, {"right": word}, {})  # type: ignore[dict-item]
                settled = now.settled[0]
                if settled is None:
                    moved[now] = moved.get(now, 0.0) + mass * share
                else:
                    ends[settled.state] += mass * share
        alive = {standing: mass for standing, mass in moved.items() if mass > 1e-9}
    (found,) = foreseen(rule, policy.early_stopping, "0.86", n=n)
    assert found is not None
    assert found[:2] == pytest.approx((ends["PASS"], ends["FAIL"]), abs=1e-3)
    assert found[2] == pytest.approx(cases, abs=1)


def test_a_gate_lets_through_what_evidence_settles() -> None:
    """As often as the rule passes in a run that may stop, and not as in one that goes to its end."""
    policy = Policy(rules=(FLOOR,), early_stopping=EarlyStopping(method="hybrid", rules=("floor",)))
    scenario = Scenario(name="", truths={"floor": Fraction("0.82")})
    (found,) = gate_flips(policy, [scenario], sizes={"right": 1000}, quantiles={})
    assert found.allow == pytest.approx((0.332, 0.332), abs=1e-3)
    (unknown,) = gate_flips(policy, [scenario], sizes={"right": 5001}, quantiles={})
    assert unknown.allow == (0.0, 1.0)
