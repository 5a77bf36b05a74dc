"""What each rule could settle with so many cases, how likely, and with how many it would: nothing has run.

A rule on one run turns at whole numbers of cases, so its chances are sums of binomial masses; those of a rule on pairs
are sums over the trinomial. Nothing is simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, TypeVar, assert_never

from oloproof.gates.advice import error_advice
from oloproof.gates.demands import allowed_missing
from oloproof.gates.evident import looks_of, may_be_evident
from oloproof.gates.foreseen import foreseen_stop
from oloproof.gates.outlook import outlook
from oloproof.gates.pairs import margins_of
from oloproof.gates.regions import CountedRule, errors_of, rate_region, region_of
from oloproof.model.decision import (
    Equivalence,
    IntervalMethod,
    IntervalThreshold,
    MaxNewFailures,
    NonInferiority,
    ObservedCount,
    PairRule,
    Policy,
    Rule,
    Superiority,
    kind_of,
)
from oloproof.model.plan import (
    AnyPlan,
    Chances,
    CountedPlan,
    CountedRow,
    CountPlan,
    Needed,
    PairPlan,
    PairRow,
    QuantilePlan,
    RatePlan,
    Scenario,
    StoppedEarly,
)
from oloproof.stats import chances, planning, quantile
from oloproof.stats.chances import Region
from oloproof.stats.counts import failure_rate_bound
from oloproof.stats.level import tail
from oloproof.stats.sequential import HYBRID_MIN_CASES

CountedPlanT = TypeVar("CountedPlanT", bound=CountedPlan)

POWERS = (0.8, 0.9)

BETTER = 0.05
"""How much more often the candidate passes where a rule asks for superiority and nobody says."""


def plan(
    policy: Policy, scenarios: Sequence[Scenario], *, sizes: Mapping[str, int], quantiles: Mapping[str, Fraction]
) -> tuple[AnyPlan, ...]:
    """One plan a rule, in the policy's order. ``sizes`` are the cases to which each metric applies."""
    return tuple(
        _planned(rule, policy, scenarios, n=sizes[rule.metric], q=quantiles.get(rule.metric)) for rule in policy.rules
    )


def _planned(rule: Rule, policy: Policy, scenarios: Sequence[Scenario], *, n: int, q: Fraction | None) -> AnyPlan:
    said = outlook(rule, policy, n=n, q=q).text
    match rule:
        case ObservedCount():
            return _counted(CountPlan, rule, policy, scenarios, n=n, q=q, outlook=said, proves=_proves(policy, n))
        case IntervalThreshold() if q is not None:
            needs = _bound_needs(rule, policy, q)
            return _counted(QuantilePlan, rule, policy, scenarios, n=n, q=q, outlook=said, bound_needs=needs)
        case IntervalThreshold():
            return _counted(RatePlan, rule, policy, scenarios, n=n, q=q, outlook=said, **_errors(rule, policy, n))
        case Superiority() | NonInferiority() | Equivalence() | MaxNewFailures():
            return _pairs(rule, policy, scenarios, n=n, outlook=said)
        case _ as never:
            assert_never(never)


def _counted(
    kind: Callable[..., CountedPlanT],
    rule: CountedRule,
    policy: Policy,
    scenarios: Sequence[Scenario],
    *,
    n: int,
    q: Fraction | None,
    outlook: str,
    **own: Any,
) -> CountedPlanT:
    region = region_of(rule, policy, n=n, q=q)
    least, most, fail_to, fail_from = (None,) * 4 if region is None else _turning(region)
    return kind(
        rule=rule.id,
        metric=rule.metric,
        kind=kind_of(rule),
        n=n,
        outlook=outlook,
        pass_from=least,
        pass_to=most,
        fail_to=fail_to,
        fail_from=fail_from,
        may_be_missing=None if least is None or most is None else min(most - least, allowed_missing(rule, n)),
        rows=() if region is None else tuple(_rows(rule, policy, scenarios, region, q)),
        **own,
    )


def _turning(region: Region) -> tuple[int | None, int | None, int | None, int | None]:
    """The region's numbers, None where no number is."""
    passes = region.pass_from <= region.pass_to
    return (
        region.pass_from if passes else None,
        region.pass_to if passes else None,
        region.fail_to if region.fail_to >= 0 else None,
        region.fail_from if region.fail_from <= region.n else None,
    )


def _rows(
    rule: CountedRule, policy: Policy, scenarios: Sequence[Scenario], region: Region, q: Fraction | None
) -> Iterator[CountedRow]:
    early = foreseen_stop(rule, policy, region, is_rate=q is None)
    for scenario in scenarios:
        truth = scenario.truths.get(rule.id)
        if truth is not None:
            yield CountedRow(
                scenario=scenario.label(rule.id),
                truth=truth,
                chances=Chances(*chances.of_region(region, truth=truth)),
                needed=_needed(rule, policy, truth, q),
                early=None if early is None else StoppedEarly(*early.performance(truth)),
            )


def _needed(rule: CountedRule, policy: Policy, truth: Fraction, q: Fraction | None) -> tuple[Needed, ...]:
    """For a rule with one bound; nothing at the bound itself, where no number of cases would do. Like the chances, of
    all cases, also where evidence may settle the rule before."""
    if isinstance(rule, ObservedCount) or (rule.min is None) == (rule.max is None):
        return ()
    level, least = policy.confidence_level, rule.min_cases
    if q is not None:
        share = q if rule.min is None else 1 - q
        needed = partial(planning.needed_for_quantile, share, truth=truth, level=level, min_cases=least)
    else:
        share, seen = (Fraction(rule.min), truth) if rule.min is not None else (1 - Fraction(rule.max or 0), 1 - truth)
        truth, method = seen, policy.interval_method
        needed = partial(_cases_for_chance, rule, policy, share=share, truth=seen, method=method)
    if truth == share:
        return ()
    return tuple([Needed(chance, *needed(chance=chance)) for chance in POWERS])


