"""Attempts → judgments → counts, each kept in the store as it comes."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from oloproof import evaluators, runner
from oloproof.errors import Problem, UsageError
from oloproof.metrics import Measurement, Repeated
from oloproof.model.case import Attempt, Case
from oloproof.model.collector import collector_paused
from oloproof.model.evidence import Evidence
from oloproof.model.project import METADATA_PREFIX, Project
from oloproof.model.run import Run, RunStatus
from oloproof.model.tally import Measured
from oloproof.pipeline.parting import MOST_PARTINGS, parting_of
from oloproof.pipeline.ports import Ports, Watch, rfc3339
from oloproof.pipeline.stopping import EarlyStop
from oloproof.runner.recorded import Attempted
from oloproof.store import RunDigest, Store, StoredCase, stored_case

T = TypeVar("T")

FLUSH_CASES = 256

FLUSH_S = 0.2
"""A finished case waits for its transaction no longer than this once the next one has arrived."""


class Counted(Struct, frozen=True):
    """Every attempt judged and stored: the run as it ended, its counts, and what was vacuous in it."""

    run: Run
    measured: Measured
    warnings: tuple[str, ...]


def judge_and_keep(
    project: Project,
    header: Run,
    evidence: Iterable[tuple[Attempted, Evidence]],
    ports: Ports,
    watch: Watch,
    course: EarlyStop | None = None,
) -> Counted:
    """Judge, measure and keep each attempt as it comes. ``course`` is asked after each whether there is to be another,
    and knows where the cases stood before they were shuffled."""
    measurement = Measurement(header.criteria, project.metrics, project.slices, project.min_slice_support)
    vacuity = evaluators.Vacuity(project.evaluators)
    errors = evaluators.Errors(project.evaluators)
    digest = RunDigest(header.criteria)
    clusters: dict[str, str] = {}
    trials, not_run = header.trials, 0

    def judged() -> Iterator[StoredCase]:
        # One case at a time, so that a trajectory is looked at while it is in the processor's cache and then let go.
        nonlocal trials, not_run
        for ordinal, (attempted, seen) in enumerate(evidence):
            judgments = evaluators.judge(project.evaluators, seen)
            counted = measurement.add(seen.case, seen.reading, judgments)
            vacuity.see(seen.reading, judgments)
            errors.see(seen, judgments)
            if course is not None:
                course.see(seen, judgments, counted.amounts)
            row = stored_case(
                ordinal if course is None else course.place_of(seen.case),
                attempted.case,
                attempted.attempt,
                judgments,
                attempted.source,
                places=counted.places,
                amounts=counted.amounts,
            )
            digest.add(row)
            trials = max(trials, attempted.attempt.trial)
            if (cluster := project.cluster_of(attempted.case)) is not None:
                clusters[attempted.case.id] = cluster
            not_run += seen.error is not None and seen.error.kind == "not_run"
            yield row

    with collector_paused():
        for rows in _batches(judged(), ports.monotonic):
            ports.store.append(header.id, rows)
            watch.judged(len(rows))
    if project.cluster is not None and not clusters and not header.partial:
        named = METADATA_PREFIX + ".".join(project.cluster)
        raise UsageError(Problem("OLO637", f"no case has {named!r}", "correct `cluster:`", file=project.config))
    clustered = len(set(clusters.values())) < len(clusters)
    if trials > 1 or clustered or project.pass_k:
        measured = _by_case(project, header, clusters, ports.store)
    else:
        measured = measurement.measured()
    measured = replace(measured, errors=errors.groups())
    finished = replace(
        header,
        status=_status(course, is_whole=not not_run),
        finished_at=rfc3339(ports.now()),
        cases=measured.cases,
        trials=trials,
        clustered=clustered,
        digest=digest.hexdigest(),
        stopping=None if course is None else course.outcome(),
    )
    return Counted(finished, measured, vacuity.warnings())


def _status(course: EarlyStop | None, *, is_whole: bool) -> RunStatus:
    if is_whole:
        return "complete"
    return "stopped_early" if course is not None and course.is_over else "interrupted"


def _by_case(project: Project, header: Run, clusters: Mapping[str, str], store: Store) -> Measured:
    """Count the stored attempts again, by the case that they belong to, and look up where flaky ones part."""
    repeated = Repeated(
        header.criteria, project.metrics, project.pass_k, project.slices, project.min_slice_support, clusters
    )
    measured = repeated.measured(store.attempts(header.id))
    looked_up: Counter[str] = Counter()
    flaky = []
    for each in measured.flaky:
        looked_up[each.criterion] += 1
        if looked_up[each.criterion] <= MOST_PARTINGS:
            run = header.id
            move = parting_of(store, (run, each.case, each.failing), (run, each.case, each.passing))
            each = replace(each, parting=move)
        flaky.append(each)
    return replace(measured, flaky=tuple(flaky))


def evidence_of(
    attempted: Iterable[Attempted], user_judge: runner.UserJudge | None
) -> Iterator[tuple[Attempted, Evidence]]:
    """Each attempt with what may be looked at to judge it, user functions' verdicts included."""
    if user_judge is None:
        for item in attempted:
            yield item, Evidence(item.case, item.attempt)
        return
    waiting: deque[Attempted] = deque()

    def pairs() -> Iterator[tuple[Case, Attempt]]:
        for item in attempted:
            waiting.append(item)
            yield item.case, item.attempt

    for verdicts in user_judge.judge(pairs()):
        item = waiting.popleft()
        yield item, Evidence(item.case, item.attempt, verdicts)


def _batches(items: Iterable[T], monotonic: Callable[[], float]) -> Iterator[list[T]]:
    """Lists of up to FLUSH_CASES items, shorter when they come slowly, so that slow cases are stored as they finish."""
    batch: list[T] = []
    due = monotonic() + FLUSH_S
    for item in items:
        batch.append(item)
        if len(batch) >= FLUSH_CASES or monotonic() >= due:
            yield batch
            batch = []
            due = monotonic() + FLUSH_S
    if batch:
        yield batch
