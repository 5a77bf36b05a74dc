"""What no rule may do, over all small tallies and policies: settle on what is missing, or let a failure through."""

from __future__ import annotations

import msgspec
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oloproof.gates import approval_digest, decide, verdict
from oloproof.model.decision import Approval, Decision, IntervalThreshold, ObservedCount, Policy, RateFinding, Rule
from oloproof.model.measured import Measured, Quantile, Rate
from oloproof.model.tally import Distribution, Tally

counts = st.integers(0, 12)
tallies = st.builds(Tally, counts, counts, counts, counts)
wide_tallies = st.builds(Tally, *[st.integers(0, 300)] * 4)
shares = st.integers(0, 100).map(lambda percent: f"{percent / 100:.2f}")
limits = st.none() | shares
values = st.dictionaries(st.integers(0, 9), st.integers(1, 12), max_size=4).map(lambda d: tuple(sorted(d.items())))
distributions = st.builds(Distribution, values, values)
blocking = st.lists(st.sampled_from(["PASS", "FAIL", "INSUFFICIENT_EVIDENCE", "MANUAL_REVIEW"]), max_size=4).map(tuple)

common = {"min_cases": st.integers(1, 20), "max_missing": limits, "requires_manual_review": st.booleans()}
count_rules = st.builds(
    ObservedCount, id=st.just("r"), metric=st.just("rate"), max_failures=st.integers(0, 8), **common
)
rate_rules = st.builds(
    IntervalThreshold, id=st.just("r"), metric=st.just("rate"), min=limits, max=limits, **common
).filter(lambda rule: rule.min is not None or rule.max is not None)
thresholds = st.none() | st.integers(0, 9).map(str)
quantile_rules = st.builds(
    IntervalThreshold, id=st.just("r"), metric=st.just("steps"), min=thresholds, max=thresholds, **common
).filter(lambda rule: rule.min is not None or rule.max is not None)
rules = st.one_of(count_rules, rate_rules, quantile_rules)


def measured(tally: Tally, distribution: Distribution) -> Measured:
    quantile = Quantile("steps", "agent_steps", "0.5", "steps", distribution)
    return Measured(cases=tally.n + tally.excluded, metrics=(Rate("rate", tally), quantile))


def state(tally: Tally, rule: Rule, distribution: Distribution = Distribution(), **policy: object) -> str:  # noqa: B008
    return decide(measured(tally, distribution), Policy(rules=(rule,), **policy))[0].state


@given(tallies, st.integers(0, 8))
@settings(deadline=None, max_examples=200)
def test_an_observed_count_is_settled_by_unanimity_over_what_is_missing(tally: Tally, limit: int) -> None:
    assume(tally.observed > 0)
    rule = ObservedCount(id="r", metric="rate", max_failures=limit)
    fills = [Tally(tally.passed + tally.missing - more, tally.failed + more) for more in range(tally.missing + 1)]
    answers = {state(fill, rule) for fill in fills}
    assert answers <= {"PASS", "FAIL"}
    assert state(tally, rule) == (answers.pop() if len(answers) == 1 else "INSUFFICIENT_EVIDENCE")


@given(st.integers(0, 8), st.integers(0, 8))
@settings(deadline=None, max_examples=50)
def test_nothing_observed_is_never_a_pass(missing: int, limit: int) -> None:
    tally = Tally(missing=missing)
    assert state(tally, ObservedCount(id="r", metric="rate", max_failures=limit)) == "INSUFFICIENT_EVIDENCE"
    assert state(tally, IntervalThreshold(id="r", metric="rate", min="0")) == "INSUFFICIENT_EVIDENCE"
    assert state(tally, IntervalThreshold(id="r", metric="rate", max="1")) == "INSUFFICIENT_EVIDENCE"


@given(tallies, rate_rules)
@settings(deadline=None, max_examples=100)
def test_a_settled_rate_rule_is_settled_so_by_every_fill(tally: Tally, rule: IntervalThreshold) -> None:
    settled = state(tally, rule)
    for more in range(tally.missing + 1) if settled in ("PASS", "FAIL") else ():
        assert state(Tally(tally.passed + tally.missing - more, tally.failed + more), rule) == settled


