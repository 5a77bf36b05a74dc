"""Attempts → judgments → counts, each kept in the store as it comes."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from oloproof import evaluators, runner
from oloproof.errors import Problem, UsageError
from oloproof.metrics import ErrorGroups, Measurement, Repeated
from oloproof.model.case import Attempt, Case
from oloproof.model.collector import collector_paused
from oloproof.model.events import Event
from oloproof.model.evidence import Evidence
from oloproof.model.judgment import Judgment, missing
from oloproof.model.measured import Measured, with_vacuous
from oloproof.model.project import METADATA_PREFIX, Project
from oloproof.model.run import Run, RunStatus, TakenOver
from oloproof.pipeline.parting import MOST_PARTINGS, parting_of
from oloproof.pipeline.ports import Ports, rfc3339
from oloproof.pipeline.redacting import RedactionTally, judged, measured_as
from oloproof.pipeline.stopping import Certainty, EarlyStop
from oloproof.pipeline.telling import Telling
from oloproof.project.codes import NO_CLUSTER
from oloproof.runner.attempted import Attempted
from oloproof.store import RunDigest, Store, StoredCase, stored_case

BLOCK_CASES = 64
BLOCK_BYTES = 1 << 18

FLUSH_CASES = 256

FLUSH_S = 0.2
"""A finished case waits for its transaction no longer than this."""


SYNC_S = 1.0
"""What was stored is safe from a loss of power after this long, once more is stored."""


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
    telling: Telling,
    course: EarlyStop | Certainty | None = None,
) -> Counted:
    """Judge, measure and keep each attempt as it comes. ``course`` is asked after each whether there is to be another,
    and knows where the cases stood before they were shuffled; or it only follows which rules are settled."""
    count = _Count(project, header, course, telling)
    keeping = _Keeping(header, count, ports, telling)
    telling.flush_with(keeping.flush_if_due)
    with collector_paused():
        for item in evidence:
            keeping.add(item)
        keeping.flush()
    clusters = count.clusters
    if project.cluster is not None and not clusters and not header.partial:
        named = METADATA_PREFIX + ".".join(project.cluster)
        raise UsageError(Problem(NO_CLUSTER, f"no case has {named!r}", "correct `cluster:`", file=project.config))
    clustered = len(set(clusters.values())) < len(clusters)
    if count.trials > 1 or clustered or project.pass_k:
        measured = _by_case(project, header, clusters, ports.store)
    else:
        measured = count.measurement.measured()
    measured = replace(with_vacuous(measured, count.vacuity.criteria), errors=count.errors.groups())
    early = course if isinstance(course, EarlyStop) else None
    finished = replace(
        header,
        status=_status(early, is_whole=not count.not_run),
        finished_at=rfc3339(ports.now()),
        cases=measured.cases,
        trials=count.trials,
        clustered=clustered,
        retried=count.retried,
        redacted=count.redactions.redacted,
        reused=tuple(TakenOver(run=run, attempts=times) for run, times in count.reused.most_common()),
        digest=count.digest.hexdigest(),
        stopping=None if early is None else early.outcome(),
    )
    return Counted(finished, measured, count.vacuity.warnings())


class _Keeping:
    """Gathers attempts into blocks that are judged together, and those into transactions; what comes slowly is judged
    and stored as it comes."""

    def __init__(self, header: Run, count: _Count, ports: Ports, telling: Telling) -> None:
        self._run = header.id
        self._count = count
        self._ports = ports
        self._telling = telling
        self._block: list[tuple[Attempted, Evidence]] = []
        self._block_bytes = 0
        self._rows: list[StoredCase] = []
        self._events: list[Event] = []
        self._due = ports.monotonic() + FLUSH_S
        self._synced_at = ports.monotonic()

    def add(self, item: tuple[Attempted, Evidence]) -> None:
        """The next attempt. A block is shorter where recordings are long."""
        self._block.append(item)
        source = item[0].source
        self._block_bytes += 0 if source is None else source.length
        now = self._ports.monotonic()
        if len(self._block) >= self._count.at_once or self._block_bytes >= BLOCK_BYTES or now >= self._due:
            self._judge()
            if len(self._rows) >= FLUSH_CASES or now >= self._due:
                self.flush()

    def flush_if_due(self) -> float | None:
        """Keep what has waited long enough. In how many seconds that may be necessary again, None where nothing
        waits."""
        if not (self._block or self._rows or self._events):
            return None
        left = self._due - self._ports.monotonic()
        if left > 0:
            return left
        self.flush()
        return None

    def flush(self) -> None:
        """Judge and keep everything that is there."""
        self._judge()
        rows, self._rows = self._rows, []
        events, self._events = self._events, []
        now = self._ports.monotonic()
        self._due = now + FLUSH_S
        if rows:
            self._ports.store.append(self._run, rows, synced=now >= self._synced_at + SYNC_S)
            self._synced_at = now if now >= self._synced_at + SYNC_S else self._synced_at
        self._telling.kept(len(rows), events)

    def _judge(self) -> None:
        block, self._block, self._block_bytes = self._block, [], 0
        if block:
            rows, events = self._count.judged(block)
            self._rows += rows
            self._events += events


class _Count:
    """What is counted of a run: judgments and slices, what was vacuous, what went wrong, and how far it came."""

    def __init__(self, project: Project, header: Run, course: EarlyStop | Certainty | None, telling: Telling) -> None:
        self._project = project
        self._course = course
        self._telling = telling
        self.at_once = 1 if isinstance(course, EarlyStop) else BLOCK_CASES
        """How many attempts are judged together."""
        self.measurement = Measurement(header.criteria, project.metrics, project.slices, project.min_slice_support)
        self.vacuity = evaluators.Vacuity(project.evaluators)
        self.errors = ErrorGroups(header.criteria)
        self.redactions = RedactionTally()
        self.digest = RunDigest(header.criteria)
        self.clusters: dict[str, str] = {}
        self.trials = header.trials
        self.not_run = False
        self.retried = 0
        self.reused: Counter[str] = Counter()
        self._cases = 0

    def judged(self, block: Sequence[tuple[Attempted, Evidence]]) -> tuple[list[StoredCase], list[Event]]:
        """Judge the next attempts together: one question to all of them and then the next, since keeping the code at
        hand counts for more than keeping a trajectory there. What is to be stored of them, and told once it is."""
        seen = [each for _, each in block]
        verdicts = self._verdicts(block)
        add = self.measurement.add
        grouped = [measured_as(*pair) for pair in block]
        counted = [add(each.case, each.reading, words) for each, words in zip(grouped, verdicts, strict=True)]
        events: list[Event] = []
        for (attempted, each), words, at in zip(block, verdicts, counted, strict=True):
            self.vacuity.see(each.reading, words)
            self.errors.see(each, words)
            if attempted.judgments is None:
                events += self._telling.finished(each.attempt, words)
            if self._course is not None:
                events += self._telling.settled(self._course.see(each, words, at.amounts))
        rows = [
            stored_case(ordinal, each.case, each.attempt, words, attempted.source, places=at.places, amounts=at.amounts)
            for ordinal, (attempted, each), words, at in zip(
                self._ordinals(seen), block, verdicts, counted, strict=True
            )
        ]
        self.digest.add(rows)
        self._remember(block)
        fresh = [row for row, (attempted, _) in zip(rows, block, strict=True) if attempted.judgments is None]
        return fresh, events

    def _remember(self, block: Sequence[tuple[Attempted, Evidence]]) -> None:
        """What is told of the run as a whole."""
        for attempted, each in block:
            attempt = each.attempt
            self.redactions.see(attempted)
            self.trials = max(self.trials, attempt.trial)
            if each.error is not None and each.error.kind == "not_run":
                self.not_run = True
            if attempt.taken_from is not None:
                self.reused[attempt.taken_from] += 1
            elif attempt.earlier:
                self.retried += len(attempt.earlier)
            cluster = self._project.cluster_of(each.case)
            if cluster is not None:
                self.clusters[each.case.id] = cluster

    def _verdicts(self, block: Sequence[tuple[Attempted, Evidence]]) -> Sequence[Sequence[Judgment]]:
        """Those that the store has are never given again."""
        fresh = [pair for pair in block if pair[0].judgments is None]
        words = judged(self._project, fresh)
        if len(fresh) == len(block) and not any(attempted.settled or attempted.before for attempted, _ in block):
            return words
        rest = iter(words)
        return [
            verdicts_of(self._project, attempted, next(rest)) if attempted.judgments is None else attempted.judgments
            for attempted, _ in block
        ]

    def _ordinals(self, seen: Sequence[Evidence]) -> Iterable[int]:
        """Where the next attempts stand in the run."""
        first, self._cases = self._cases, self._cases + len(seen)
        if isinstance(self._course, EarlyStop):
            return [self._course.place_of(each.case) for each in seen]
        return range(first, self._cases)


def verdicts_of(project: Project, attempted: Attempted, words: Sequence[Judgment]) -> Sequence[Judgment]:
    """What the attempts before it had settled, and for what they left open the ``words`` on this one: no verdict is
    thrown again until it falls well.

    Of one that waits to be made again nothing is settled yet: it is judged with the one that is made.
    """
    error = attempted.attempt.error
    if error is not None and error.kind == "not_run":
        return words
    settled: Sequence[Judgment] = attempted.settled
    for before in attempted.before:
        (was,) = judged(project, [(attempted, Evidence(attempted.shown_case, before))])
        if before.error is not None and before.error.infrastructure is not None:
            was = tuple(map(_without_error, was))
        settled = _filled_in(settled, was)
    return _filled_in(settled, words)


def _without_error(judgment: Judgment) -> Judgment:
    """What is said of an attempt but for its error, which was in its way and is not the system's
    (``on_system_error: fail``)."""
    if judgment.verdict == "fail" and judgment.reason == "system_error":
        return missing("system_error")
    return judgment


def _filled_in(settled: Sequence[Judgment], words: Sequence[Judgment]) -> Sequence[Judgment]:
    if not settled:
        return words
    return [new if old.verdict == "missing" else old for old, new in zip(settled, words, strict=True)]


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
    """Each attempt with what may be looked at to judge it, user functions' verdicts included. They are not asked about
    what was judged before."""
    if user_judge is None:
        for item in attempted:
            yield item, Evidence(item.shown_case, item.attempt)
        return
    waiting: deque[Attempted] = deque()
    rest = iter(attempted)
    for item in rest:
        if item.judgments is None:
            rest = chain([item], rest)
            break
        yield item, Evidence(item.shown_case, item.attempt)

    def pairs() -> Iterator[tuple[Case, Attempt]]:
        for item in rest:
            waiting.append(item)
            if item.judgments is None:
                yield item.shown_case, item.attempt

    for verdicts in user_judge.judge(pairs()):
        while (item := waiting.popleft()).judgments is not None:
            yield item, Evidence(item.shown_case, item.attempt)
        yield item, Evidence(item.shown_case, item.attempt, verdicts)
    for item in waiting:
        yield item, Evidence(item.shown_case, item.attempt)
