"""Cases that a change broke are run again where a rule asks for it; every re-run is judged, kept and shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from oloproof import runner
from oloproof.model.case import Attempt
from oloproof.model.comparison import Comparison, Rerun
from oloproof.model.decision import MaxNewFailures, Policy
from oloproof.model.judgment import Judgment
from oloproof.model.project import Project
from oloproof.model.run import CaseRecord, Run
from oloproof.pipeline.counting import evidence_of, verdicts_of
from oloproof.pipeline.ports import Ports, Watch
from oloproof.pipeline.redacting import Redacting, judged
from oloproof.pipeline.resuming import attempts
from oloproof.pipeline.telling import Telling
from oloproof.project import Cases
from oloproof.runner.attempted import Attempted
from oloproof.store import StoredCase, stored_case


def asked_again(policy: Policy | None, comparison: Comparison) -> tuple[frozenset[str], int]:
    """The cases that some rule wants to be run again, and how often the most demanding one does."""
    rules = [rule for rule in (policy.rules if policy else ()) if isinstance(rule, MaxNewFailures) and rule.confirm]
    broken = {criterion.id: criterion.broken_cases for criterion in comparison.criteria}
    names = frozenset(case for rule in rules for case in broken.get(rule.metric, ()))
    return names, max((rule.confirm for rule in rules), default=0)


def confirmed(
    project: Project,
    run: Run,
    comparison: Comparison,
    cases: Cases,
    kept: Mapping[tuple[str, int], CaseRecord],
    *,
    loaded: runner.LoadedSystem,
    user_judge: runner.UserJudge | None,
    ports: Ports,
    watch: Watch,
    telling: Telling,
) -> Comparison:
    """The comparison with what the re-runs came to. They are further trials of their cases: the next ones. Those that
    are ``kept`` from before the run was resumed are not made again."""
    names, times = asked_again(None if run.ungated_by_choice else project.policy, comparison)
    if not names:
        return comparison
    watch.confirming(len(names), times)
    chosen = [case for case in cases if case.id in names]
    trials = range(run.trials + 1, run.trials + 1 + times)
    tried = ((case, trial) for case in chosen for trial in trials)
    launch = runner.Launch(trials=trials, done=kept, listener=telling)
    made = attempts(tried, kept, loaded.run(chosen, launch), waited=ports.store.waiting(run.id))
    rows = list(_judged(project, run, Redacting.of(project).applied(made), user_judge))
    fresh = [row for row in rows if (row.side.case_id, row.trial) not in kept]
    ports.store.append(run.id, fresh)
    for row in fresh:
        if isinstance(row.attempt, Attempt):
            telling.tell(telling.finished(row.attempt, row.judgments))
    picks = [run.criteria.index(criterion.id) for criterion in comparison.criteria]
    codes: dict[str, list[str]] = {}
    for row in rows:
        codes.setdefault(row.side.case_id, []).append("".join([row.side.codes[at] for at in picks]))
    return replace(comparison, reruns=tuple(Rerun(case, tuple(each)) for case, each in codes.items()))


def _judged(
    project: Project, run: Run, attempted: Iterable[Attempted], user_judge: runner.UserJudge | None
) -> Iterable[StoredCase]:
    """Each re-run as it is kept: after all attempts of the run, and in none of its counts."""
    places = ("",) * len(run.slices)
    for ordinal, (item, seen) in enumerate(evidence_of(attempted, user_judge), start=run.cases * run.trials):
        judgments: Sequence[Judgment] | None = item.judgments
        if judgments is None:
            (words,) = judged(project, [(item, seen)])
            judgments = verdicts_of(project, item, words)
        yield stored_case(ordinal, item.shown_case, item.attempt, judgments, places=places)
