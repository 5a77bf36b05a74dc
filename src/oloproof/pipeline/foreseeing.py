"""What a run would compute and what its rules could come to, with nothing run and nothing kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from oloproof import evaluators, gates
from oloproof.metrics import Measurement, Repeated
from oloproof.metrics.measurement import CountedCase
from oloproof.model.case import Attempt, AttemptError, Case
from oloproof.model.comparison import Side
from oloproof.model.decision import IntervalThreshold, Policy
from oloproof.model.evidence import Evidence
from oloproof.model.judgment import PASS, missing
from oloproof.model.measured import Measured
from oloproof.model.project import Project
from oloproof.model.reading import Reading
from oloproof.model.run import Report, Run, SystemIdentity
from oloproof.model.stopping import Stopping
from oloproof.model.trajectory import Trajectory
from oloproof.pipeline.deciding import report
from oloproof.project import Cases


def rehearsal(project: Project, *, stops_early: bool = False, related: bool = False) -> Report:
    """The report of a run of a made-up case that passed: what the real one will compute, nothing of it kept. With
    ``stops_early``, of one that left out another case; with ``related``, of one with cases that belong together."""
    criteria = tuple(evaluator.criterion for evaluator in project.evaluators)
    measurement = Measurement(criteria, project.metrics, project.slices, project.min_slice_support)
    counted = measurement.add(Case(id="rehearsal"), Reading(Trajectory()), [PASS] * len(criteria))
    stopping = None
    if stops_early:
        measurement.add(Case(id="left out"), None, [missing("not_run")] * len(criteria))
        stopping = Stopping(seed=0, after=1, not_run=dict.fromkeys(criteria, 1))
    measured = measurement.measured()
    if not stops_early and ((project.trials or 1) > 1 or related or project.pass_k):  # which do not go together
        measured = _tried_again(project, criteria, counted)
    run = Run(
        id="rehearsal",
        project=project.name,
        system=SystemIdentity(name="rehearsal"),
        status="stopped_early" if stopping is not None else "complete",
        started_at="",
        criteria=criteria,
        interval=project.interval,
        stopping=stopping,
    )
    return report(run, measured, project.policy, (), ())


def _tried_again(project: Project, criteria: tuple[str, ...], counted: CountedCase) -> Measured:
    """Two cases of which each passed twice: what is computed where no value of a case is missing."""
    passed = "p" * len(criteria)
    sides = [Side(case_id, passed, counted.places, counted.amounts) for case_id in ("one", "two") for _ in range(2)]
    repeated = Repeated(criteria, project.metrics, project.pass_k, project.slices, project.min_slice_support, {})
    return repeated.measured(enumerate(sides, start=1))


def outlooks(project: Project, policy: Policy | None, cases: Cases) -> tuple[gates.Outlook, ...]:
    """What each rule of the policy could come to over these cases, none of which is run."""
    if policy is None:
        return ()
    sizes, quantiles = applicable(project, cases), {spec.id: spec.q for spec in project.metrics}
    found = [gates.outlook(rule, policy, n=sizes[rule.metric], q=quantiles.get(rule.metric)) for rule in policy.rules]
    shares = {rule.id for rule in policy.rules if isinstance(rule, IntervalThreshold) and rule.metric not in quantiles}
    supposed = _supposed(project, related=cases.related)
    return tuple(
        each._replace(text=f"{supposed}{each.text}") if each.rule in shares and each.n else each for each in found
    )


def applicable(project: Project, cases: Cases | Sequence[Case]) -> Counter[str]:
    """To how many of the cases each metric applies, which depends on nothing that the system does."""
    sizes = Counter({spec.id: len(cases) for spec in project.metrics})
    for case in cases:
        judgments = evaluators.judge(project.evaluators, Evidence(case, _not_run(case)))
        for evaluator, judgment in zip(project.evaluators, judgments, strict=True):
            sizes[evaluator.criterion] += judgment.verdict != "excluded"
    sizes.update({spec.id: sizes[spec.criterion] for spec in project.pass_k})
    return sizes


def _supposed(project: Project, *, related: bool) -> str:
    """What must be supposed to say beforehand what whole cases would settle."""
    trials = f"if the {project.trials} trials of a case always agreed" if (project.trials or 1) > 1 else ""
    cases = "if cases of a cluster were independent" if related else ""
    supposed = " and ".join(filter(None, (trials, cases)))
    return f"{supposed}: " if supposed else ""


def _not_run(case: Case) -> Attempt:
    return Attempt(case_id=case.id, error=AttemptError(kind="not_run", message="nothing is run"))
