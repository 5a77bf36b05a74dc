"""A run that was cut short goes on: what stands is taken as it was judged, and the rest is run as it would have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from oloproof.errors import Problem, UsageError
from oloproof.model.case import Attempt, Case
from oloproof.model.decision import Policy
from oloproof.model.judgment import Judgment
from oloproof.model.project import Project
from oloproof.model.run import CaseRecord, Run
from oloproof.pipeline.ports import Ports, Resumption, rfc3339
from oloproof.pipeline.reusing import NOTHING, Reused
from oloproof.runner.attempted import Attempted
from oloproof.store import Kept, Key


class Resumed(Struct, frozen=True):
    """A run that goes on: its header as it was, what is ``stored`` of it, and what of that is made ``again``, since it
    ended with an error or waited to be made again. ``changed_too``: it goes on although something has changed."""

    was: Run
    stored: Kept
    again: frozenset[Key]
    changed_too: bool

    @property
    def kept(self) -> Kept:
        """What stands."""
        return self.stored.without(self.again)


def taken_up(resumption: Resumption, ports: Ports) -> Resumed:
    """The run, which nobody else can write from now on. Where errors are retried, a complete one too.

    Errors: UsageError when another process writes it, or nothing is missing in it.
    """
    was = ports.store.hold(resumption.run)
    if resumption.retry_errors:
        if was.stopping is not None:
            what = f"run {was.id} may stop early, and what its cases came to has decided when"
            raise UsageError(Problem("OLO419", what, "run anew: a case that is made again would be looked at twice"))
        stored = ports.store.kept(was.id)
        again = frozenset(key for key in stored if stored[key].attempt.error is not None)
        if was.is_concluded and not again:
            raise UsageError(Problem("OLO414", f"run {was.id} is complete, and no attempt ended with an error"))
        return Resumed(was, stored, again, resumption.changed_too)
    if was.is_concluded:
        ended = "is complete" if was.status == "complete" else "stopped early, since its verdict was settled"
        raise UsageError(Problem("OLO414", f"run {was.id} {ended}: there is nothing to resume"))
    stored = ports.store.kept(was.id)
    return Resumed(was, stored, stored.waiting, resumption.changed_too)


def continued(resumed: Resumed, header: Run, ports: Ports, *, config: str) -> Run:
    """The header under which the run goes on. ``header`` is what a new run would have.

    Errors: UsageError with everything that has changed since, unless it goes on ``changed_too``.
    """
    was = resumed.was
    changed = _changes(was, header)
    if changed and not resumed.changed_too:
        hint = f"run anew; or go on with `--resume {was.id} --resume-changed`, which is never gated"
        raise UsageError(Problem("OLO416", what, hint, file=config) for what in changed)
    return replace(
        header,
        id=was.id,
        started_at=was.started_at,
        asked=was.asked,
        resumed=(*was.resumed, rfc3339(ports.now())),
        changed=(*was.changed, *changed),
    )


def refuse_other_places(resumed: Resumed, header: Run, project: Project, cases: Iterable[Case], ports: Ports) -> None:
    """What cannot be gone on with, whoever asks for it: attempts that were judged by other criteria, or that would have
    another place in the run, and a run that stops by another policy.

    Errors: UsageError.
    """
    was, wrong = resumed.was, ""
    same_redaction = was.redaction == header.redaction  # what was printed and what waits is stored, too
    if same_redaction and not resumed.kept and was.status == "broken":
        return
    asked = ports.store.policy(was.id)
    if not same_redaction:
        wrong = "`redact:` takes other secrets out now than when it began"
    elif (was.criteria, was.judged_by, was.slices) != (header.criteria, header.judged_by, header.slices):
        wrong = "other criteria or slices are measured now"
    elif was.trials != header.trials:
        wrong = f"each case was to be tried {was.trials} times, and it is {header.trials} now"
    elif (was.stopping is None) != (header.stopping is None) or (was.stopping and _rules(was) != _rules(header)):
        wrong = "it could stop early by other rules than now, or in another way"
    elif was.stopping and not _decides_like(asked, project.policy):
        wrong = "it was free to stop by its own policy, and this one has other rules, bounds or levels"
    elif was.dataset_digest != header.dataset_digest and not _stand_where_they_were(resumed.kept, header, cases):
        wrong = "the cases that ran are no longer the first of the dataset, in the same order"
    if wrong:
        raise UsageError(Problem("OLO416", f"run {was.id}: {wrong}", "run anew", file=project.config))


def attempts(
    tried: Iterable[tuple[Case, int]],
    kept: Mapping[Key, CaseRecord],
    fresh: Iterator[Attempt],
    again: Mapping[Key, CaseRecord] = {},
    reused: Reused = NOTHING,
    waited: Mapping[Key, tuple[Attempt, ...]] = {},
) -> Iterator[Attempted]:
    """Every attempt in the order of ``tried``: what stands, what is ``reused``, and for the rest the next one that is
    ``fresh``, with what other runs have before it; of those that are made ``again`` the ones before go with it, and so
    do those that ``waited`` to be made again when the run was killed."""
    for case, trial in tried:
        key = (case.id, trial)
        if key in kept:
            record = kept[key]
            yield Attempted(record.case, record.attempt, judgments=_verdicts(record))
        elif key in again:
            yield _made_again(case, again[key], _after(waited.get(key, ()), next(fresh)))
        else:
            before = (*reused.before(key), *waited.get(key, ()))
            attempt = reused.attempt(key) if key in reused.taken else _after(before, next(fresh))
            yield Attempted(case, attempt, before=attempt.earlier)
    for attempt in fresh:
        raise ValueError(f"nobody asked for case {attempt.case_id!r}, trial {attempt.trial}")


def _after(before: tuple[Attempt, ...], attempt: Attempt) -> Attempt:
    return replace(attempt, earlier=(*before, *attempt.earlier)) if before else attempt


def _made_again(case: Case, before: CaseRecord, attempt: Attempt) -> Attempted:
    was = before.attempt
    if was.not_run:  # it waited to be made again when the run was stopped
        attempt = _after(was.made, attempt)
        return Attempted(case, attempt, before=attempt.earlier)
    if attempt.not_run:
        if not attempt.earlier:
            return Attempted(before.case, was, judgments=_verdicts(before))
        attempt = replace(attempt.earlier[-1], earlier=attempt.earlier[:-1])
    return Attempted(case, _after(was.made, attempt), settled=_verdicts(before), before=attempt.earlier)


def _verdicts(record: CaseRecord) -> tuple[Judgment, ...]:
    return tuple(judgment for _, judgment in record.judgments)


def _changes(was: Run, header: Run) -> list[str]:
    """What is not as it was when the run began, in sentences."""
    changed = []
    if was.config_digest != header.config_digest:
        changed.append(f"run {was.id} began under another configuration")
    if was.dataset_digest and was.dataset_digest != header.dataset_digest:
        changed.append(f"run {was.id} began on another dataset")
    if was.system.source and was.system != header.system:
        before, now = _named(was), _named(header)
        changed.append(
            f"run {was.id} began with {before}, and the system is {now}"
            if before != now
            else f"run {was.id} began with other code of the system, or on something else that it depends on"
        )
    if was.judging_code and was.judging_code != header.judging_code:
        changed.append(f"run {was.id} began with other code of the evaluators")
    return changed


def _named(run: Run) -> str:
    return " ".join(filter(None, (run.system.name, run.system.version, f"({run.system.source})")))


def _rules(run: Run) -> tuple[object, ...]:
    assert run.stopping is not None
    return run.stopping.method, run.stopping.rules, run.stopping.seed


def _decides_like(asked: Policy | None, policy: Policy | None) -> bool:
    return asked is not None and policy is not None and policy.decides_like(asked)


def _stand_where_they_were(kept: Kept, header: Run, cases: Iterable[Case]) -> bool:
    if header.stopping is not None:
        return False
    stood = dict(kept.ordinals())
    tried = ((case.id, trial) for case in cases for trial in range(1, header.trials + 1))
    found = {ordinal: key for ordinal, key in enumerate(tried) if ordinal in stood}
    return found == stood
