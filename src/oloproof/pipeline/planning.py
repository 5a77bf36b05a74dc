"""What the policy could settle, and how likely: before any run, or with the figures of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from oloproof.errors import Problem, UsageError, did_you_mean
from oloproof.gates.flips import gate_flips
from oloproof.gates.plan import plan
from oloproof.gates.scenarios import Assumptions, observed_scenario, scenarios
from oloproof.model.decision import Policy
from oloproof.model.measured import Measured, PassK, Quantile, Rate
from oloproof.model.plan import Scenario, SuitePlan
from oloproof.model.project import Project
from oloproof.model.run import Report
from oloproof.pipeline.foreseeing import applicable
from oloproof.pipeline.stopping import followed_policy
from oloproof.project import Cases


class Wanted(Struct, frozen=True, kw_only=True):
    """What a plan is asked for. ``cases`` None: as many as there are; ``flips``: how often the gate would flip too."""

    cases: int | None = None
    assumed: Assumptions = Assumptions()
    flips: bool = False


class _Suite(Struct, frozen=True, kw_only=True):
    """How many cases there are, to how many each metric applies, and which metrics are quantiles."""

    cases: int
    sizes: Mapping[str, int]
    quantiles: Mapping[str, Fraction]

    def of(self, cases: int | None) -> _Suite:
        """The same suite with so many cases, in which each metric keeps its share."""
        if cases is None or not self.cases:
            return self
        sizes = {metric: cases * size // self.cases for metric, size in self.sizes.items()}
        return _Suite(cases=cases, sizes=sizes, quantiles=self.quantiles)


def suite_plan(project: Project, cases: Cases | None, wanted: Wanted) -> SuitePlan:
    """Before any run. ``cases`` None: the recordings are their own dataset, which is not read.

    Errors: UsageError without a policy, without a number of cases, or with a truth about no metric of the policy.
    """
    policy = _policy(followed_policy(project))
    related = cases is not None and cases.related
    if (project.trials or 1) > 1 or related or project.pass_k:
        raise _not_plain(project.config)
    suite = _foreseen(project, policy, cases, wanted).of(wanted.cases)
    _refuse_unknown(policy, wanted.assumed)
    found = scenarios(policy, sizes=suite.sizes, quantiles=suite.quantiles, assumed=wanted.assumed)
    return _planned(project.name, policy, suite, found, wanted)


def run_plan(report: Report, wanted: Wanted) -> SuitePlan:
    """With what a run showed taken for the truth, beside what the user says.

    Errors: UsageError where the run has no policy, or with a truth about no metric of it.
    """
    policy = _policy(report.policy)
    if report.run.stopping is None:  # nor would a fresh run like it stop early, whatever the policy says
        policy = replace(policy, early_stopping=None)
    if report.run.trials > 1 or report.run.clustered or any(isinstance(m, PassK) for m in report.measured.metrics):
        raise _not_plain()
    _refuse_unknown(policy, wanted.assumed)
    suite = _seen(report.measured).of(wanted.cases)
    found = [observed_scenario(policy, report.measured, report.comparison, assumed=wanted.assumed)]
    if wanted.assumed.truths or wanted.assumed.by_metric:
        found += scenarios(policy, sizes=suite.sizes, quantiles=suite.quantiles, assumed=wanted.assumed)
    return _planned(report.run.project, policy, suite, tuple(found), wanted, run=report.run.id)


def _planned(
    project: str,
    policy: Policy,
    suite: _Suite,
    found: tuple[Scenario, ...],
    wanted: Wanted,
    run: str | None = None,
) -> SuitePlan:
    sizes, quantiles = suite.sizes, suite.quantiles
    return SuitePlan(
        project=project,
        cases=suite.cases,
        level=policy.confidence_level,
        method=policy.interval_method,
        rules=plan(policy, found, sizes=sizes, quantiles=quantiles),
        gate=gate_flips(policy, found, sizes=sizes, quantiles=quantiles) if wanted.flips else None,
        run=run,
    )


def _policy(policy: Policy | None) -> Policy:
    if policy is None:
        message = "there is no policy, and so nothing to plan for"
        raise UsageError(Problem("OLO641", message, "write the rules in release.yaml"))
    return policy


def _not_plain(config: str | None = None) -> UsageError:
    message = "a plan counts independent cases that are tried once, and here are trials or clusters"
    hint = "`oloproof check` says what the rules would come to if the trials of a case always agreed"
    return UsageError(Problem("OLO638", message, hint, file=config))


def _foreseen(project: Project, policy: Policy, cases: Cases | None, wanted: Wanted) -> _Suite:
    quantiles = {spec.id: spec.q for spec in project.metrics}
    if cases is not None:
        return _Suite(cases=len(cases), sizes=applicable(project, cases), quantiles=quantiles)
    count = wanted.cases or project.expected_cases
    if count is None:
        message = "the recordings are their own dataset: how many cases there will be is not known"
        raise UsageError(Problem("OLO640", message, "say it: --cases N"))
    return _Suite(cases=count, sizes=dict.fromkeys((rule.metric for rule in policy.rules), count), quantiles=quantiles)


def _seen(measured: Measured) -> _Suite:
    sizes, quantiles = {}, {}
    for metric in measured.metrics:
        match metric:
            case Rate(tally=tally):
                sizes[metric.id] = tally.n
            case PassK():
                sizes[metric.id] = metric.observed + metric.missing
            case Quantile(distribution=distribution):
                sizes[metric.id], quantiles[metric.id] = distribution.n, metric.q
    return _Suite(cases=measured.cases, sizes=sizes, quantiles=quantiles)


def _refuse_unknown(policy: Policy, assumed: Assumptions) -> None:
    problems = list(_unknown({rule.metric for rule in policy.rules}, assumed))
    if problems:
        raise UsageError(problems)


def _unknown(known: set[str], assumed: Assumptions) -> Iterator[Problem]:
    for metric in assumed.by_metric:
        if metric not in known:
            hint = did_you_mean(metric, sorted(known), otherwise="the metrics with rules are")
            yield Problem("OLO642", f"--truth {metric}=…: no rule is about {metric!r}", hint)
