"""Cases that a change broke are run again where a rule asks for it; every re-run is judged, kept and shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from oloproof import runner
from oloproof.model.case import Attempt, Case
from oloproof.model.comparison import Comparison, Rerun
from oloproof.model.decision import MOST_RERUNS, MaxNewFailures, Policy
from oloproof.model.judgment import Judgment
from oloproof.model.project import Project
from oloproof.model.run import CaseRecord, Run
from oloproof.pipeline.counting import evidence_of, verdicts_of
from oloproof.pipeline.ports import Ports, Watch
from oloproof.pipeline.redacting import Redacting, judged
from oloproof.pipeline.resuming import attempts
from oloproof.pipeline.reusing import Either, Reused
from oloproof.pipeline.telling import Telling
from oloproof.project import Cases
from oloproof.runner.attempted import Attempted
from oloproof.store import StoredCase, stored_case


class Again(Struct, frozen=True):
    """What is there to run cases again: the system, and who judges. Re-runs that are ``kept`` from before the run was
    resumed are not made again, but for those to be made ``anew``, which ended with an error; nor are those that are
    ``reused``."""

    launch: Callable[[Sequence[Case], runner.Launch], Iterator[Attempt]]
    user_judge: runner.UserJudge | None
    kept: Mapping[tuple[str, int], CaseRecord]
    anew: Mapping[tuple[str, int], CaseRecord]
    reused: Reused


def times(policy: Policy | None) -> int:
    """How often the most demanding rule has a case run again."""
    rules = policy.rules if policy else ()
    return max((rule.confirm for rule in rules if isinstance(rule, MaxNewFailures)), default=0)


def confirmed(
    project: Project,
    run: Run,
    comparison: Comparison,
    cases: Cases,
    again: Again,
    *,
    ports: Ports,
    watch: Watch,
    telling: Telling,
) -> Comparison | None:
    """The comparison with what the re-runs came to, which are further trials of their cases: the next ones. None where
    the run was stopped before all of them were made: it has come to no end. A run that may stop early launches nothing
    more once a rule has failed: there they are missing."""
    policy = None if run.ungated_by_choice else project.policy
    names, trials = _asked_again(policy, comparison), range(run.trials + 1, run.trials + 1 + times(policy))
    if not names:
        return comparison
    chosen = [(place, case) for place, case in enumerate(cases) if case.id in names]
    picks = [run.criteria.index(criterion.id) for criterion in comparison.criteria]
    if run.stopping is not None and any(settled.state == "FAIL" for settled in run.stopping.settled):
        never = tuple(["m" * len(picks)] * len(trials))
        return replace(comparison, reruns=tuple([Rerun(case.id, never) for _, case in chosen]))
    done = Either(again.kept, again.reused.taken)
    left = [case for _, case in chosen if any((case.id, trial) not in done for trial in trials)]
    if left:
        watch.confirming(len(left), len(trials))
    tried = ((case, trial) for _, case in chosen for trial in trials)
    fresh = again.launch(left, runner.Launch(trials=trials, done=done))
    made = attempts(tried, again.kept, fresh, again.anew, again.reused, waited=ports.store.waiting(run.id))
    places = (run.cases * run.trials + place * MOST_RERUNS + at for place, _ in chosen for at in range(len(trials)))
    codes: dict[str, list[str]] = {}
    is_whole = True
    for row in _judged(project, run, Redacting.of(project).applied(made), again.user_judge, places):
        codes.setdefault(row.side.case_id, []).append("".join([row.side.codes[at] for at in picks]))
        attempt = row.attempt
        if (row.side.case_id, row.trial) in again.kept or not isinstance(attempt, Attempt):
            continue
        is_whole = is_whole and not attempt.not_run
        if not attempt.not_run or attempt.earlier:
            ports.store.append(run.id, [row])  # at once: nobody may end the run over one that failed, and try anew
            telling.tell(telling.finished(attempt, row.judgments))
    if not is_whole:
        return None
    return replace(comparison, reruns=tuple(Rerun(case, tuple(each)) for case, each in codes.items()))


def _asked_again(policy: Policy | None, comparison: Comparison) -> frozenset[str]:
    """The cases that some rule wants to be run again."""
    rules = [rule for rule in (policy.rules if policy else ()) if isinstance(rule, MaxNewFailures) and rule.confirm]
    broken = {criterion.id: criterion.broken_cases for criterion in comparison.criteria}
    return frozenset(case for rule in rules for case in broken.get(rule.metric, ()))


def _judged(
    project: Project,
    run: Run,
    attempted: Iterable[Attempted],
    user_judge: runner.UserJudge | None,
    ordinals: Iterable[int],
) -> Iterable[StoredCase]:
    """Each re-run as it is kept: after all attempts of the run, and in none of its counts. Its ordinal is the same
    whatever else is run again, so that none takes another one's place when the run goes on."""
    places = ("",) * len(run.slices)
    for ordinal, (item, seen) in zip(ordinals, evidence_of(attempted, user_judge), strict=True):
        judgments: Sequence[Judgment] | None = item.judgments
        if judgments is None:
            (words,) = judged(project, [(item, seen)])
            judgments = verdicts_of(project, item, words)
        yield stored_case(ordinal, item.shown_case, item.attempt, judgments, places=places)
