"""A plan's boundaries are those of the decisions, and its probabilities those of every outcome summed up."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import product
from math import comb, prod
from typing import Any

import pytest

from fakes.compared import compared
from oloproof.gates import decide
from oloproof.gates.flips import gate_flips
from oloproof.gates.pairs import confirmation_of, on_pairs
from oloproof.gates.plan import plan
from oloproof.gates.scenarios import Assumptions, observed_scenario, scenarios
from oloproof.model.decision import (
    Equivalence,
    IntervalThreshold,
    MaxNewFailures,
    NonInferiority,
    ObservedCount,
    Policy,
    Rule,
    Superiority,
)
from oloproof.model.measured import Measured, Quantile, Rate
from oloproof.model.plan import CountedPlan, CountPlan, PairPlan, QuantilePlan, RatePlan, Scenario
from oloproof.model.tally import Distribution, PairTable, Tally

NINE_TENTHS = Fraction("0.9")


def threshold(**fields: Any) -> IntervalThreshold:
    return IntervalThreshold(**({"id": "rule", "metric": "right"} | fields))


def count(**fields: Any) -> ObservedCount:
    return ObservedCount(**({"id": "count", "metric": "right", "max_failures": 0} | fields))


def under(truth: str, *rules: Rule) -> Scenario:
    return Scenario(name=truth, truths={rule.id: Fraction(truth) for rule in rules})


def planned(rule: Rule, n: int, *found: Scenario, q: Fraction | None = None, **policy: Any) -> CountedPlan | PairPlan:
    quantiles = {} if q is None else {rule.metric: q}
    (only,) = plan(Policy(rules=(rule,), **policy), found, sizes={rule.metric: n}, quantiles=quantiles)
    return only


def state(rule: Rule, metric: Rate | Quantile, **policy: Any) -> str:
    (decision,) = decide(Measured(cases=0, metrics=(metric,)), Policy(rules=(rule,), **policy))
    return decision.state


def said(found: CountedPlan, k: int) -> str:
    passes = found.pass_from is not None and found.pass_to is not None and found.pass_from <= k <= found.pass_to
    fails = (found.fail_to is not None and k <= found.fail_to) or (found.fail_from is not None and k >= found.fail_from)
    return "PASS" if passes else "FAIL" if fails else "INSUFFICIENT_EVIDENCE"


RULES = [
    threshold(min="0.7"),
    threshold(max="0.2"),
    threshold(min="0.3", max="0.8"),
    threshold(min="0"),
    threshold(max="0"),
    threshold(min="1"),
    threshold(min="0.5", min_cases=10),
    count(),
    count(max_failures=3),
    count(max_failures=50),
    count(max_failures=1, min_cases=10),
]


@pytest.mark.parametrize("method", ["wilson", "exact"])
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_boundaries_are_those_of_the_decision(rule: Rule, method: str) -> None:
    for n in (1, 2, 9, 23):
        found = planned(rule, n, interval_method=method)
        assert isinstance(found, CountedPlan)
        for k in range(n + 1):
            assert said(found, k) == state(rule, Rate("right", Tally(k, n - k)), interval_method=method), (n, k)


@pytest.mark.parametrize("rule", [threshold(max="5"), threshold(min="5")], ids=str)
def test_the_boundaries_of_a_quantile_count_the_cases_that_keep_to_its_bound(rule: IntervalThreshold) -> None:
    good, bad = (5.0, 6.0) if rule.max else (5.0, 4.0)
    for q, n in product(("0.5", "0.9", "0.1"), (1, 8, 40)):
        found = planned(rule, n, q=Fraction(q))
        assert isinstance(found, QuantilePlan)
        for k in range(n + 1):
            values = sorted(((good, k), (bad, n - k)))
            cases = Distribution(tuple((value, times) for value, times in values if times))
            assert said(found, k) == state(rule, Quantile("right", "agent_steps", q, "steps", cases)), (q, n, k)


def test_a_quantile_with_two_bounds_has_no_such_numbers() -> None:
    found = planned(threshold(min="1", max="5"), 100, under("0.9", threshold()), q=NINE_TENTHS)
    assert isinstance(found, QuantilePlan)
    assert (found.pass_from, found.fail_to, found.rows, found.bound_needs) == (None, None, (), 36)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_chances_are_those_of_every_outcome(rule: Rule) -> None:
    n, p = 23, 0.85
    found = planned(rule, n, under("0.85", rule))
    assert isinstance(found, CountedPlan)
    wanted = {"PASS": 0.0, "FAIL": 0.0, "INSUFFICIENT_EVIDENCE": 0.0}
    for k in range(n + 1):
        wanted[state(rule, Rate("right", Tally(k, n - k)))] += comb(n, k) * p**k * (1 - p) ** (n - k)
    (row,) = found.rows
    assert (row.chances.passes, row.chances.fails, row.chances.undecided) == pytest.approx(
        tuple(wanted.values()), abs=1e-12
    )
    assert row.chances.flips == pytest.approx(1 - sum(chance**2 for chance in wanted.values()), abs=1e-12)


def test_a_rate() -> None:
    rule = threshold(min="0.9")
    found = planned(rule, 100, *(under(truth, rule) for truth in ("0.95", "0.9", "0.98")))
    assert isinstance(found, RatePlan)
    assert (found.pass_from, found.fail_to, found.may_be_missing) == (96, 84, 4)
    assert (found.false_pass, found.false_fail) == pytest.approx((0.0237, 0.0399), abs=5e-5)
    assert found.advice == (
        "calls a system exactly at its bound FAIL in 4.0% of suites of 100 cases, nominally 2.5%:"
        " consider `interval_method: exact`"
    )
    better, at_it, best = found.rows
    assert better.chances.passes == pytest.approx(0.436, abs=5e-4)
    assert [(each.first, each.stable) for each in better.needed] == [(217, 254), (291, 315)]
    assert at_it.needed == ()
    assert [(each.first, each.stable) for each in best.needed] == [(69, 84), (84, 99)]
    exact = planned(rule, 100, interval_method="exact")
    assert isinstance(exact, RatePlan)
    assert exact.advice == ""


def test_a_maximum_is_the_minimum_of_the_failures() -> None:
    low, high = threshold(min="0.9"), threshold(max="0.1")
    one, other = planned(low, 100, under("0.95", low)), planned(high, 100, under("0.05", high))
    assert isinstance(one, RatePlan)
    assert isinstance(other, RatePlan)
    assert (other.pass_to, other.fail_from, other.may_be_missing) == (4, 16, 4)
    assert one.rows[0].chances == other.rows[0].chances
    assert one.rows[0].needed == other.rows[0].needed


def test_fewer_may_be_missing_where_the_rule_says_so() -> None:
    found = planned(threshold(min="0.9", max_missing="0.02"), 100)
    assert isinstance(found, CountedPlan)
    assert found.may_be_missing == 2


def test_a_count_says_what_it_proves() -> None:
    found = planned(count(), 300)
    assert isinstance(found, CountPlan)
    assert found.proves == pytest.approx(1 - 0.05 ** (1 / 300))
    nothing = planned(count(), 0)
    assert isinstance(nothing, CountPlan)
    assert (nothing.proves, nothing.pass_from) == (None, None)


# --- rules that compare ----------------------------------------------------------------------------------------------


def pairs(rule: Rule, n: int, discordant: float, difference: float | None = None, **policy: Any) -> PairPlan:
    scenario = Scenario(name="", discordant={rule.id: discordant}, difference=difference)
    found = planned(rule, n, scenario, **policy)
    assert isinstance(found, PairPlan)
    return found


def test_non_inferiority() -> None:
    found = pairs(NonInferiority(id="no-worse", metric="right", margin="0.02"), 400, 0.02)
    assert (found.kind, found.agreeing_needs) == ("non_inferiority", 189)
    (row,) = found.rows
    assert row.chances.passes == pytest.approx(0.66, abs=5e-3)
    assert row.needed == ((0.8, 549), (0.9, 704))


def test_equivalence_needs_more_than_non_inferiority_and_superiority_needs_a_difference() -> None:
    (same,) = pairs(Equivalence(id="same", metric="right", margin="0.05"), 400, 0.1).rows
    (no_worse,) = pairs(NonInferiority(id="same", metric="right", margin="0.05"), 400, 0.1).rows
    assert same.chances.passes < no_worse.chances.passes
    assert all(many > few for (_, many), (_, few) in zip(same.needed, no_worse.needed, strict=True))
    better = pairs(Superiority(id="better", metric="right"), 400, 0.02)
    (row,) = better.rows
    assert (row.difference, row.discordant, better.agreeing_needs) == (0.05, 0.05, None)
    (none,) = pairs(Superiority(id="better", metric="right"), 400, 0.1, difference=0.0).rows
    assert none.chances.passes <= 0.0268
    assert none.needed == ((0.8, None), (0.9, None))


def test_new_failures_of_an_unchanged_system() -> None:
    """Of 200 cases that pass with a chance of 0.99, some pass before and fail now in 86 % of all comparisons."""
    rule = MaxNewFailures(id="none-new", metric="right", max_new_failures=0)
    (row,) = pairs(rule, 200, 2 * 0.99 * 0.01).rows
    assert row.chances.fails == pytest.approx(0.863, abs=1e-3)
    assert row.needed == ()
    few = MaxNewFailures(id="few", metric="right", max_new_failures=0, min_cases=300)
    (row,) = pairs(few, 200, 2 * 0.99 * 0.01).rows
    assert row.chances.passes == 0.0
    assert row.chances.fails == pytest.approx(0.863, abs=1e-3)  # what broke did so, however few cases there are
    (row,) = pairs(few, 0, 0.1).rows
    assert row.chances.undecided == 1.0


@pytest.mark.parametrize("passing", ["0.9", "0.6", "0.5", "0.3"])
@pytest.mark.parametrize(("limit", "confirm"), [(0, 1), (0, 2), (1, 2)])
def test_a_rule_that_confirms_is_planned_as_it_is_decided(passing: str, limit: int, confirm: int) -> None:
    """Against all that two cases can come to before, now, and when they are run again."""
    rule = MaxNewFailures(id="none-new", metric="right", max_new_failures=limit, confirm=confirm)
    expected: defaultdict[str, float] = defaultdict(float)
    chance = {"p": float(passing), "f": 1 - float(passing)}
    for cases in product(product("pf", repeat=2 + confirm), repeat=2):
        broken = {str(at): again for at, (was, now, *again) in enumerate(cases) if (was, now) == ("p", "f")}
        kinds = ["".join(each[:2]) for each in cases]
        table = PairTable(*(kinds.count(kind) for kind in ("pp", "fp", "pf", "ff")))
        confirmation = confirmation_of(rule, list(broken), broken)
        _, (state, _) = on_pairs(rule, table, level=0.95, confirmation=confirmation)
        expected[state] += prod(chance[letter] for each in cases for letter in each)
    (scenario,) = assumed(rule, truths=(Fraction(passing),))
    found = planned(rule, 2, scenario)
    assert isinstance(found, PairPlan)
    (row,) = found.rows
    assert (row.chances.passes, row.chances.fails) == pytest.approx((expected["PASS"], expected["FAIL"]))


def test_new_failures_of_an_unchanged_system_that_are_confirmed() -> None:
    rule = MaxNewFailures(id="none-new", metric="right", max_new_failures=0, confirm=3)
    (row,) = pairs(rule, 200, 2 * 0.99 * 0.01).rows
    assert row.chances.passes == pytest.approx((1 - 0.99 * 0.01 * (1 - 0.99**3)) ** 200)
    (much,) = pairs(rule, 200, 0.9).rows  # on more pairs than any chance to pass comes to
    assert much.chances.fails == pytest.approx(1)


# --- what is assumed -------------------------------------------------------------------------------------------------


def assumed(*rules: Rule, quantiles: dict[str, Fraction] | None = None, **words: Any) -> tuple[Scenario, ...]:
    sizes = {rule.metric: 40 for rule in rules}
    return scenarios(Policy(rules=rules), sizes=sizes, quantiles=quantiles or {}, assumed=Assumptions(**words))


def test_without_a_word_truths_follow_from_the_failures_that_a_rule_allows() -> None:
    found = assumed(threshold(min="0.9"), count())
    assert [scenario.name.split()[0] for scenario in found] == ["twice", "just", "half", "a"]
    assert [float(scenario.truths["rule"]) for scenario in found] == [0.8, 0.9, 0.95, 0.975]
    # One pass rate has one truth, whichever rule looks at it.
    assert all(scenario.truths["count"] == scenario.truths["rule"] for scenario in found)
    assert [float(each.truths["count"]) for each in assumed(count())] == [0.95, 0.975, 0.9875, 0.99375]
    assert [float(each.truths["rule"]) for each in assumed(threshold(max="0.7"))] == [1.0, 0.7, 0.35, 0.175]
    steps = assumed(threshold(max="12"), quantiles={"right": NINE_TENTHS})
    assert [float(each.truths["rule"]) for each in steps] == [0.8, 0.9, 0.95, 0.975]
    no_worse = NonInferiority(id="no-worse", metric="right", margin="0.02")
    assert [(each.name, each.discordant["no-worse"]) for each in assumed(no_worse)][:1] == [
        ("20% of pairs differ", 0.2)
    ]


def test_each_rule_is_told_what_of_a_scenario_concerns_it() -> None:
    no_worse = NonInferiority(id="no-worse", metric="right", margin="0.02")
    careful = count(id="careful", metric="careful")
    one = assumed(threshold(min="0.9"), careful, no_worse)[1]
    assert one.name == "just the failures allowed, 10% of pairs differ"
    assert [one.label(rule) for rule in ("rule", "careful", "no-worse", "else")] == [
        "just the failures allowed",
        "one failure a run",
        "10% of pairs differ",
        one.name,
    ]
    # One pass rate has one truth, and is called after the rule that it was taken from.
    assert [assumed(threshold(min="0.9"), count())[1].label(rule) for rule in ("rule", "count")] == [
        "just the failures allowed"
    ] * 2


def test_what_the_user_says_is_assumed() -> None:
    other = threshold(id="other", metric="other", min="0.5")
    better = Superiority(id="better", metric="right")
    one, two = assumed(
        threshold(min="0.9"),
        other,
        better,
        truths=(NINE_TENTHS, Fraction("0.95")),
        by_metric={"other": (Fraction("0.6"),)},
        difference=0.1,
    )
    assert (one.name, two.name) == ("90%, other 60%", "95%, other 60%")
    assert (one.truths, one.discordant) == ({"rule": NINE_TENTHS, "other": Fraction("0.6")}, {"better": 0.18})
    assert (two.truths["rule"], two.difference) == (Fraction("0.95"), 0.1)


def test_a_run_tells_what_is_true() -> None:
    rules = (
        threshold(min="0.9"),
        threshold(id="quick", metric="steps", max="5"),
        threshold(id="unseen", metric="nothing", min="0.9"),
        NonInferiority(id="no-worse", metric="right", margin="0.02"),
        NonInferiority(id="other", metric="steady", margin="0.02"),
    )
    steps = Quantile("steps", "agent_steps", "0.9", "steps", Distribution(((3.0, 30), (5.0, 5), (9.0, 5)), ((1.0, 2),)))
    tallies = (Rate("right", Tally(36, 4, 2)), steps, Rate("nothing", Tally(missing=4)), Rate("steady", Tally(9, 1)))
    table = PairTable(both_pass=34, fixed=3, broken=1, both_fail=2, was_pass=2)
    found = observed_scenario(Policy(rules=rules), Measured(42, tallies), compared(table), assumed=Assumptions())
    assert found.truths == {"rule": NINE_TENTHS, "quick": Fraction(35, 40)}
    assert found.discordant == pytest.approx({"no-worse": 0.1, "other": 0.18})


# --- the whole gate --------------------------------------------------------------------------------------------------


def flips(*rules: Rule, scenario: Scenario, n: int = 23, **policy: Any) -> tuple[tuple[float, float], ...]:
    sizes = {rule.metric: n for rule in rules}
    (found,) = gate_flips(Policy(rules=rules, **policy), (scenario,), sizes=sizes, quantiles={})
    return found.allow, found.flips


def test_rules_about_one_rate_hang_together_exactly() -> None:
    rules, n, p = (threshold(min="0.7"), count(max_failures=2)), 23, 0.9
    allow = sum(
        comb(n, k) * p**k * (1 - p) ** (n - k)
        for k in range(n + 1)
        if all(state(rule, Rate("right", Tally(k, n - k))) == "PASS" for rule in rules)
    )
    found = flips(*rules, scenario=under("0.9", *rules))
    assert found == (pytest.approx((allow, allow)), pytest.approx((2 * allow * (1 - allow),) * 2))


def test_rules_about_different_rates_are_bounded() -> None:
    one, other = threshold(min="0.7"), threshold(id="other", metric="other", min="0.7")
    alone = flips(one, scenario=under("0.9", one))[0][0]
    (low, high), (least, most) = flips(one, other, scenario=under("0.9", one, other))
    assert (low, high) == pytest.approx((max(0.0, 2 * alone - 1), alone))
    independent = alone**2
    assert low < independent < high
    assert least <= 2 * independent * (1 - independent) <= most


def test_the_flips_are_largest_where_half_of_the_runs_are_let_through() -> None:
    one, other = threshold(min="0.7"), threshold(id="other", metric="other", min="0.7")
    (low, high), (_, most) = flips(one, other, scenario=under("0.85", one, other), n=40)
    assert low < 0.5 < high
    assert most == 0.5


def test_a_rule_of_which_nothing_is_known_may_do_anything() -> None:
    one, other = threshold(min="0.7"), threshold(id="other", metric="other", min="0.7")
    assert flips(one, other, scenario=under("0.9", one))[0] == (0.0, flips(one, scenario=under("0.9", one))[0][1])


def test_a_warning_does_not_block_but_some_rule_must_pass() -> None:
    rule, lenient = threshold(min="0.7"), {"block_on": ("FAIL",), "warn_on": ("INSUFFICIENT_EVIDENCE",)}
    strict = flips(rule, scenario=under("0.8", rule))[0]
    assert flips(rule, scenario=under("0.8", rule), **lenient)[0] == pytest.approx(strict)
    count_too = count(max_failures=23)
    assert flips(rule, count_too, scenario=under("0.8", rule, count_too), **lenient)[0][0] > strict[0]


def test_a_comparison_of_an_unchanged_system_is_an_enumeration() -> None:
    rule = NonInferiority(id="no-worse", metric="right", margin="0.05")
    scenario = Scenario(name="", discordant={"no-worse": 0.1})
    chances = pairs(rule, 120, 0.1).rows[0].chances
    allow, _ = flips(rule, scenario=scenario, n=120)
    assert allow == pytest.approx((chances.passes,) * 2)
