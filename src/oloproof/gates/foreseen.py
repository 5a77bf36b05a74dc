"""How a rule would end that is looked at after every case, and after how many cases: exactly, with nothing run."""

from __future__ import annotations

from fractions import Fraction

from msgspec import Struct

from oloproof.gates.demands import allowed_missing
from oloproof.gates.evident import may_be_evident
from oloproof.gates.regions import CountedRule, turns_of
from oloproof.gates.sides import sides_of
from oloproof.model.decision import ObservedCount, Policy
from oloproof.stats import sequential
from oloproof.stats.chances import Region

MOST_FORESEEN = 5_000
"""Cases up to which that is computed: what it takes grows with their square."""


class ForeseenStop(Struct, frozen=True):
    """A rule with one bound that is looked at after every case. ``of_failures``: it counts failures, not passes."""

    rule: sequential.Stopping
    turns: list[sequential.Turn]
    of_failures: bool

    def performance(self, truth: Fraction) -> sequential.Performance:
        """How it ends where the share ``truth`` of all cases passes, exactly, with none missing."""
        return sequential.performance(
            self.rule, truth=float(1 - truth if self.of_failures else truth), stops=self.turns
        )


def foreseen_stop(rule: CountedRule, policy: Policy, region: Region, *, is_rate: bool) -> ForeseenStop | None:
    """The rule as a run that may stop early looks at it; None where the policy lets none do so, of a rule with two
    bounds, and of more than ``MOST_FORESEEN`` cases."""
    wish, n = policy.early_stopping, region.n
    if wish is None or n > MOST_FORESEEN:
        return None
    if is_rate and n >= rule.min_cases and may_be_evident(rule, policy, n=n):
        side, share = sides_of(rule)[0]
        found = sequential.hybrid(n, share, method=policy.interval_method, level=policy.confidence_level)
        return ForeseenStop(found, _turns(found, rule), side == "failures")
    nothing = Fraction(0)  # no evidence is asked for against any threshold
    if region.pass_to == n and region.fail_from > n:
        side = "passes"
    elif region.pass_from == 0 and region.fail_to < 0:
        side = "failures"
    else:
        return None
    pass_from, fail_to = turns_of(region, side)
    found = sequential.Stopping(n, nothing, _within(pass_from, n), _within(fail_to, n), None)
    return ForeseenStop(found, _turns(found, rule), side == "failures")


def _turns(found: sequential.Stopping, rule: CountedRule) -> list[sequential.Turn]:
    """Where the rule is settled with none missing, by either: evidence is one from ``min_cases`` on; and certain is,
    but for failures that are counted, only what no more missing cases than the rule allows could hold back."""
    certain = sequential.turns(found._replace(early=None))
    evident = sequential.turns(found._replace(pass_from=None, fail_to=None)) if found.early is not None else certain
    least, turns = found.n - allowed_missing(rule, found.n), []
    for at, (launched, pass_from, fail_to) in enumerate(certain):
        if launched < least:
            pass_from, fail_to = None, fail_to if isinstance(rule, ObservedCount) else None
        if found.early is not None and launched >= rule.min_cases:
            passes, fails = (pass_from, evident[at].pass_from), (fail_to, evident[at].fail_to)
            pass_from = min((count for count in passes if count is not None), default=None)
            fail_to = max((count for count in fails if count is not None), default=None)
        turns.append(sequential.Turn(launched, pass_from, fail_to))
    return turns


def _within(count: int, n: int) -> int | None:
    return count if 0 <= count <= n else None
