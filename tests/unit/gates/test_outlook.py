"""What the outlook says of a rule is what the decision does, for every outcome that a few cases can have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from oloproof.gates import decide, outlook
from oloproof.gates.outlook import MOST_CASES
from oloproof.gates.plan import plan
from oloproof.model.decision import (
    IntervalThreshold,
    MaxNewFailures,
    ObservedCount,
    Policy,
    RateFinding,
    Rule,
    Superiority,
)
from oloproof.model.measured import Measured, Quantile, Rate
from oloproof.model.plan import AnyPlan, Needed, RatePlan, Scenario
from oloproof.model.stopping import EarlyStopping, Stopping
from oloproof.model.tally import Distribution, Tally

BY_EVIDENCE = EarlyStopping(method="hybrid", rules=("rule",))
P95, P50 = Fraction("0.95"), Fraction("0.5")


def threshold(**fields: Any) -> IntervalThreshold:
    return IntervalThreshold(id="rule", metric="right", **fields)


def count(max_failures: int, **fields: Any) -> ObservedCount:
    return ObservedCount(id="rule", metric="right", max_failures=max_failures, **fields)


def said(rule: Rule, n: int, *, q: Fraction | None = None, **policy: Any) -> str:
    told = outlook(rule, Policy(rules=(rule,), **policy), n=n, q=q)
    assert (told.rule, told.n) == ("rule", n)
    return told.text


def state(rule: Rule, metric: Rate | Quantile, **policy: Any) -> str:
    (decision,) = decide(Measured(cases=0, metrics=(metric,)), Policy(rules=(rule,), **policy))
    return decision.state


def outcomes(n: int) -> Iterator[tuple[int, int, int]]:
    """Every way in which n cases can pass, fail and be missing, as long as one is observed."""
    for passed in range(n + 1):
        for failed in range(n + 1 - passed):
            if passed + failed:
                yield passed, failed, n - passed - failed


# --- what a sentence says of an outcome ----------------------------------------------------------------------------


def parts(text: str) -> tuple[str, str, int | None]:
    """What is said of PASS, what of FAIL, and how many cases may be missing."""
    text = text.partition("; error at the bound")[0]
    passing, failing = re.split(r"[;,] (?=FAIL|cannot FAIL)", text)
    failing, _, rest = failing.partition("; neither when more than ")
    failing, _, rest = failing.partition("; no PASS when more than ") if not rest else (failing, "", rest)
    return passing, failing, int(rest.split()[0]) if rest else None


def rate_by_the_sentence(text: str, passed: int, failed: int, missing: int) -> str:
    passing, failing, allowed = parts(text)
    counted = {"pass": passed, "failure": failed}

    def reached(part: str) -> list[bool]:
        return [counted[what] >= int(least) for least, what in re.findall(r"from (\d+) (pass|failure)", part)]

    if allowed is not None and missing > allowed:
        return "INSUFFICIENT_EVIDENCE"
    if failing.startswith("FAIL") and any(reached(failing)):
        return "FAIL"
    return "PASS" if passing.startswith("PASS") and all(reached(passing)) else "INSUFFICIENT_EVIDENCE"


def count_by_the_sentence(text: str, failed: int, missing: int) -> str:
    passing, failing, allowed = parts(text)
    most = int(re.findall(r"(?:at most|more than) (\d+)", text)[0])
    assert failing.startswith("FAIL when more")
    if failed > most:
        return "FAIL"
    held_back = passing.startswith("cannot PASS") or (allowed is not None and missing > allowed)
    return "PASS" if failed + missing <= most and not held_back else "INSUFFICIENT_EVIDENCE"


def quantile_by_the_sentence(text: str, observed: list[int], floors: list[int]) -> str:
    passing, failing, allowed = parts(text)

    def reached(part: str) -> list[bool]:
        found = re.findall(r"at least (\d+) of \d+ cases? are known to be (at least|at most|above|below) (\d+)", part)
        return [known(comparison, int(bound)) >= int(least) for least, comparison, bound in found]

    def known(comparison: str, bound: int) -> int:
        """How many cases are known to compare so. Of a truncated one it is known that it is at least its floor."""
        match comparison:
            case "at least":
                return sum(value >= bound for value in (*observed, *floors))
            case "above":
                return sum(value > bound for value in (*observed, *floors))
            case "at most":
                return sum(value <= bound for value in observed)
            case _:
                return sum(value < bound for value in observed)

    if allowed is not None and len(floors) > allowed:
        return "INSUFFICIENT_EVIDENCE"
    if failing.startswith("FAIL") and any(reached(failing)):
        return "FAIL"
    return "PASS" if passing.startswith("PASS") and all(reached(passing)) else "INSUFFICIENT_EVIDENCE"


# --- the law -------------------------------------------------------------------------------------------------------

BOUNDS = [
    *({"min": bound} for bound in ("0", "0.1", "0.5", "0.70", "0.95", "1")),
    *({"max": bound} for bound in ("0", "0.05", "0.3", "0.5", "0.9", "1")),
    *({"min": low, "max": high} for low, high in (("0.1", "0.9"), ("0.4", "0.6"), ("0", "0.5"), ("0.5", "1"))),
]


@pytest.mark.parametrize("n", [1, 2, 5, 12])
@pytest.mark.parametrize("method", ["wilson", "exact"])
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_a_rate_is_decided_as_its_sentence_says(bounds: dict[str, str], method: str, n: int) -> None:
    for level in (0.8, 0.95):
        for extra in ({}, {"max_missing": "0.2"}):
            rule = threshold(**bounds, **extra)
            text = said(rule, n, interval_method=method, confidence_level=level)
            for outcome in outcomes(n):
                found = state(rule, Rate("right", Tally(*outcome)), interval_method=method, confidence_level=level)
                assert found == rate_by_the_sentence(text, *outcome), (text, outcome)


@pytest.mark.parametrize("n", [1, 2, 7])
@pytest.mark.parametrize("most", [0, 1, 3, 9])
@pytest.mark.parametrize("extra", [{}, {"min_cases": 5}, {"max_missing": "0.3"}], ids=str)
def test_a_count_is_decided_as_its_sentence_says(most: int, extra: dict[str, Any], n: int) -> None:
    rule = count(most, **extra)
    text = said(rule, n)
    for passed, failed, missing in outcomes(n):
        found = state(rule, Rate("right", Tally(passed, failed, missing)))
        assert found == count_by_the_sentence(text, failed, missing), (text, passed, failed, missing)


@pytest.mark.parametrize("n", [1, 4, 6, 9, 12])
@pytest.mark.parametrize("bounds", [{"min": "2"}, {"max": "2"}, {"min": "1", "max": "2"}], ids=str)
def test_a_quantile_is_decided_as_its_sentence_says(bounds: dict[str, str], n: int) -> None:
    for q, level in (("0.5", 0.95), ("0.8", 0.8), ("0.2", 0.8)):
        for extra in ({}, {"max_missing": "0.2"}):
            rule = threshold(**bounds, **extra)
            text = said(rule, n, q=Fraction(q), confidence_level=level)
            for observed, floors in records(n):
                distribution = Distribution(counted(observed), counted(floors))
                metric = Quantile("right", "agent_steps", q, "steps", distribution)
                found = state(rule, metric, confidence_level=level)
                assert found == quantile_by_the_sentence(text, observed, floors), (text, observed, floors)


def counted(values: list[int]) -> tuple[tuple[float, int], ...]:
    return tuple((float(value), values.count(value)) for value in sorted(set(values)))


def records(n: int) -> Iterator[tuple[list[int], list[int]]]:
    """n cases of 0, 2 or 3 steps, of which up to two are truncated there; one is observed."""
    for zeros in range(n + 1):
        for twos in range(n + 1 - zeros):
            values = [0] * zeros + [2] * twos + [3] * (n - zeros - twos)
            for truncated in range(min(3, n)):
                yield values[truncated:], values[:truncated]
                yield values[: n - truncated], values[n - truncated :]


@pytest.mark.parametrize(
    ("bound", "policy", "n", "level"),
    [
        ({"min": "0.8"}, {}, 300, "96%"),
        ({"max": "0.3", "max_missing": "0.05"}, {"confidence_level": 0.9}, 210, "92%"),
        ({"min": "0.9"}, {"interval_method": "exact"}, 200, "96%"),
    ],
)
def test_a_rule_that_evidence_may_settle_is_said_as_all_its_cases_decide_it(
    bound: dict[str, str], policy: dict[str, Any], n: int, level: str
) -> None:
    rule = threshold(**bound)
    given = Policy(rules=(rule,), early_stopping=BY_EVIDENCE, **policy)
    (planned,) = plan(given, [], sizes={"right": n}, quantiles={})
    assert planned.outlook == outlook(rule, given, n=n, q=None).text
    first, _, text = planned.outlook.partition(": ")
    assert first == f"once the evidence is strong enough, else by all cases at {level}"
    stopping = Stopping(seed=1, method="hybrid", rules=("rule",))
    for missing in (0, 12):
        for passed in range(n + 1 - missing):
            failed = n - missing - passed
            measured = Measured(cases=n, metrics=(Rate("right", Tally(passed, failed, missing)),))
            (decision,) = decide(measured, given, stopping=stopping)
            assert decision.state == rate_by_the_sentence(text, passed, failed, missing)
            if not missing:
                assert decision.state == rate_by_the_numbers(planned, passed)
                assert isinstance(decision.finding, RateFinding)
                assert (decision.finding.false_pass, decision.finding.false_fail) == (
                    planned.false_pass,
                    planned.false_fail,
                )


def rate_by_the_numbers(planned: AnyPlan, passed: int) -> str:
    """The state by what a plan's document says in numbers."""
    assert isinstance(planned, RatePlan)
    inside = planned.pass_from is not None and planned.pass_to is not None
    if inside and planned.pass_from <= passed <= planned.pass_to:
        return "PASS"
    below = planned.fail_to is not None and passed <= planned.fail_to
    above = planned.fail_from is not None and passed >= planned.fail_from
    return "FAIL" if below or above else "INSUFFICIENT_EVIDENCE"


