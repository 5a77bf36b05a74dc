"""Two runs over the same cases: pairs, what may be decided on them, and where the trajectories of a case part."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import assert_never

from msgspec.structs import replace

from oloproof import metrics
from oloproof.errors import BrokenError, Problem, UsageError
from oloproof.model.alignment import Move
from oloproof.model.case import Case
from oloproof.model.collector import collector_paused
from oloproof.model.comparison import Comparison, Membership, Sides
from oloproof.model.decision import Policy
from oloproof.model.project import Project, RecordedSystem
from oloproof.model.run import Report, Run
from oloproof.pipeline.deciding import odd, report
from oloproof.pipeline.identity import judged_by
from oloproof.pipeline.parting import MOST_PARTINGS, TrialsToShow, parting_of
from oloproof.pipeline.ports import Baseline
from oloproof.store import Store


def compare(
    store: Store,
    candidate: Run,
    baseline: Baseline,
    *,
    policy: Policy | None,
    membership: Membership = "candidate",
) -> Comparison:
    """Pair a complete run with a baseline, case by case. Cases that the policy accepts as changed are no missing pairs.

    What was run again when the two were compared first counts here too.

    Errors: UsageError for runs that cannot be compared: of two projects, without a common case, of different numbers of
    trials, or the same run twice.
    """
    dataset = baseline.dataset_digest if isinstance(baseline, Run) else None
    changed = dataset != candidate.dataset_digest  # the same file asked the same of every case
    with collector_paused():
        now = sides_of(store, candidate, identified=changed)
        was = sides_of(store, baseline, identified=changed) if isinstance(baseline, Run) else baseline
    if now.run == was.run:
        raise UsageError(Problem("OLO619", f"run {now.run} would be compared with itself", "name another baseline"))
    ids = {side.case_id for side in now.cases}
    judged = dict(zip(now.criteria, now.judged_by or ("",) * len(now.criteria), strict=True))
    _refuse(was, f"run {now.run}", project=now.project, judged=judged, ids=ids)
    _refuse_other_trials(was, f"run {now.run} tried", trials=now.trials)
    with collector_paused():
        accepted = policy.accept_changed_cases if policy else ()
        found = metrics.compare(now, was, membership=membership, accepted=accepted)
    kept = store.comparison(candidate.id)
    if kept is not None and kept.baseline == found.baseline and _ids(kept) == _ids(found):
        return replace(found, reruns=kept.reruns)
    return found


def caveats(candidate: Run, baseline: Baseline) -> Iterator[str]:
    """What whoever reads a comparison of the two must know, in lines."""
    if isinstance(baseline, Sides):
        yield "a baseline file keeps no calls: compare with a run to see where they part"


def complete(run: Run) -> Run:
    """The run, if every case of it was run."""
    if run.status == "stopped_early":
        hint = "run every case of it: `oloproof run --no-stop-early`"
        raise BrokenError(f"run {run.id} stopped early, and a baseline needs every case", code="OLO653", hint=hint)
    return concluded(run)


def concluded(run: Run) -> Run:
    """The run, if it came to its end. One that stopped early did: the cases that it left out are missing pairs."""
    if not run.is_comparable:
        why = f"partial ({run.partial})" if run.partial else "one for a debugger (--in-process)"
        why = f"one of several parts: {'; '.join(run.changed)}" if run.changed else why
        what = why if run.is_concluded else run.status
        hint = "compare runs that are complete; `oloproof runs` lists them"
        raise BrokenError(f"run {run.id} is {what}", code="OLO622", hint=hint)
    return run


def _ids(comparison: Comparison) -> list[str]:
    return [criterion.id for criterion in comparison.criteria]


def sides_of(store: Store, run: Run, *, identified: bool) -> Sides:
    """The run as a comparison sees it, each case once."""
    return metrics.by_case(store.sides(run.id, identified=identified))


def _times(trials: int) -> str:
    return "once" if trials == 1 else f"{trials} times"


def refuse_incomparable(store: Store, baseline: Baseline, project: Project, cases: Iterable[Case]) -> None:
    """Before the cases are run, what would make comparing them with the baseline meaningless.

    Errors: UsageError as of :func:`compare`, which sees the run itself, and the trials of recordings too.
    """
    was = store.sides(baseline.id, identified=False) if isinstance(baseline, Run) else baseline
    judged = {evaluator.criterion: judged_by(evaluator) for evaluator in project.evaluators}
    _refuse(was, "this run", project=project.name, judged=judged, ids={case.id for case in cases})
    if project.trials is not None or not isinstance(project.system.kind, RecordedSystem):
        _refuse_other_trials(was, "this run would try", trials=project.trials or 1)


def _refuse_other_trials(was: Sides, run: str, *, trials: int) -> None:
    if trials != was.trials:
        message = f"{run} each case {_times(trials)}, and the baseline {was.run} {_times(was.trials)}"
        hint = "a case passes if all its trials do, so compare runs of equally many: --trials"
        raise UsageError(Problem("OLO617", message, hint))


def _refuse(was: Sides, run: str, *, project: str, judged: Mapping[str, str], ids: Collection[str]) -> None:
    if project != was.project:
        message = f"{run} is of project {project!r}, and the baseline {was.run} of {was.project!r}"
        raise UsageError(Problem("OLO619", message, "compare runs of one project"))
    if not any(side.case_id in ids for side in was.cases):
        message = f"{run} and the baseline {was.run} have no case in common"
        raise UsageError(Problem("OLO619", message, "compare runs over the same dataset"))
    if not metrics.comparable(judged, was):
        message = f"{run} and the baseline {was.run} have no criterion in common that is judged the same way"
        raise UsageError(
            Problem("OLO619", message, "judge the baseline's cases by the same criteria, and save it again")
        )


def comparison_report(
    store: Store, candidate: Run, comparison: Comparison, policy: Policy | None, *, gated: bool
) -> Report:
    """The candidate's report with the rules that compare alone: what ``compare`` decides."""
    candidate = replace(candidate, ungated_by_choice=not gated)
    compares = replace(policy, rules=policy.pair_rules) if policy is not None and policy.pair_rules else None
    found = report(candidate, store.aggregates(candidate.id), compares, store.approvals(candidate.id), (), comparison)
    if compares is not None:  # what `gate` decides by another rule is gated, too
        return replace(found, warnings=odd(found, policy))
    if gated:
        why = (
            "no rule of the policy compares: add one, such as"
            " {id: no-worse, metric: …, kind: non_inferiority, margin: 0.02}, or pass --no-gate"
        )
        return replace(found, gate=replace(found.gate, why=why))
    return found


def partings(store: Store, candidate: Run, baseline: Baseline, comparison: Comparison) -> dict[str, str]:
    """Where the calls of the cases that changed part, in words; nothing where the baseline is a file without them."""
    if not isinstance(baseline, Run):
        return {}
    found: dict[str, str] = {}
    shown = TrialsToShow(store, candidate), TrialsToShow(store, baseline)
    for criterion in comparison.criteria:
        changed = (criterion.broken_cases, criterion.lost_cases, criterion.fixed_cases)
        for case_id in (name for names in changed for name in names[:MOST_PARTINGS]):
            if case_id not in found and case_id not in comparison.only_in_baseline:
                now, was = (each.attempt(case_id, criterion.id) for each in shown)
                move = parting_of(store, now, was)
                if move is not None:
                    found[case_id] = _worded(move)
    return found


def _worded(move: Move) -> str:
    match move.kind:
        case "inserted":
            return f"step {move.now}: {move.tool} is new"
        case "deleted":
            return f"step {move.was} of the baseline: {move.tool} is gone"
        case "changed_arguments":
            return f"step {move.now}: {move.tool} with other arguments"
        case "same":
            return "nowhere: the calls are the same"
        case _ as never:
            assert_never(never)