@given(tallies, distributions, rules, st.sampled_from(["wilson", "exact"]))
@settings(deadline=None, max_examples=200)
def test_a_missing_case_never_makes_a_rule_pass(tally: Tally, distribution: Distribution, rule: Rule, method) -> None:
    enough = tally.n if rule.metric == "rate" else distribution.n
    assume(enough >= rule.min_cases)  # a case that is missing counts among those that the rule asks for
    # That a case took at least 0 steps is all that a rule asks which wants no more than that.
    assume(rule.metric == "rate" or rule.min != "0")
    rule = msgspec.structs.replace(rule, requires_manual_review=False)
    before = state(tally, rule, distribution, interval_method=method)
    after = state(tally + Tally(missing=1), rule, distribution + Distribution(floors=((0, 1),)), interval_method=method)
    assert after == before or after == "INSUFFICIENT_EVIDENCE"


@given(wide_tallies, shares, st.sampled_from(["wilson", "exact"]), st.sampled_from([0.8, 0.95, 0.99]))
@settings(deadline=None, max_examples=150)
def test_at_most_is_at_least_of_the_failures(tally: Tally, share: str, method, level: float) -> None:
    policy = {"interval_method": method, "confidence_level": level}
    mirrored = f"{1 - float(share):.2f}"
    at_least = state(tally, IntervalThreshold(id="r", metric="rate", min=share), **policy)
    swapped = Tally(tally.failed, tally.passed, tally.missing)
    assert state(swapped, IntervalThreshold(id="r", metric="rate", max=mirrored), **policy) == at_least


@given(wide_tallies, shares, st.sampled_from(["wilson", "exact"]))
@settings(deadline=None, max_examples=150)
def test_the_printed_bounds_are_those_that_decided(tally: Tally, share: str, method) -> None:
    assume(tally.observed > 0)
    policy = Policy(rules=(IntervalThreshold(id="r", metric="rate", min=share),), interval_method=method)
    (decision,) = decide(measured(tally, Distribution()), policy)
    assert isinstance(decision.finding, RateFinding)
    assert (decision.state == "PASS") == (decision.finding.lower >= float(share))
    assert (decision.state == "FAIL") == (decision.finding.upper < float(share))


rule_lists = st.lists(rules, max_size=4).map(
    lambda given: tuple(msgspec.structs.replace(rule, id=f"r{index}") for index, rule in enumerate(given))
)
approved = st.sets(st.integers(0, 3))
"""Which of the rules, by number, somebody approved after looking at them."""


def word_on(decisions: tuple[Decision, ...], policy: Policy, numbers: set[int], digest: str) -> list[Approval]:
    return [
        Approval(
            rule=rule.id,
            by="Ada",
            at="",
            run_digest=approval_digest(digest, rule, decision.finding, policy=policy, comparison=None),
        )
        for number, (rule, decision) in enumerate(zip(policy.rules, decisions, strict=True))
        if number in numbers
    ]


@given(tallies, distributions, rule_lists, blocking, approved, st.sampled_from(["", "this"]))
@settings(deadline=None, max_examples=200)
def test_exit_zero_means_that_a_rule_passed_and_none_failed(
    tally, distribution, listed, block_on, numbers, digest
) -> None:
    policy = Policy(rules=listed, block_on=block_on)
    word = word_on(decide(measured(tally, distribution), policy), policy, numbers, digest)
    decisions = decide(measured(tally, distribution), policy, word, digest)
    gate = verdict(decisions, policy)
    states = {decision.state for decision in decisions}
    if gate.exit_code == 0:
        assert "PASS" in states
        assert "FAIL" not in states
        assert not any(decision.blocking for decision in decisions)
    assert (gate.exit_code == 0) == (gate.outcome == "ALLOW")
    assert (gate.exit_code == 1) == ("FAIL" in states)


@given(tallies, distributions, rule_lists, blocking)
@settings(deadline=None, max_examples=100)
def test_what_blocks_does_not_change_what_the_evidence_says(tally, distribution, listed, block_on) -> None:
    strict, lax = Policy(rules=listed), Policy(rules=listed, block_on=block_on)
    before, after = (decide(measured(tally, distribution), policy) for policy in (strict, lax))
    assert [decision.state for decision in before] == [decision.state for decision in after]
    if verdict(before, strict).exit_code == 1:
        assert verdict(after, lax).exit_code == 1


@given(tallies, distributions, rule_lists, approved)
@settings(deadline=None, max_examples=100)
def test_an_approval_turns_a_review_into_a_pass_and_nothing_else(tally, distribution, listed, numbers) -> None:
    policy = Policy(rules=listed)
    before = decide(measured(tally, distribution), policy)
    after = decide(measured(tally, distribution), policy, word_on(before, policy, numbers, "this"), "this")
    for number, (old, new) in enumerate(zip(before, after, strict=True)):
        cleared = old.state == "MANUAL_REVIEW" and number in numbers
        assert (new.state, new.approved_by) == (("PASS", "Ada") if cleared else (old.state, None))
