"""Two runs over the same cases: pairs, what may be decided on them, and where the trajectories of a case part."""

from __future__ import annotations

from collections.abc import Collection
from typing import assert_never, get_args

from msgspec.structs import replace

from oloproof import metrics
from oloproof.errors import Problem, UsageError
from oloproof.model.collector import collector_paused
from oloproof.model.comparison import Comparison, Membership
from oloproof.model.decision import PairRule, Policy
from oloproof.model.run import Report, Run
from oloproof.model.tally import Move
from oloproof.pipeline.deciding import report
from oloproof.pipeline.parting import MOST_PARTINGS, parting_of
from oloproof.pipeline.ports import Baseline
from oloproof.store import Store


def compare(
    store: Store,
    candidate: Run,
    baseline: Baseline,
    *,
    accepted: Collection[str] = (),
    membership: Membership = "candidate",
) -> Comparison:
    """Pair a complete run with a baseline, case by case.

    Errors: UsageError for runs that cannot be compared: of two projects, without a common case, or the same run twice.
    """
    dataset = baseline.dataset_digest if isinstance(baseline, Run) else None
    changed = dataset != candidate.dataset_digest  # the same file asked the same of every case
    with collector_paused():
        now = store.sides(candidate.id, identified=changed)
        was = store.sides(baseline.id, identified=changed) if isinstance(baseline, Run) else baseline
    if now.run == was.run:
        raise UsageError(Problem("OLO619", f"run {now.run} would be compared with itself", "name another baseline"))
    if now.project != was.project:
        message = f"run {now.run} is of project {now.project!r}, and the baseline {was.run} of {was.project!r}"
        raise UsageError(Problem("OLO619", message, "compare runs of one project"))
    if not {side.case_id for side in now.cases} & {side.case_id for side in was.cases}:
        message = f"run {now.run} and the baseline {was.run} have no case in common"
        raise UsageError(Problem("OLO619", message, "compare runs over the same dataset"))
    with collector_paused():
        return metrics.compare(now, was, membership=membership, accepted=accepted)


def comparison_report(
    store: Store, candidate: Run, comparison: Comparison, policy: Policy | None, *, gated: bool
) -> Report:
    """The candidate's report with the rules that compare alone: what ``compare`` decides."""
    candidate = replace(candidate, ungated_by_choice=not gated)
    if policy is not None:
        rules = tuple(rule for rule in policy.rules if isinstance(rule, get_args(PairRule)))
        policy = replace(policy, rules=rules) if rules else None
    found = report(candidate, store.aggregates(candidate.id), policy, store.approvals(candidate.id), (), comparison)
    if policy is None and gated:
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
    found = {}
    for criterion in comparison.criteria:
        changed = (criterion.broken_cases, criterion.lost_cases, criterion.fixed_cases)
        for case_id in (name for names in changed for name in names[:MOST_PARTINGS]):
            if case_id not in found and case_id not in comparison.only_in_baseline:
                move = parting_of(store, (candidate.id, case_id, 1), (baseline.id, case_id, 1))
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
