"""When a run may stop: the rules in whole cases, and a step function from one case of the launch order to the next.

A run stops as soon as one rule is settled as FAIL, or all of them as PASS; either settles the exit code. A rule is
settled when it is certain that the full run would decide it so, whatever the other cases did and however many of them
were missing; a rule that evidence may settle (:mod:`oloproof.stats.sequential`), also when that is strong enough.

Everything is decided on the first cases of the launch order, which was drawn before any of them ran. All others count
as missing, those in flight included: so no verdict depends on the order in which cases come to their end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple, assert_never

from msgspec import Struct

from oloproof.gates.demands import allowed_missing, held_back
from oloproof.gates.sides import OTHER, Side, amount, sides_of, so_many
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
from oloproof.model.judgment import Word
from oloproof.model.stopping import Settled
from oloproof.model.tally import Amount, AtLeast
from oloproof.stats import quantile, sequential
from oloproof.stats.boundaries import turns

MOST_AT_ONCE = 20
"""Cases at a time while a run may stop: what is in flight when it does was launched in vain."""


class Suite(Struct, frozen=True):
    """What is known of the cases before any has run: how many each metric applies to, by its id; and of the metrics
    that are quantiles, which quantile of which quantity."""

    sizes: Mapping[str, int]
    quantiles: Mapping[str, tuple[Fraction, str]] = {}


class Counts(NamedTuple):
    """What is known of the cases of a rule so far. ``observed`` left a verdict or a value, ``missing`` ran and left
    none; ``good`` and ``bad``, one a bound, are known to lie on either side of it."""

    observed: int
    missing: int
    good: tuple[int, ...]
    bad: tuple[int, ...]


class Standing(NamedTuple):
    """Where the rules stand after the first ``cases`` of the launch order, each in the policy's order."""

    cases: int
    counts: tuple[Counts, ...]
    settled: tuple[Settled | None, ...]

    @property
    def is_over(self) -> bool:
        """One rule has failed, or all have passed."""
        states = [None if settled is None else settled.state for settled in self.settled]
        return "FAIL" in states or (bool(states) and all(state == "PASS" for state in states))


class Course:
    """The rules of a policy over a suite of which nothing has run. ``evident`` names the rules that evidence may
    settle: interval rules with one bound on a rate."""

    def __init__(self, policy: Policy, suite: Suite, *, evident: Sequence[str] = ()) -> None:
        self._rules = [_watched(rule, policy, suite, evident=rule.id in evident) for rule in policy.rules]

    @property
    def waiting(self) -> tuple[str, ...]:
        """The rules that pass with the last of their cases at the earliest, if ever: with one of these, nothing but a
        failure ends a run early."""
        return tuple(watched.rule.id for watched in self._rules if watched.is_last)

    def begin(self) -> Standing:
        """Before the first case."""
        nothing = [Counts(0, 0, *[(0,) * len(rule.bounds)] * 2) for rule in self._rules]
        return Standing(0, tuple(nothing), (None,) * len(self._rules))

    def step(self, standing: Standing, words: Mapping[str, Word], amounts: Mapping[str, Amount]) -> Standing:
        """After the next case of the launch order: its verdicts by criterion, and its quantities by source."""
        after = standing.cases + 1
        all_counts: list[Counts] = []
        all_settled: list[Settled | None] = []
        for rule, counts, settled in zip(self._rules, standing.counts, standing.settled, strict=True):
            seen = rule.look(words, amounts)
            now = counts if seen is None else _sum(counts, seen)
            all_counts.append(now)
            all_settled.append(settled or (None if seen is None else rule.settle(now, after=after)))
        return Standing(after, tuple(all_counts), tuple(all_settled))


def launch_order(ids: Sequence[str], seed: int) -> list[int]:
    """The positions of the cases in the order in which they are launched: by a digest of the seed and the id, so that
    it is the same wherever and whenever it is drawn."""

    def drawn(position: int) -> bytes:
        return hashlib.sha256(f"{seed}:{ids[position]}".encode("utf-8", "surrogatepass")).digest()

    return sorted(range(len(ids)), key=drawn)


class _Bound(NamedTuple):
    """One bound of a rule: kept for certain once ``kept_from`` cases are known to lie on its good side, broken once
    ``broken_from`` lie on the other; None where no number decides so. ``good`` and ``bad`` are what such cases are."""

    kept_from: int | None
    broken_from: int | None
    good: str
    bad: str
    side: Literal["passes", "failures", "at_least", "at_most"]
    limit: float = 0.0

    def judge(self, seen: Word | Amount) -> Literal[1, -1, 0]:
        """On which side a case is known to lie: 1 on the good one, −1 on the other, 0 where that is not known."""
        match self.side, seen:
            case ("passes", "pass") | ("failures", "fail"):
                return 1
            case ("passes", "fail") | ("failures", "pass"):
                return -1
            case "at_least", AtLeast(floor):
                return 1 if floor >= self.limit else 0
            case "at_most", AtLeast(floor):
                return -1 if floor > self.limit else 0
            case "at_least", float() | int():
                return 1 if seen >= self.limit else -1
            case "at_most", float() | int():
                return 1 if seen <= self.limit else -1
            case _:
                return 0


