"""Laws of early stopping: what is certain is what the full run decides, and the order of completion decides nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oloproof.gates import decide, verdict
from oloproof.gates.stopping import Course, Standing, Suite, launch_order
from oloproof.model.decision import IntervalThreshold, MaxNewFailures, ObservedCount, Policy, Rule
from oloproof.model.judgment import Word
from oloproof.model.measured import Measured, Quantile, Rate
from oloproof.model.stopping import Settled, Stopping
from oloproof.model.tally import Amount, AtLeast, Distribution, Tally
from oloproof.stats import sequential

CRITERIA = ("right", "safe")
Q = Fraction("0.7")
WORDS = st.sampled_from(["pass", "pass", "pass", "fail", "missing", "excluded"])
AMOUNTS = st.one_of(st.integers(1, 6), st.integers(0, 6).map(AtLeast))


class Case(NamedTuple):
    """What a case came to: a word a criterion, and its steps."""

    words: tuple[Word, ...]
    steps: Amount

    @property
    def by_name(self) -> Mapping[str, Word]:
        return dict(zip(CRITERIA, self.words, strict=True))


cases = st.lists(st.builds(Case, st.tuples(*[WORDS] * len(CRITERIA)), AMOUNTS), min_size=1, max_size=14)
demands = {
    "min_cases": st.sampled_from([1, 1, 4]),
    "max_missing": st.sampled_from([None, None, "0.25"]),
    "requires_manual_review": st.sampled_from([False, False, True]),
}


def rule(name: str) -> st.SearchStrategy[Rule]:
    share = st.sampled_from([None, "0", "0.3", "0.5", "0.7", "1"])
    steps = st.sampled_from([None, "2", "4"])
    metric = st.sampled_from(CRITERIA)

    def bounded(metric: st.SearchStrategy[str], bound: st.SearchStrategy[str | None]) -> st.SearchStrategy[Rule]:
        built = st.builds(IntervalThreshold, id=st.just(name), metric=metric, min=bound, max=bound, **demands)
        return built.filter(
            lambda rule: (rule.min or rule.max) is not None and Fraction(rule.min or 0) <= Fraction(rule.max or 9)
        )

    counted = st.builds(ObservedCount, id=st.just(name), metric=metric, max_failures=st.integers(0, 4), **demands)
    paired = st.just(MaxNewFailures(id=name, metric="right", max_new_failures=0))
    return st.one_of(bounded(metric, share), bounded(st.just("steps"), steps), counted, paired)


policies = st.builds(
    Policy,
    rules=st.one_of(st.tuples(rule("one")), st.tuples(rule("one"), rule("two"))),
    confidence_level=st.sampled_from([0.6, 0.8]),
    block_on=st.sampled_from([("FAIL",), ("FAIL", "INSUFFICIENT_EVIDENCE", "MANUAL_REVIEW")]),
)


def suite_of(seen: Sequence[Case]) -> Suite:
    applicable = Counter(name for case in seen for name, word in case.by_name.items() if word != "excluded")
    sizes = {name: applicable[name] for name in CRITERIA} | {"steps": len(seen)}
    return Suite(sizes, {"steps": (Q, "agent_steps")})


def walk(course: Course, seen: Sequence[Case]) -> list[Standing]:
    standings = [course.begin()]
    for case in seen:
        standings.append(course.step(standings[-1], case.by_name, {"agent_steps": case.steps}))
    return standings


def measured(seen: Sequence[Case], left: Sequence[Case] = ()) -> Measured:
    """The counts of some cases, and of others that did not run."""
    unrun = [Case(tuple("excluded" if w == "excluded" else "missing" for w in case.words), AtLeast(0)) for case in left]
    everything = [*seen, *unrun]
    rates = []
    for index, name in enumerate(CRITERIA):
        words = Counter(case.words[index] for case in everything)
        rates.append(Rate(name, Tally(words["pass"], words["fail"], words["missing"], words["excluded"])))
    known = Counter(float(case.steps) for case in everything if not isinstance(case.steps, AtLeast))
    floors = Counter(float(case.steps.floor) for case in everything if isinstance(case.steps, AtLeast))
    steps = Distribution(tuple(sorted(known.items())), tuple(sorted(floors.items())))
    return Measured(len(everything), (*rates, Quantile("steps", "agent_steps", str(float(Q)), "steps", steps)))


def states(policy: Policy, counted: Measured) -> list[str]:
    """PASS also where a person must look, which nothing but the policy asks for."""
    return ["PASS" if decision.state == "MANUAL_REVIEW" else decision.state for decision in decide(counted, policy)]


@settings(deadline=None, max_examples=150)
@given(policies, cases)
def test_a_rule_is_settled_exactly_where_no_way_to_go_on_could_change_it(policy: Policy, seen: list[Case]) -> None:
    """Counted as missing, what has not run leaves a rule undecided just as long as it could still be decided otherwise.
    So the step function settles a rule when the gate would, and says the same."""
    for done, standing in enumerate(walk(Course(policy, suite_of(seen)), seen)):
        now = states(policy, measured(seen[:done], seen[done:]))
        for settled, state in zip(standing.settled, now, strict=True):
            assert (None if settled is None else settled.state) == (None if state == "INSUFFICIENT_EVIDENCE" else state)


@settings(deadline=None, max_examples=150)
@given(policies, cases, st.integers(0, 2**32), st.data())
def test_what_is_settled_is_what_the_full_run_decides(
    policy: Policy, seen: list[Case], seed: int, data: st.DataObject
) -> None:
    """Whatever the launch order, and whatever the cases that were left out would have come to."""
    order = launch_order([str(place) for place in range(len(seen))], seed)
    seen = [seen[place] for place in order]
    standings = walk(Course(policy, suite_of(seen)), seen)
    stopped = next((standing for standing in standings if standing.is_over), None)
    if stopped is None:
        return
    ran, left = seen[: stopped.cases], seen[stopped.cases :]
    at_the_stop = decide(measured(ran, left), policy)
    words = st.sampled_from(["pass", "fail", "missing"])
    otherwise = [
        Case(tuple(word if word == "excluded" else data.draw(words) for word in case.words), data.draw(AMOUNTS))
        for case in left
    ]
    for rest in (left, otherwise):
        full = decide(measured([*ran, *rest]), policy)
        assert verdict(full, policy) == verdict(at_the_stop, policy)
        for settled, decision, before in zip(stopped.settled, full, at_the_stop, strict=True):
            if settled is not None:
                assert (decision.state, decision.reason) == (before.state, before.reason)


@settings(deadline=None, max_examples=100)
@given(policies, cases, st.permutations(range(14)))
def test_the_order_in_which_cases_end_decides_nothing(policy: Policy, seen: list[Case], ends: list[int]) -> None:
    """At whatever moment one looks, the decision is on what has ended of the launch order without a gap: the first
    verdict is the one that cases one after the other come to."""
    course = Course(policy, suite_of(seen))
    one_by_one = next((standing for standing in walk(course, seen) if standing.is_over), None)
    ended: set[int] = set()
    standing = course.begin()
    for case in (end for end in ends if end < len(seen)):
        ended.add(case)
        while standing.cases in ended and not standing.is_over:
            now = seen[standing.cases]
            standing = course.step(standing, now.by_name, {"agent_steps": now.steps})
        if standing.is_over:
            break
    assert (standing if standing.is_over else None) == one_by_one


@settings(deadline=None, max_examples=60)
@given(st.lists(WORDS, min_size=1, max_size=60), st.sampled_from(["0.3", "0.6", "0.8"]), st.booleans())
def test_what_is_missing_settles_nothing_that_a_verdict_would_not(seen: list[Word], bound: str, mirrored: bool) -> None:
    """A missing case never brings forward what evidence settles, and settles it as a known one would."""
    rules = (IntervalThreshold(id="floor", metric="right", **{"max" if mirrored else "min": bound}),)
    policy = Policy(rules=rules)

    def settled(words: list[Word]) -> Settled | None:
        all_seen = [Case((word, "pass"), 1) for word in words]
        return walk(Course(policy, suite_of(all_seen), evident=["floor"]), all_seen)[-1].settled[0]

    found = settled(seen)
    if found is not None and found.by == "evidence":
        for filling in ("pass", "fail"):
            known = settled([filling if word == "missing" else word for word in seen])
            assert known is not None
            assert known.state == found.state
            assert known.after <= found.after


@pytest.mark.parametrize(("n", "bound"), [(40, "0.8"), (60, "0.6")])
@pytest.mark.parametrize("kept", ["min", "max"])
def test_a_system_at_the_bound_is_rarely_settled_wrongly(n: int, bound: str, kept: str) -> None:
    """By enumeration of all orders of outcomes, through the step function: evidence errs at most half a percent on each
    side, and both ways together no more than the sum of their parts."""
    policy = Policy(rules=(IntervalThreshold(id="floor", metric="right", **{kept: bound}),), interval_method="exact")
    course = Course(policy, Suite({"right": n}), evident=["floor"])
    chance = float(bound)
    alive: dict[Standing, float] = {course.begin(): 1.0}
    ends: Counter[tuple[str, str]] = Counter()
    for _ in range(n):
        moved: dict[Standing, float] = {}
        for standing, mass in alive.items():
            for word, share in (("pass", chance), ("fail", 1 - chance)):
                after = course.step(standing, {"right": word}, {})
                if after.is_over:
                    assert after.settled[0] is not None
                    ends[after.settled[0].state, after.settled[0].by] += mass * share  # type: ignore[assignment]
                else:
                    moved[after] = moved.get(after, 0.0) + mass * share
        alive = moved
    for state in ("PASS", "FAIL"):
        assert ends[state, "evidence"] <= 0.005
        assert ends[state, "evidence"] + ends[state, "certainty"] <= 0.025
    assert sum(ends.values()) + sum(alive.values()) == pytest.approx(1)


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 20_000), st.integers(0, 20_000), st.sampled_from(["0.01", "0.5", "0.8", "0.99"]))
def test_evidence_that_no_double_holds_settles_nothing(passed: int, failed: int, bound: str) -> None:
    """However far the posterior lies from the bound, evidence is never for the other side: not at the 10⁻³⁰⁰ at which a
    share that was floored would make it overwhelming."""
    rule = sequential.hybrid(50_000, Fraction(bound))
    state = rule.evident(passed, failed, 0)
    share = Fraction(passed, passed + failed) if passed + failed else None
    if share is not None and state is not None:
        assert state == ("PASS" if share > Fraction(bound) else "FAIL")


@given(st.lists(st.text(max_size=5), unique=True, max_size=20), st.integers(0, 2**63 - 1))
def test_the_launch_order_is_a_permutation_that_only_ids_and_seed_decide(ids: list[str], seed: int) -> None:
    order = launch_order(ids, seed)
    assert sorted(order) == list(range(len(ids)))
    backwards = launch_order(ids[::-1], seed)
    assert [ids[place] for place in order] == [ids[::-1][place] for place in backwards]


@settings(deadline=None, max_examples=60)
@given(st.integers(200, 400), st.integers(0, 400), st.sampled_from(["0.6", "0.8"]))
def test_what_evidence_settled_stays_settled(n: int, passes: int, bound: str) -> None:
    """Whatever comes after: also where the run goes on for other rules, and its last case would say otherwise."""
    floor = IntervalThreshold(id="floor", metric="right", min=bound)
    policy = Policy(rules=(floor,))
    first = [Case(("pass", "pass"), 1)] * min(n, passes)
    seen = first + [Case(("fail", "pass"), 1)] * (n - len(first))
    last = walk(Course(policy, suite_of(seen), evident=["floor"]), seen)[-1].settled[0]
    if last is not None and last.by == "evidence":
        stopping = Stopping(seed=1, method="hybrid", rules=("floor",), settled=(last,))
        (decision,) = decide(measured(seen), policy, stopping=stopping)
        assert decision.state == last.state
        assert decision.settled == last
