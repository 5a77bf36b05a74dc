"""How often the gate flips although nothing has changed.

Rules about one pass rate hang together exactly: they count the same cases, so what they come to together is a sum over
that one number. How rules about different metrics hang together is not known, and what is said of the whole gate holds
whatever it is (Fréchet's bounds): it is let through at most as often as the strictest of them allows, and at least as
often as if no two of them ever blocked the same run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from oloproof.gates.evident import may_be_evident
from oloproof.gates.exit import blocks
from oloproof.gates.foreseen import ForeseenStop, foreseen_stop
from oloproof.gates.plan import pair_chances
from oloproof.gates.regions import region_of
from oloproof.model.decision import IntervalThreshold, ObservedCount, PairRule, Policy, State
from oloproof.model.plan import GateFlips, Scenario
from oloproof.stats import binomial
from oloproof.stats.chances import Region

Bounds = tuple[float, float]


class _Part(Struct, frozen=True):
    """Some rules taken together: the probability that none of them blocks, and that one of them is PASS as well."""

    lets_through: float
    passes: float


def gate_flips(
    policy: Policy, scenarios: Sequence[Scenario], *, sizes: Mapping[str, int], quantiles: Mapping[str, Fraction]
) -> tuple[GateFlips, ...]:
    """The whole gate, of two runs of one unchanged system, under each scenario. A PASS that waits for a person counts
    as approved. A rule of which a scenario says nothing may do anything."""
    found = []
    for scenario in scenarios:
        parts = list(_parts(policy, scenario, sizes=sizes, quantiles=quantiles))
        allow = _all_let_through(parts)
        found.append(GateFlips(scenario=scenario.name, allow=allow, flips=_flips(allow)))
    return tuple(found)


def _parts(
    policy: Policy, scenario: Scenario, *, sizes: Mapping[str, int], quantiles: Mapping[str, Fraction]
) -> Iterator[_Part | None]:
    """None for rules of which nothing is known."""
    together: defaultdict[tuple[str, Fraction], list[Region]] = defaultdict(list)
    for rule in policy.rules:
        n, q = sizes[rule.metric], quantiles.get(rule.metric)
        if not isinstance(rule, IntervalThreshold | ObservedCount):
            yield _pair_part(rule, policy, scenario, n=n)
            continue
        region, truth = region_of(rule, policy, n=n, q=q), scenario.truths.get(rule.id)
        if region is None or truth is None:
            yield None
        elif q is None and n >= rule.min_cases and may_be_evident(rule, policy, n=n):
            yield _evident_part(foreseen_stop(rule, policy, region, is_rate=True), policy, truth)
        elif q is None:
            together[rule.metric, truth].append(region)
        else:
            yield _counted_part([region], policy, truth)
    for (_, truth), rules in together.items():
        yield _counted_part(rules, policy, truth)


def _counted_part(regions: Sequence[Region], policy: Policy, truth: Fraction) -> _Part:
    """Rules that count the same cases, by how many of these pass."""

    def lets_through(count: int) -> bool:
        return not any(blocks(_state(region, count), policy) for region in regions)

    def passes(count: int) -> bool:
        return lets_through(count) and any(region.passes(count) for region in regions)

    n = regions[0].n
    return _Part(binomial.where(lets_through, n=n, p=truth), binomial.where(passes, n=n, p=truth))


def _evident_part(stop: ForeseenStop | None, policy: Policy, truth: Fraction) -> _Part | None:
    """A rule that evidence may settle, which no count of all the cases does. None where there are too many of them to
    foresee that."""
    if stop is None:
        return None
    found = stop.performance(truth)
    undecided = 0.0 if blocks("INSUFFICIENT_EVIDENCE", policy) else 1 - found.passes - found.fails
    return _Part(found.passes + undecided, found.passes)


def _state(region: Region, count: int) -> State:
    return "PASS" if region.passes(count) else "FAIL" if region.fails(count) else "INSUFFICIENT_EVIDENCE"


def _pair_part(rule: PairRule, policy: Policy, scenario: Scenario, *, n: int) -> _Part | None:
    discordant = scenario.discordant.get(rule.id)
    if discordant is None:
        return None
    level = policy.confidence_level
    found = pair_chances(rule, scenario, n=n, discordant=discordant, difference=0.0, level=level)
    undecided = 0.0 if blocks("INSUFFICIENT_EVIDENCE", policy) else found.undecided
    return _Part(found.passes + undecided, found.passes)


def _all_let_through(parts: Sequence[_Part | None]) -> Bounds:
    """Between which bounds the probability lies that no rule blocks and one is PASS."""
    known = [part for part in parts if part is not None]
    high = min((part.lets_through for part in known), default=1.0)
    if len(known) < len(parts) or not parts:
        return 0.0, high
    blocked = sum(1 - part.lets_through for part in known)
    low = max(part.passes + (1 - part.lets_through) - blocked for part in known)
    return max(0.0, low), min(high, sum(part.passes for part in known))


def _flips(allow: Bounds) -> Bounds:
    """The probability 2 a (1 − a) that two runs differ, over all a within the bounds; it is largest at one half."""
    ends = [2 * a * (1 - a) for a in allow]
    return min(ends), 0.5 if allow[0] <= 0.5 <= allow[1] else max(ends)
