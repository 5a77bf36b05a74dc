"""What a run would compute and what its rules could come to, with nothing run and nothing kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from oloproof import evaluators, gates
from oloproof.metrics import Measurement
from oloproof.model.case import Attempt, AttemptError, Case
from oloproof.model.evidence import Evidence
from oloproof.model.judgment import PASS, missing
from oloproof.model.project import Project
from oloproof.model.reading import Reading
from oloproof.model.run import Report, Run, SystemIdentity
from oloproof.model.stopping import Stopping
from oloproof.model.trajectory import Trajectory
from oloproof.pipeline.deciding import report
from oloproof.project import Cases


def rehearsal(project: Project, *, stops_early: bool = False) -> Report:
    """The report of a run of one made-up case that passed: what the real one will compute, nothing of it kept. With
    ``stops_early``, of one that left out another case."""
    criteria = tuple(evaluator.criterion for evaluator in project.evaluators)
    measurement = Measurement(criteria, project.metrics, project.slices, project.min_slice_support)
    measurement.add(Case(id="rehearsal"), Reading(Trajectory()), [PASS] * len(criteria))
    stopping = None
    if stops_early:
        measurement.add(Case(id="left out"), None, [missing("not_run")] * len(criteria))
        stopping = Stopping(seed=0, after=1, not_run=dict.fromkeys(criteria, 1))
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
    return report(run, measurement.measured(), project.policy, (), ())


def outlooks(project: Project, cases: Cases) -> tuple[gates.Outlook, ...]:
    """What each rule of the policy could come to over these cases, none of which is run."""
    if project.policy is None:
        return ()
    sizes, quantiles = applicable(project, cases), {spec.id: spec.q for spec in project.metrics}
    return tuple(
        gates.outlook(rule, project.policy, n=sizes[rule.metric], q=quantiles.get(rule.metric))
        for rule in project.policy.rules
    )


def applicable(project: Project, cases: Cases | Sequence[Case]) -> Counter[str]:
    """To how many of the cases each metric applies, which depends on nothing that the system does."""
    sizes = Counter({spec.id: len(cases) for spec in project.metrics})
    for case in cases:
        judgments = evaluators.judge(project.evaluators, Evidence(case, _not_run(case)))
        for evaluator, judgment in zip(project.evaluators, judgments, strict=True):
            sizes[evaluator.criterion] += judgment.verdict != "excluded"
    return sizes


def _not_run(case: Case) -> Attempt:
    return Attempt(case_id=case.id, error=AttemptError(kind="not_run", message="nothing is run"))