def test_a_rule_without_cases_enough_for_evidence_is_said_and_planned_at_the_whole_level() -> None:
    """Too few of them, or none that could be evidence."""
    for rule, n in ((threshold(min="0.8"), 199), (threshold(max="1"), 300)):
        policies = [Policy(rules=(rule,), early_stopping=wish) for wish in (None, BY_EVIDENCE)]
        said_and_planned = [plan(each, [], sizes={"right": n}, quantiles={}) for each in policies]
        assert said_and_planned[0] == said_and_planned[1]
    few = threshold(min="0.8", min_cases=301)
    assert said(few, 300, early_stopping=BY_EVIDENCE) == "cannot be settled with 300 cases: min_cases is 301"


def test_so_many_cases_let_a_rule_pass_at_the_level_at_which_so_many_are_looked_at() -> None:
    """By the chances that the plan of each number gives."""
    rule, truth = threshold(min="0.8"), Fraction("0.875")
    policy = Policy(rules=(rule,), early_stopping=BY_EVIDENCE)

    def chance(n: int) -> float:
        (planned,) = plan(policy, [Scenario(name="", truths={"rule": truth})], sizes={"right": n}, quantiles={})
        (row,) = planned.rows
        return row.chances.passes

    (planned,) = plan(policy, [Scenario(name="", truths={"rule": truth})], sizes={"right": 300}, quantiles={})
    needed = planned.rows[0].needed[0]
    assert isinstance(needed, Needed)
    assert needed.first is not None
    assert needed.stable is not None
    assert needed.first < 200 < needed.stable
    assert chance(needed.first) >= 0.8 > chance(needed.first - 1)
    assert all(chance(needed.stable + more) >= 0.8 for more in range(10))
    assert chance(needed.stable - 1) < 0.8


