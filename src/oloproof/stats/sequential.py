"""When a run may stop before its last case: once its verdict is certain, or once the evidence is strong enough.

*Curtailment* stops when no way to finish the run would change its PASS or FAIL. It costs nothing. The *hybrid* spends a
fifth of the error of each side on stopping as soon as an e-value (:mod:`oloproof.stats.evidence`) reaches 1 / α, at any
time, and the rest on the curtailed full run with an accordingly wider interval: by the union bound the two together err
no more often than α plus the size of that final rule, which for the exact interval is what was promised. Near the
threshold it is nearly as powerful as the full run, and far from it nearly as quick as the e-value.

What is decided on is the prefix of the launch order, with the cases in flight counted as missing. Those completed so
far would be the fast ones, and where failing takes longer they pass more often than the rest.

A run that can only end undecided goes on: its last cases still narrow the interval.
"""

from __future__ import annotations

from fractions import Fraction
from math import log
from typing import Literal, NamedTuple

from oloproof.stats import boundaries, evidence
from oloproof.stats.level import tail
from oloproof.stats.proportion import Method

# Below this size of a suite the hybrid costs too much power, because counts are too coarse.
HYBRID_MIN_CASES = 200

# Five failures in a row can be evidence enough against a threshold of 0.8, but hardly a plausible end of a run.
MIN_CASES_TO_FAIL = 10

_EARLY_SHARE = Fraction(1, 5)

Verdict = Literal["PASS", "FAIL"]


class Split(NamedTuple):
    """What a hybrid rule decides by: evidence with this error of each side (None: by none at all), and the interval of
    the full run at this level."""

    early: float | None
    final_level: float


def split(threshold: Fraction, *, level: float = 0.95) -> Split:
    """A fifth of each side's error for evidence and the rest for the full run: at 0.95, 0.005 and 96 %.

    No evidence exists against a rate of 0 or 1: there, nothing is set aside for it.
    """
    if threshold in (0, 1):
        return Split(None, level)
    return Split(
        early=float(_EARLY_SHARE * Fraction(str(tail(level)))),
        final_level=float(1 - (1 - _EARLY_SHARE) * (1 - Fraction(str(level)))),
    )


class Stopping(NamedTuple):
    """A rule over ``n`` cases in all: PASS from ``pass_from`` passes on, FAIL up to ``fail_to``, None where never.

    ``early`` is the error of each side that evidence may stop with, None under curtailment alone.
    """

    n: int
    threshold: Fraction
    pass_from: int | None
    fail_to: int | None
    early: float | None

    def state(
        self, passed: int, failed: int, missing: int, *, min_cases_to_fail: int = MIN_CASES_TO_FAIL
    ) -> Verdict | None:
        """The verdict to stop with after the first passed + failed + missing cases of the launch order; None to go on.

        The cases in flight are among the missing. Evidence says FAIL from ``min_cases_to_fail`` launched cases on.
        """
        if self.pass_from is not None and passed >= self.pass_from:
            return "PASS"
        if self.fail_to is not None and self.n - failed <= self.fail_to:
            return "FAIL"
        return self.evident(passed, failed, missing, min_cases_to_fail=min_cases_to_fail)

    def evident(
        self, passed: int, failed: int, missing: int, *, min_cases_to_fail: int = MIN_CASES_TO_FAIL
    ) -> Verdict | None:
        """The verdict that the evidence alone is strong enough for, where it is."""
        if self.early is None:
            return None
        found, wanted = evidence.log_e(passed, failed, missing, threshold=float(self.threshold)), -log(self.early)
        if found.above >= wanted:
            return "PASS"
        if found.below >= wanted and passed + failed + missing >= min_cases_to_fail:
            return "FAIL"
        return None


class Turn(NamedTuple):
    """After ``launched`` cases with none missing: stop with PASS from so many passes on, with FAIL up to so many."""

    launched: int
    pass_from: int | None
    fail_to: int | None


class Performance(NamedTuple):
    """How likely a rule ends with PASS and with FAIL, and how many cases it takes on average."""

    passes: float
    fails: float
    cases: float


def curtailed(n: int, threshold: Fraction, *, method: Method = "wilson", level: float = 0.95) -> Stopping:
    """The full run's rule "the pass rate is at least ``threshold``", stopped when it is certain."""
    pass_from, fail_to = boundaries.turns(n, threshold, method=method, level=level)
    return Stopping(n, threshold, pass_from, fail_to, early=None)


def hybrid(n: int, threshold: Fraction, *, method: Method = "wilson", level: float = 0.95) -> Stopping:
    """Evidence, else the curtailed rule, each with its part of the error (:func:`split`).

    Meant for ``n`` of at least ``HYBRID_MIN_CASES``.
    """
    early, final_level = split(threshold, level=level)
    return curtailed(n, threshold, method=method, level=final_level)._replace(early=early)


def turns(rule: Stopping, *, min_cases_to_fail: int = MIN_CASES_TO_FAIL) -> list[Turn]:
    """Where the rule stops after 1, 2, …, n cases with none missing."""
    found = []
    # One more case moves a boundary by one case or by none: evidence grows with a pass and falls with a failure.
    pass_from, fail_to = 0, -1
    for launched in range(1, rule.n + 1):

        def stops(passed: int, launched: int = launched) -> str | None:
            return rule.state(passed, launched - passed, 0, min_cases_to_fail=min_cases_to_fail)

        while pass_from <= launched and stops(pass_from) != "PASS":
            pass_from += 1
        while fail_to < launched and stops(fail_to + 1) == "FAIL":
            fail_to += 1
        found.append(Turn(launched, pass_from if pass_from <= launched else None, fail_to if fail_to >= 0 else None))
    return found


def performance(rule: Stopping, *, truth: float, stops: list[Turn] | None = None) -> Performance:
    """What the rule does where each case passes with probability ``truth``, exactly, with none missing.

    The probabilities of the numbers of passes are carried from case to case; those at which the rule stops leave.
    ``stops`` are its :func:`turns`, to be computed once for several truths.
    """
    import numpy as np

    alive = np.zeros(rule.n + 1)
    alive[0] = 1.0
    passes = fails = cases = 0.0
    for launched, pass_from, fail_to in turns(rule) if stops is None else stops:
        cases += float(alive[:launched].sum())
        alive[1 : launched + 1] = truth * alive[:launched] + (1 - truth) * alive[1 : launched + 1]
        alive[0] *= 1 - truth
        if pass_from is not None:
            passes += float(alive[pass_from : launched + 1].sum())
            alive[pass_from:] = 0.0
        if fail_to is not None:
            fails += float(alive[: fail_to + 1].sum())
            alive[: fail_to + 1] = 0.0
    return Performance(passes, fails, cases)