class _Watched(Struct, frozen=True):
    """A rule in whole cases, ``n`` of them. ``source`` is the quantity of a quantile, None for a criterion; ``test``
    is there for a rule that evidence may settle. Without ``bounds`` a rule is settled with the last case alone."""

    rule: Rule
    n: int
    bounds: tuple[_Bound, ...]
    source: str | None = None
    test: sequential.Stopping | None = None

    @property
    def is_last(self) -> bool:
        """The rule cannot pass before the last of its cases."""
        kept = [bound.kept_from for bound in self.bounds]
        # Before so many are observed, what has not run could be more that is missing than the rule allows.
        least = self.n - allowed_missing(self.rule, self.n)
        return self.test is None and (not kept or any(count is None or max(count, least) >= self.n for count in kept))

    def look(self, words: Mapping[str, Word], amounts: Mapping[str, Amount]) -> Counts | None:
        """What one case adds to the counts; None where the metric does not apply to it."""
        seen = words[self.rule.metric] if self.source is None else amounts[self.source]
        if seen == "excluded":
            return None
        sides = [bound.judge(seen) for bound in self.bounds]
        is_missing = seen == "missing" or isinstance(seen, AtLeast)
        good, bad = (tuple([int(side == sign) for side in sides]) for sign in (1, -1))
        return Counts(int(not is_missing), int(is_missing), good, bad)

    def settle(self, counts: Counts, *, after: int) -> Settled | None:
        """Whether, and by what, the rule is settled with these counts."""
        if not self.bounds:
            return None
        # In the worst case everything that has not been observed is missing in the end.
        may_settle = held_back(self.rule, n=self.n, missing=self.n - counts.observed) is None
        if may_settle or isinstance(self.rule, ObservedCount):
            for bound, bad in zip(self.bounds, counts.bad, strict=True):
                if bound.broken_from is not None and bad >= bound.broken_from:
                    return self._settled(
                        "FAIL", counts, after, f"{so_many(bound.broken_from, bound.bad)} of {self.n:,}"
                    )
        if may_settle and counts.observed and all(map(_is_kept, self.bounds, counts.good)):
            needed = " and ".join(so_many(bound.kept_from or 0, bound.good) for bound in self.bounds)
            return self._settled("PASS", counts, after, f"{needed} of {self.n:,}")
        return None if self.test is None else self._by_evidence(self.test, counts, after)

    def _by_evidence(self, test: sequential.Stopping, counts: Counts, after: int) -> Settled | None:
        """Of as many cases as the rule asks for, and no more of them missing than it allows."""
        launched = counts.observed + counts.missing
        if held_back(self.rule, n=launched, missing=counts.missing) is not None:
            return None
        state = test.evident(counts.good[0], counts.bad[0], counts.missing)
        return None if state is None else self._settled(state, counts, after, "")

    def _settled(self, state: Literal["PASS", "FAIL"], counts: Counts, after: int, boundary: str) -> Settled:
        passed, failed = (0, 0) if self.source is not None else (counts.good[0], counts.bad[0])
        if self.bounds[0].side == "failures":
            passed, failed = failed, passed
        return Settled(
            rule=self.rule.id,
            state=state,
            by="certainty" if boundary else "evidence",
            after=after,
            boundary=boundary,
            passed=passed,
            failed=failed,
            missing=counts.missing,
        )


def _watched(rule: Rule, policy: Policy, suite: Suite, *, evident: bool) -> _Watched:
    n = suite.sizes[rule.metric]
    match rule:
        case ObservedCount(max_failures=most):
            return _Watched(rule, n, (_Bound(max(0, n - most), most + 1, "passes", "failures", "passes"),))
        case IntervalThreshold() if rule.metric in suite.quantiles:
            q, source = suite.quantiles[rule.metric]
            return _Watched(rule, n, _of_quantile(rule, policy, n, q), source=source)
        case IntervalThreshold() if evident:
            side, share = sides_of(rule)[0]
            test = sequential.hybrid(n, share, method=policy.interval_method, level=policy.confidence_level)
            return _Watched(rule, n, (_of_rate(side, n, test.pass_from, test.fail_to),), test=test)
        case IntervalThreshold():
            bounds = []
            for side, share in sides_of(rule):
                good, bad = turns(n, share, method=policy.interval_method, level=policy.confidence_level)
                bounds.append(_of_rate(side, n, good, bad))
            return _Watched(rule, n, tuple(bounds))
        case Superiority() | NonInferiority() | Equivalence() | MaxNewFailures():
            return _Watched(rule, n, ())
        case _ as never:
            assert_never(never)


def _of_rate(side: Side, n: int, pass_from: int | None, fail_to: int | None) -> _Bound:
    return _Bound(pass_from, None if fail_to is None else n - fail_to, side, OTHER[side], side)


def _of_quantile(rule: IntervalThreshold, policy: Policy, n: int, q: Fraction) -> tuple[_Bound, ...]:
    """In cases that keep to a bound: a q-quantile of at least x is a share 1 − q of values no smaller."""
    if n == 0:
        return ()
    bounds = []
    if rule.min is not None:
        good, bad = quantile.turns(n, q=1 - q, level=policy.confidence_level)
        words = f"known to be at least {amount(rule.min)}", f"known to be below {amount(rule.min)}"
        bounds.append(_Bound(good, None if bad is None else n - bad, *words, "at_least", float(rule.min)))
    if rule.max is not None:
        good, bad = quantile.turns(n, q=q, level=policy.confidence_level)
        words = f"known to be at most {amount(rule.max)}", f"known to be above {amount(rule.max)}"
        bounds.append(_Bound(good, None if bad is None else n - bad, *words, "at_most", float(rule.max)))
    return tuple(bounds)


def _is_kept(bound: _Bound, good: int) -> bool:
    return bound.kept_from is not None and good >= bound.kept_from


def _sum(counts: Counts, seen: Counts) -> Counts:
    good, bad = (
        tuple([a + b for a, b in zip(*pair, strict=True)])
        for pair in ((counts.good, seen.good), (counts.bad, seen.bad))
    )
    return Counts(counts.observed + seen.observed, counts.missing + seen.missing, good, bad)
