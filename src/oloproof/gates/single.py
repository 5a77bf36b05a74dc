"""What one run by itself says of a rule: of cases that failed, of a rate, of trials, of a quantile.

Each answer is the evidence's alone, before what a rule demands of it (:mod:`~oloproof.gates.demands`). Counts and
shares compare as integers and rationals, and bounds with the double nearest to the decimal in the policy; nothing is
rounded before it is compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from msgspec.structs import replace

from oloproof.gates.demands import Answer
from oloproof.gates.evident import Looks, looks_of
from oloproof.gates.regions import errors_of, rate_region, turns_of
from oloproof.model.decision import (
    Basis,
    CountFinding,
    Finding,
    IntervalThreshold,
    ObservedCount,
    PassKFinding,
    Policy,
    QuantileFinding,
    RateFinding,
    Reason,
    State,
)
from oloproof.model.measured import PassK, Quantile
from oloproof.model.stopping import Settled
from oloproof.model.tally import Clusters, Tally
from oloproof.stats import proportion, quantile, trials
from oloproof.stats.counts import at_most_failures


def on_count(rule: ObservedCount, tally: Tally) -> tuple[Finding, Answer]:
    """A rule about the cases of the suite that ran."""
    finding = CountFinding(tally=tally, max_failures=rule.max_failures)
    match at_most_failures(tally.passed, tally.failed, tally.missing, max_failures=rule.max_failures):
        case "PASS":
            return finding, ("PASS", "observed_failures_within_limit")
        case "FAIL":
            return finding, ("FAIL", "observed_failures_exceed_limit")
        case _:
            return finding, ("INSUFFICIENT_EVIDENCE", "missing_could_hide_failures")


def on_rate(
    rule: IntervalThreshold, tally: Tally, policy: Policy, *, looks: Looks | None = None
) -> tuple[RateFinding, Answer]:
    """A bound on the rate of independent cases, in whole cases. ``looks`` None: by one look alone, at all of them.

    ``false_pass`` and ``false_fail`` are those of :func:`errors_of`."""
    early, level = looks or looks_of(rule, policy, evident=False)
    method = policy.interval_method
    lower, upper = proportion.interval(tally.passed, tally.failed, tally.missing, method=method, level=level)
    answers: list[Answer] = []
    region = rate_region(rule, n=tally.n, method=method, level=level)
    if tally.n and rule.min is not None:
        answers.append(_at_minimum(_side(turns_of(region, "passes"), tally.passed, missing=tally.missing)))
    if tally.n and rule.max is not None:
        answers.append(_at_maximum(_side(turns_of(region, "failures"), tally.failed, missing=tally.missing)))
    errors = errors_of(rule, region, early=early) if tally.n else None
    finding = RateFinding(
        tally=tally,
        minimum=_number(rule.min),
        maximum=_number(rule.max),
        lower=lower,
        upper=upper,
        false_pass=None if errors is None else errors.false_pass,
        false_fail=None if errors is None else errors.false_fail,
    )
    return finding, _together(answers)


def on_evidence(
    rule: IntervalThreshold, tally: Tally, policy: Policy, settled: Settled | None
) -> tuple[Finding, Answer]:
    """A rule that evidence may settle: by what there was when it did, else by the full run at what is left of the
    level. ``false_pass`` and ``false_fail`` hold for both together."""
    from oloproof.stats import evidence  # a run that evidence cannot end does without

    minimum, maximum = _number(rule.min), _number(rule.max)
    looks = looks_of(rule, policy, evident=True)
    if settled is None or settled.by == "certainty" or looks.early is None:
        finding, answer = on_rate(rule, tally, policy, looks=looks)
        return replace(finding, basis=Basis(method=policy.interval_method, level=looks.level)), answer
    counted = Tally(settled.passed, settled.failed, settled.missing, tally.excluded)
    basis = Basis(method="anytime_mixture", level=float(1 - 2 * Fraction(str(looks.early))))
    lower, upper = evidence.interval(counted.passed, counted.failed, counted.missing, level=basis.level)
    answer = _at_maximum(settled.state) if minimum is None else _at_minimum(settled.state)
    finding = RateFinding(tally=counted, minimum=minimum, maximum=maximum, lower=lower, upper=upper, basis=basis)
    return finding, answer


def on_trials(rule: IntervalThreshold, tally: Tally, clusters: Clusters, policy: Policy) -> tuple[Finding, Answer]:
    """Trials of a case, and cases of a cluster, are not independent, so no whole count decides: the interval does."""
    method, level = policy.interval_method, policy.confidence_level
    found = trials.of_clusters(clusters.counted, metric="pass_hat_k", method=method, level=level)
    finding = RateFinding(
        tally=tally,
        minimum=_number(rule.min),
        maximum=_number(rule.max),
        lower=found.lower,
        upper=found.upper,
        trials=clusters.trials,
        effective=found.effective,
    )
    return finding, _by_interval(found.lower, found.upper, minimum=finding.minimum, maximum=finding.maximum)


def on_pass_k(rule: IntervalThreshold, metric: PassK, policy: Policy) -> tuple[Finding, Answer]:
    """A bound on the chance of k trials of a case."""
    method, level = policy.interval_method, policy.confidence_level
    found = trials.of_clusters(metric.clusters.counted, metric=metric.type, k=metric.k, method=method, level=level)
    finding = PassKFinding(
        observed=metric.observed,
        missing=metric.missing,
        minimum=_number(rule.min),
        maximum=_number(rule.max),
        lower=found.lower,
        upper=found.upper,
        effective=found.effective,
    )
    return finding, _by_interval(found.lower, found.upper, minimum=finding.minimum, maximum=finding.maximum)


def on_quantile(rule: IntervalThreshold, metric: Quantile, policy: Policy) -> tuple[Finding, Answer]:
    """A bound on a quantity's quantile, in its unit."""
    cases = metric.distribution
    _, lower, upper = quantile.interval(
        quantile.Counted(cases.observed), quantile.Counted(cases.floors), q=metric.q, level=policy.confidence_level
    )
    minimum, maximum = _number(rule.min), _number(rule.max)
    finding = QuantileFinding(
        observed=cases.observed_count,
        missing=cases.missing_count,
        minimum=minimum,
        maximum=maximum,
        lower=lower,
        upper=upper,
    )
    return finding, _by_interval(lower, upper, minimum=minimum, maximum=maximum)


