"""What a plan assumes of the system: by the user's word, by the policy's own bounds, or as a run was observed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import get_args

from msgspec import Struct, field

from oloproof.model.comparison import Comparison
from oloproof.model.decision import IntervalThreshold, ObservedCount, PairRule, Policy, Rule
from oloproof.model.measured import Measured, Metric, Quantile, Rate
from oloproof.model.plan import Scenario
from oloproof.stats.rounding import percent_near

# How many failures there are in truth, as a multiple of those that a rule allows, and with that on what share of pairs
# two runs disagree where nothing else is known.
# The last words stand beside a rule that allows none, where it is one failure a run that is multiplied.
_MULTIPLES = (
    ("twice the failures allowed", Fraction(2), 0.2, "two failures a run"),
    ("just the failures allowed", Fraction(1), 0.1, "one failure a run"),
    ("half the failures allowed", Fraction(1, 2), 0.05, "a failure in two runs"),
    ("a quarter of the failures allowed", Fraction(1, 4), 0.02, "a failure in four runs"),
)

OBSERVED = "as observed"


class Assumptions(Struct, frozen=True, kw_only=True):
    """What the user says is true: shares of passing cases for every metric, in the order given, or for one by name;
    the share of discordant pairs; how much more often the candidate passes. None or empty: not said."""

    truths: tuple[Fraction, ...] = ()
    by_metric: Mapping[str, tuple[Fraction, ...]] = field(default_factory=dict)
    discordant: float | None = None
    difference: float | None = None


def scenarios(
    policy: Policy, *, sizes: Mapping[str, int], quantiles: Mapping[str, Fraction], assumed: Assumptions
) -> tuple[Scenario, ...]:
    """What to look at before any run. ``sizes`` are the cases of each metric.

    Without a word of the user's the truth of a metric is taken from the first of its rules that counts: as many
    failures as that allows, twice as many, half, and a quarter.
    """
    if assumed.truths or assumed.by_metric:
        return tuple(_named(policy, assumed))
    found = []
    for name, multiple, discordant, of_none in _MULTIPLES:
        truths: dict[str, Fraction] = {}
        labels: dict[str, str] = {}
        by_metric: dict[str, tuple[Fraction, str]] = {}
        for rule in policy.rules:
            q = quantiles.get(rule.metric)
            if isinstance(rule, IntervalThreshold | ObservedCount):
                allows_none = isinstance(rule, ObservedCount) and not rule.max_failures
                own = _truth(rule, sizes[rule.metric], q, multiple), of_none if allows_none else name
                truths[rule.id], labels[rule.id] = own if q is not None else by_metric.setdefault(rule.metric, own)
        share = discordant if assumed.discordant is None else assumed.discordant
        pairs = {rule.id: share for rule in policy.rules if isinstance(rule, get_args(PairRule))}
        differing = _differing(share)
        found.append(
            Scenario(
                name=", ".join(([name] if truths else []) + ([differing] if pairs else [])),
                truths=truths,
                discordant=pairs,
                difference=assumed.difference,
                labels=labels | dict.fromkeys(pairs, differing),
            )
        )
    return tuple(found)


def observed_scenario(
    policy: Policy, measured: Measured, comparison: Comparison | None, *, assumed: Assumptions
) -> Scenario:
    """The run's own figures taken for the truth. A rule of which nothing was observed has none. For a rule that
    compares these are how many pairs differ, unless that is ``assumed``; not by how much the candidate passes more
    often, since a plan is for a change that is still to come."""
    labels: dict[str, str] = {}
    metrics = {metric.id: metric for metric in measured.metrics}
    truths, discordant, passing = {}, {}, {}
    tables = {} if comparison is None else {each.id: each.table for each in comparison.criteria}
    for rule in policy.rules:
        metric = metrics.get(rule.metric)
        table = tables.get(rule.metric)
        share = None if metric is None else _observed(rule, metric)
        if not isinstance(rule, get_args(PairRule)):
            if share is not None:
                truths[rule.id] = share
            continue
        if share is not None:
            passing[rule.id] = share
        if assumed.discordant is not None:
            discordant[rule.id], labels[rule.id] = assumed.discordant, _differing(assumed.discordant)
        elif table is not None and table.n > table.missing:
            labels[rule.id] = "pairs differ as observed"
            discordant[rule.id] = (table.fixed + table.broken) / (table.n - table.missing)
        elif share is not None:
            labels[rule.id] = "rate as observed"
            discordant[rule.id] = independent(share)
    return Scenario(
        name=OBSERVED,
        truths=truths,
        discordant=discordant,
        passing=passing,
        difference=assumed.difference,
        labels=labels,
    )


def _differing(share: float) -> str:
    return f"{percent_near(share)}% of pairs differ"


def independent(share: Fraction) -> float:
    """On what share of pairs two runs disagree if every case passes with this chance each time, 2 p (1 − p): as many as
    this share allows."""
    return float(2 * share * (1 - share))


def _named(policy: Policy, assumed: Assumptions) -> Iterator[Scenario]:
    """As many scenarios as the metric with the most truths has; one with fewer keeps its last."""
    count = max(len(assumed.truths), *(len(shares) for shares in assumed.by_metric.values()), 1)
    for at in range(count):
        truths, discordant, passing = {}, {}, {}
        for rule in policy.rules:
            shares = assumed.by_metric.get(rule.metric, assumed.truths)
            share = shares[min(at, len(shares) - 1)] if shares else None
            if share is None:
                continue
            if not isinstance(rule, get_args(PairRule)):
                truths[rule.id] = share
            else:
                discordant[rule.id] = independent(share) if assumed.discordant is None else assumed.discordant
                passing[rule.id] = share
        yield Scenario(
            name=_worded(assumed, at),
            truths=truths,
            discordant=discordant,
            passing=passing,
            difference=assumed.difference,
        )


def _worded(assumed: Assumptions, at: int) -> str:
    def share(shares: Sequence[Fraction]) -> str:
        return f"{percent_near(shares[min(at, len(shares) - 1)])}%"

    parts = [share(assumed.truths)] if assumed.truths else []
    return ", ".join([*parts, *(f"{metric} {share(shares)}" for metric, shares in assumed.by_metric.items())])


def _truth(rule: IntervalThreshold | ObservedCount, n: int, q: Fraction | None, multiple: Fraction) -> Fraction:
    """The share of cases that pass, or keep to the rule's bound, at this multiple of the failures that it allows."""
    match rule:
        case ObservedCount(max_failures=most):
            return max(Fraction(0), 1 - multiple * Fraction(max(most, 1), max(n, 1)))
        case IntervalThreshold(min=None, max=str() as most) if q is None:
            return min(Fraction(1), multiple * Fraction(most))
        case IntervalThreshold(min=str() as least) if q is None:
            return max(Fraction(0), 1 - multiple * (1 - Fraction(least)))
        case IntervalThreshold(min=least):
            assert q is not None
            return max(Fraction(0), 1 - multiple * (1 - q if least is None else q))


def _observed(rule: Rule, metric: Metric) -> Fraction | None:
    match metric, rule:
        case Rate(tally=tally), _:
            return Fraction(tally.passed, tally.observed) if tally.observed else None
        case Quantile(distribution=cases), IntervalThreshold() if cases.observed_count:
            low = float("-inf") if rule.min is None else float(rule.min)
            high = float("inf") if rule.max is None else float(rule.max)
            kept = sum(count for value, count in cases.observed if low <= value <= high)
            return Fraction(kept, cases.observed_count)
        case _:
            return None