def test_the_sentence_on_evidence_tells_the_error_of_both_and_the_level_as_it_is() -> None:
    text = said(threshold(min="0.8"), 1000, early_stopping=BY_EVIDENCE)
    assert text.endswith("error at the bound: false pass 2.6%, false fail 2.9% (nominal 2.5%)")
    strict = said(threshold(min="0.8"), 1000, early_stopping=BY_EVIDENCE, confidence_level=0.9999999)
    assert "else by all cases at 99.999992%" in strict


# --- the words -----------------------------------------------------------------------------------------------------

ERROR = "error at the bound: false pass {}%, false fail {}% (nominal 2.5%)"


@pytest.mark.parametrize(
    ("bounds", "n", "words"),
    [
        (
            {"min": "0.70"},
            40,
            "PASS from 34 passes of 40 (at most 6 failed or missing); FAIL from 18 failures; "
            + ERROR.format("2.4", "3.2"),
        ),
        (
            {"max": "0.30"},
            40,
            "PASS from 34 failures of 40 (at most 6 passed or missing); FAIL from 18 passes; "
            + ERROR.format("2.4", "3.2"),
        ),
        (
            {"min": "0.80"},
            2,
            "cannot PASS with 2 cases: it needs at least 16, all passing; FAIL from 2 failures; "
            + ERROR.format("0.0", "4.0"),
        ),
        (
            {"max": "0.20"},
            2,
            "cannot PASS with 2 cases: it needs at least 16, all failing; FAIL from 2 passes; "
            + ERROR.format("0.0", "4.0"),
        ),
        (
            {"min": "0.05"},
            1,
            "PASS from 1 pass of 1 (none failed or missing);"
            " cannot FAIL with 1 case: it needs at least 73, all failing; " + ERROR.format("5.0", "0.0"),
        ),
        (
            {"min": "0.4", "max": "0.9"},
            40,
            "PASS from 23 passes of 40 and from 8 failures of 40; FAIL from 31 failures or from 40 passes; "
            + ERROR.format("4.2", "1.6"),
        ),
        (
            {"min": "0.45", "max": "0.55"},
            40,
            "cannot PASS with 40 cases: it needs more: no interval of so few lies between 0.45 and 0.55; FAIL from 29"
            " failures or from 29 passes; " + ERROR.format("0.0", "1.9"),
        ),
    ],
)
def test_the_words_for_a_rate(bounds: dict[str, str], n: int, words: str) -> None:
    assert said(threshold(**bounds), n) == words