def _cases_for_chance(
    rule: IntervalThreshold, policy: Policy, *, share: Fraction, truth: Fraction, method: IntervalMethod, chance: float
) -> planning.Sizes:
    """By the level that each number of cases is looked at with: evidence takes its part of it from so many cases on."""
    needed = partial(
        planning.needed_for_chance, share, truth=truth, chance=chance, method=method, min_cases=rule.min_cases
    )
    few = needed(level=policy.confidence_level)
    if not may_be_evident(rule, policy, n=HYBRID_MIN_CASES):
        return few
    many = needed(level=looks_of(rule, policy, evident=True).level)  # never fewer, since its interval is wider
    first = few.first if few.first is not None and few.first < HYBRID_MIN_CASES else many.first
    stable = few.stable if many.stable is not None and many.stable <= HYBRID_MIN_CASES else many.stable
    return planning.Sizes(first, stable)


def _errors(rule: IntervalThreshold, policy: Policy, n: int) -> dict[str, Any]:
    """The achieved errors, of two bounds where they are larger."""
    level, looks = policy.confidence_level, looks_of(rule, policy, evident=may_be_evident(rule, policy, n=n))
    region = rate_region(rule, n=n, method=policy.interval_method, level=looks.level)
    false_pass, false_fail = errors_of(rule, region, early=looks.early) if n else (0.0, 0.0)
    advice = "; ".join(error_advice(false_pass=false_pass, false_fail=false_fail, n=n, level=level))
    return {"false_pass": false_pass, "false_fail": false_fail, "nominal": tail(level), "advice": advice}


def _proves(policy: Policy, n: int) -> float | None:
    return failure_rate_bound(n, level=policy.confidence_level) if n else None


def _bound_needs(rule: IntervalThreshold, policy: Policy, q: Fraction) -> int:
    """An upper bound for a maximum, a lower one for a minimum, which is an upper one seen from the other end."""
    shares = [q] if rule.max is not None else []
    shares += [1 - q] if rule.min is not None else []
    return max(quantile.needed_for_upper_bound(each, missing=0, level=policy.confidence_level) for each in shares)


def _pairs(rule: PairRule, policy: Policy, scenarios: Sequence[Scenario], *, n: int, outlook: str) -> PairPlan:
    level = policy.confidence_level
    agreeing = None
    if isinstance(rule, NonInferiority | Equivalence):
        agreeing = planning.agreeing_needed(float(rule.margin), level=level)
    return PairPlan(
        rule=rule.id,
        metric=rule.metric,
        kind=kind_of(rule),
        n=n,
        outlook=outlook,
        agreeing_needs=agreeing,
        rows=tuple(dict.fromkeys(_pair_rows(rule, scenarios, n=n, level=level))),
    )


def _pair_rows(rule: PairRule, scenarios: Sequence[Scenario], *, n: int, level: float) -> Iterator[PairRow]:
    for scenario in scenarios:
        discordant = scenario.discordant.get(rule.id)
        if discordant is None:
            continue
        difference = scenario.difference
        if difference is None:
            difference = BETTER if isinstance(rule, Superiority) else 0.0
        discordant = max(discordant, abs(difference))
        yield PairRow(
            scenario=scenario.label(rule.id),
            discordant=discordant,
            difference=difference,
            chances=pair_chances(rule, scenario, n=n, discordant=discordant, difference=difference, level=level),
            needed=_pairs_needed(rule, discordant=discordant, difference=difference, level=level),
        )


def pair_chances(
    rule: PairRule, scenario: Scenario, *, n: int, discordant: float, difference: float, level: float
) -> Chances:
    """How likely n pairs come to each verdict, of which the share ``discordant`` differs on average, by enumeration."""
    fixed, broken = (discordant + difference) / 2, (discordant - difference) / 2
    if isinstance(rule, MaxNewFailures) and n:
        mostly = scenario.passing.get(rule.id, 1) >= Fraction(1, 2)
        counted = chances.of_staying_broken(fixed, broken, times=rule.confirm, mostly_passes=mostly)
        unbroken = n - rule.max_new_failures
        # What is newly broken is that, however few cases there are.
        region = Region(n, unbroken if n >= rule.min_cases else n + 1, n, unbroken - 1, n + 1)
        return Chances(*chances.of_region(region, truth=1 - Fraction(counted)))
    if n < max(rule.min_cases, 1) or isinstance(rule, MaxNewFailures):
        return Chances(0.0, 0.0, 1.0)
    return _difference_chances(margins_of(rule), n, fixed, broken, level)


@lru_cache(maxsize=256)
def _difference_chances(margins: tuple[float, float], n: int, fixed: float, broken: float, level: float) -> Chances:
    at_least, at_most = margins
    return Chances(
        *chances.of_difference(n, fixed=fixed, broken=broken, at_least=at_least, at_most=at_most, level=level)
    )


def _pairs_needed(
    rule: PairRule, *, discordant: float, difference: float, level: float
) -> tuple[tuple[float, int | None], ...]:
    """About how many pairs let the rule pass."""
    if isinstance(rule, MaxNewFailures):
        return ()
    at_least, at_most = margins_of(rule)

    def needed(chance: float) -> int | None:
        found = planning.pairs_needed(
            at_least, at_most=at_most, discordant=discordant, difference=difference, chance=chance, level=level
        )
        return None if found is None else max(found, rule.min_cases)

    return tuple((chance, needed(chance)) for chance in POWERS)