def _by_interval(lower: float | None, upper: float | None, *, minimum: float | None, maximum: float | None) -> Answer:
    """What an interval says of the bounds of a rule."""
    answers: list[Answer] = []
    if minimum is not None:
        good, bad = lower is not None and lower >= minimum, upper is not None and upper < minimum
        answers.append(_at_minimum("PASS" if good else "FAIL" if bad else "INSUFFICIENT_EVIDENCE"))
    if maximum is not None:
        good, bad = upper is not None and upper <= maximum, lower is not None and lower > maximum
        answers.append(_at_maximum("PASS" if good else "FAIL" if bad else "INSUFFICIENT_EVIDENCE"))
    return _together(answers)


def _side(turn: tuple[int, int], good: int, *, missing: int) -> State:
    """What ``good`` cases, and ``missing`` ones that might be, say of one bound of a rate: it is kept from the first
    number on, and broken up to the second."""
    pass_from, fail_to = turn
    if good >= pass_from:
        return "PASS"
    if good + missing <= fail_to:
        return "FAIL"
    return "INSUFFICIENT_EVIDENCE"


def _at_minimum(state: State) -> Answer:
    reasons: Mapping[State, Reason] = {"PASS": "lower_bound_meets_minimum", "FAIL": "upper_bound_below_minimum"}
    return state, reasons.get(state, "interval_overlaps_threshold")


def _at_maximum(state: State) -> Answer:
    reasons: Mapping[State, Reason] = {"PASS": "upper_bound_meets_maximum", "FAIL": "lower_bound_above_maximum"}
    return state, reasons.get(state, "interval_overlaps_threshold")


def _together(answers: Sequence[Answer]) -> Answer:
    """The answer on one bound or two: outside either is outside, inside needs all. Of nothing there is no answer."""
    for answer in answers:
        if answer[0] == "FAIL":
            return answer
    if not answers or any(state != "PASS" for state, _ in answers):
        return "INSUFFICIENT_EVIDENCE", "interval_overlaps_threshold"
    return answers[0] if len(answers) == 1 else ("PASS", "interval_within_bounds")


def _number(decimal: str | None) -> float | None:
    return None if decimal is None else float(decimal)