@pytest.mark.parametrize("method", ["wilson", "exact"])
@pytest.mark.parametrize("bounds", [{"min": "0.8"}, {"max": "0.2"}, {"min": "0.5"}, {"min": "0.99"}], ids=str)
def test_the_needed_number_of_cases_is_the_smallest(bounds: dict[str, str], method: str) -> None:
    needed = int(re.findall(r"needs at least (\d+), all", said(threshold(**bounds), 1, interval_method=method))[0])
    assert said(threshold(**bounds), needed, interval_method=method).startswith("PASS from")
    assert said(threshold(**bounds), needed - 1, interval_method=method).startswith(f"cannot PASS with {needed - 1}")


def test_what_no_number_of_cases_shows() -> None:
    assert "cannot PASS with 9 cases: it needs more than any number of cases can show;" in said(threshold(min="1"), 9)
    assert "cannot PASS with 9 cases: it needs more than any number of cases can show;" in said(threshold(max="0"), 9)
    assert "cannot FAIL with 9 cases: it needs more than any number of cases can show;" in said(threshold(min="0"), 9)
    assert f"it needs more than {MOST_CASES:,}, all passing" in said(threshold(min="0.999999"), 9)


def test_the_words_for_a_quantile() -> None:
    assert said(threshold(max="12"), 40, q=P95) == (
        "cannot PASS with 40 cases: it needs at least 72, all known to be at most 12;"
        " FAIL when at least 6 of 40 cases are known to be above 12"
    )
    assert said(threshold(max="12"), 72, q=P95).startswith("PASS when at least 72 of 72 cases are known to be at most")
    assert said(threshold(min="3", max="12", max_missing="0.05"), 40, q=P50) == (
        "PASS when at least 27 of 40 cases are known to be at least 3 and when at least 27 of 40 cases are known to be"
        " at most 12; FAIL when at least 27 of 40 cases are known to be below 3 or when at least 27 of 40 cases are"
        " known to be above 12; neither when more than 2 are missing"
    )


def test_a_comparison_is_said_to_need_its_baseline() -> None:
    for rule in (Superiority(id="rule", metric="right"), MaxNewFailures(id="rule", metric="right", max_new_failures=0)):
        assert said(rule, 40).startswith("depends on the baseline too")


def test_too_few_cases_to_be_decided_at_all() -> None:
    assert said(threshold(min="0.5"), 0) == said(count(0), 0) == "cannot be settled: no case applies"
    assert said(threshold(min="0.5", min_cases=20), 2) == "cannot be settled with 2 cases: min_cases is 20"
    assert said(count(1, min_cases=20), 2) == ("cannot PASS with 2 cases: min_cases is 20; FAIL when more than 1 fail")
