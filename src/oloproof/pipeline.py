"""The sentence: cases → attempts → judgments → metrics → decisions → report.

Read this file first. Each function is a straight line over values; the world (store, clock, dice) comes in through
:class:`Ports`. Nothing here prints, parses an option or exits.
"""

from __future__ import annotations

import gc
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from fractions import Fraction
from itertools import tee
from typing import TypeVar, assert_never

from msgspec import Struct, field
from msgspec.structs import replace

from oloproof import evaluators, gates, runner
from oloproof.errors import BrokenError, ExitCode, Problem, UsageError
from oloproof.metrics import Measurement
from oloproof.model.case import Attempt, AttemptError, Case
from oloproof.model.decision import Approval, Decision, Gate, Policy
from oloproof.model.evidence import Evidence
from oloproof.model.project import CallableSystem, Project, RecordedSystem
from oloproof.model.run import Report, Run, SystemIdentity
from oloproof.model.selection import Selection
from oloproof.model.tally import Measured
from oloproof.model.trajectory import RECORD
from oloproof.project import Cases
from oloproof.runner.recorded import Attempted, Recordings
from oloproof.store import RunDigest, Store, StoredCase, stored_case

T = TypeVar("T")

FLUSH_CASES = 256
FLUSH_S = 0.2
"""A finished case waits for its transaction no longer than this once the next one has arrived."""


class Ports(Struct, frozen=True, kw_only=True):
    """The world that a run needs: where it is kept, what time it is, and a random suffix for its name."""

    store: Store
    now: Callable[[], datetime]
    token: Callable[[], str]


class Watch:
    """What a run tells the door while it goes on. This one listens to nothing."""

    def started(self, run: Run, stop: Callable[[], None]) -> None:
        """The run has its name; ``stop`` makes it launch no further case."""

    def judged(self, count: int) -> None:
        """``count`` more cases have been judged and stored."""


class Request(Struct, frozen=True, kw_only=True):
    """How this run departs from what the project says."""

    selection: Selection = field(default_factory=Selection)
    gated: bool = True
    in_process: bool = False


# --- run and judge: attempts come from a worker or from files; the rest is the same -------------------------------


def run(project: Project, cases: Cases, request: Request, ports: Ports, watch: Watch) -> Report:
    """Run the project's callable system over its cases, judge, measure and decide.

    Errors: UsageError when the system is not what the project says; BrokenError when it fails to load.
    """
    with (
        runner.load(project, in_process=request.in_process) as loaded,
        _user_judge(project) as user_judge,
    ):
        chosen, asked = tee(request.selection.of(cases))
        header = replace(
            _header(project, request, ports, _agreed(project, loaded.identity)),
            cases=sum(1 for _ in request.selection.of(cases)) if request.selection else len(cases),
            dataset_digest=cases.digest,
            in_process=request.in_process,
        )
        ports.store.begin(header)
        with _status_kept(ports, header):
            watch.started(header, loaded.stop)
            attempts = zip(chosen, loaded.run(asked), strict=True)
            attempted = (Attempted(case, attempt) for case, attempt in attempts)
            return _conclude(project, header, _evidence(attempted, user_judge), ports, watch, cases.warnings)


def judge(project: Project, cases: Cases | None, request: Request, ports: Ports, watch: Watch) -> Report:
    """Judge trajectories recorded earlier. Without a dataset (``cases`` None) they are their own."""
    assert isinstance(project.system.kind, RecordedSystem)
    recordings = Recordings(project, project.system.kind, None if cases is None else list(cases))
    system = SystemIdentity(
        name=project.system.name or project.name, version=project.system.version, source=recordings.source
    )
    with _user_judge(project) as user_judge:
        header = replace(
            _header(project, request, ports, system),
            own_dataset=cases is None,
            expected_cases=project.expected_cases,
            dataset_digest=recordings.digest if cases is None else cases.digest,
        )
        ports.store.begin(header)
        with _status_kept(ports, header):
            watch.started(header, recordings.stop)
            evidence = _evidence(_asked_for(recordings.attempts(), request.selection, cases), user_judge)
            return _conclude(project, header, evidence, ports, watch, () if cases is None else cases.warnings)


def _conclude(
    project: Project,
    header: Run,
    evidence: Iterable[tuple[Attempted, Evidence]],
    ports: Ports,
    watch: Watch,
    warnings: tuple[str, ...],
) -> Report:
    """Judge, measure and keep each attempt as it comes; then decide."""
    measurement = Measurement(header.criteria, project.metrics, project.slices, project.min_slice_support)
    vacuity = evaluators.Vacuity(project.evaluators)
    digest = RunDigest(header.criteria)
    trials, not_run = 1, 0

    def judged() -> Iterator[StoredCase]:
        # One case at a time, so that a trajectory is looked at while it is in the processor's cache and then let go.
        nonlocal trials, not_run
        for ordinal, (attempted, seen) in enumerate(evidence):
            judgments = evaluators.judge(project.evaluators, seen)
            measurement.add(seen.case, seen.reading, judgments)
            vacuity.see(seen.reading, judgments)
            row = stored_case(ordinal, attempted.case, attempted.attempt, judgments, attempted.source)
            digest.add(row)
            trials = max(trials, attempted.attempt.trial)
            not_run += seen.error is not None and seen.error.kind == "not_run"
            yield row

    with _garbage_collector_paused():
        for rows in _batches(judged()):
            ports.store.append(header.id, rows)
            watch.judged(len(rows))
    measured = measurement.measured()
    finished = replace(
        header,
        status="interrupted" if not_run else "complete",
        finished_at=_rfc3339(ports.now()),
        cases=measured.cases,
        trials=trials,
        digest=digest.hexdigest(),
    )
    policy = None if finished.ungated_by_choice else project.policy
    told = (*project.warnings, *warnings, *vacuity.warnings())
    ports.store.finish(finished, measured, policy, told)
    return report(finished, measured, policy, (), told)


# --- gate and inspect: everything that is needed was stored --------------------------------------------------------


def stored_report(store: Store, header: Run, policy: Policy | None) -> Report:
    """The report of a stored run under ``policy``, from its aggregates alone: no case is read again."""
    if header.status == "running":
        raise BrokenError(
            f"run {header.id} was started and never finished",
            code="OLO604",
            hint="run it again; `oloproof runs` shows the runs that are complete",
        )
    return report(header, store.aggregates(header.id), policy, store.approvals(header.id), store.warnings(header.id))


def gate(header: Run, policy: Policy | None, ports: Ports, *, approve: tuple[str, ...], by: str) -> Report:
    """Decide a stored run under ``policy``, after noting that ``by`` approves the rules in ``approve``."""
    before = stored_report(ports.store, header, policy)
    if not approve:
        return before
    states = {decision.rule: decision.state for decision in before.decisions}
    refused = [rule for rule in approve if states.get(rule) != "MANUAL_REVIEW"]
    if refused:
        raise UsageError(
            Problem(
                None, 0, 0, "OLO608", f"rule {rule!r} is {states.get(rule, 'not in the policy')}, not MANUAL_REVIEW"
            )
            for rule in refused
        )
    for rule in approve:
        approval = Approval(rule=rule, by=by, at=_rfc3339(ports.now()), run_digest=header.digest)
        ports.store.approve(header.id, approval)
    return stored_report(ports.store, header, policy)


def stored_gate(store: Store, header: Run) -> Gate | None:
    """The verdict that a stored run ended with; None when it concluded nothing."""
    return None if header.finished_at is None else stored_report(store, header, store.policy(header.id)).gate


def report(
    header: Run, measured: Measured, policy: Policy | None, approvals: tuple[Approval, ...], told: tuple[str, ...]
) -> Report:
    """Decide, and keep it all together."""
    decisions = gates.decide(measured, policy, approvals, header.digest) if policy else ()
    return Report(
        run=header,
        measured=measured,
        policy=policy,
        decisions=decisions,
        gate=_gate(header, policy, decisions),
        approvals=approvals,
        warnings=(*told, *gates.warnings(measured, policy, decisions)),
    )


def _gate(header: Run, policy: Policy | None, decisions: tuple[Decision, ...]) -> Gate:
    """The verdict on the run: the policy's where the run may be gated at all, otherwise why it may not."""
    if header.status != "complete":
        why = f"the run is {header.status}: what was not run is missing"
        return Gate(outcome="NOT_GATED", exit_code=ExitCode.BROKEN, why=why)
    if header.ungated_by_choice:
        return Gate(outcome="NOT_GATED", exit_code=ExitCode.ALLOW, why="no gate was asked for")
    why = _why_not_gated(header, policy)
    if why or policy is None:
        return Gate(outcome="NOT_GATED", exit_code=ExitCode.INSUFFICIENT_EVIDENCE, why=why)
    return gates.verdict(decisions, policy)


def _why_not_gated(header: Run, policy: Policy | None) -> str:
    if header.partial:
        return f"a partial run ({header.partial}) reports and never gates"
    if header.in_process:
        return "a run with --in-process reports and never gates"
    if not header.cases:
        return "no case ran"
    if policy is None:
        return "there is no policy: write release.yaml beside the configuration, or `policy: none` to go without"
    if header.trials > 1:
        return f"up to {header.trials} trials of one case were judged, and trials of one case are not independent"
    if header.own_dataset and header.expected_cases is None:
        return "the recordings are their own dataset: write `cases: N`, the number that must be there"
    if header.own_dataset and header.expected_cases != header.cases:
        return f"`cases: {header.expected_cases}` must be there, and {header.cases} were recorded"
    return ""


def outlooks(project: Project, cases: Cases) -> tuple[gates.Outlook, ...]:
    """What each rule of the policy could come to over these cases, none of which is run."""
    if project.policy is None:
        return ()
    applicable = Counter[str]()
    for case in cases:
        judgments = evaluators.judge(project.evaluators, Evidence(case, _not_run(case)))
        for evaluator, judgment in zip(project.evaluators, judgments, strict=True):
            applicable[evaluator.criterion] += judgment.verdict != "excluded"
    quantiles = {spec.id: Fraction(spec.quantile) for spec in project.metrics}
    return tuple(
        gates.outlook(
            rule,
            project.policy,
            n=len(cases) if rule.metric in quantiles else applicable[rule.metric],
            q=quantiles.get(rule.metric),
        )
        for rule in project.policy.rules
    )


def _not_run(case: Case) -> Attempt:
    return Attempt(case_id=case.id, error=AttemptError(kind="not_run", message="nothing is run"))


# --- the parts of the sentence -------------------------------------------------------------------------------------


def _header(project: Project, request: Request, ports: Ports, system: SystemIdentity) -> Run:
    now = ports.now()
    return Run(
        id=ports.store.new_run_id(now, ports.token()),
        project=project.name,
        system=system,
        status="running",
        started_at=_rfc3339(now),
        criteria=tuple(evaluator.criterion for evaluator in project.evaluators),
        slices=tuple(spec.name for spec in project.slices),
        interval=project.interval,
        config_digest=project.config_digest,
        partial=str(request.selection),
        ungated_by_choice=project.policy_none or not request.gated,
    )


def _agreed(project: Project, declared: runner.Declared) -> SystemIdentity:
    """The system's identity from the configuration and the decorator, which may both speak but not disagree."""
    spec = project.system
    problems = [
        Problem(
            project.config,
            0,
            0,
            "OLO410",
            f"system.{key} is {configured!r} here and {said!r} in the decorator",
            "say it in one place only, or the same in both",
        )
        for key, configured, said in (
            ("name", spec.name, declared.name),
            ("version", spec.version, declared.version),
            ("records", spec.records, declared.records),
        )
        if configured is not None and said is not None and configured != said
    ]
    if not problems and RECORD not in (*(spec.records or ()), *(declared.records or ())):
        problems = [
            Problem(
                project.config,
                0,
                0,
                "OLO411",
                f"{reader} reads trajectories, and the system declares no record of them",
                f"record them and write `records: [{RECORD}]` under `system:` or in @system(...)",
            )
            for reader in _trajectory_readers(project)
        ][:1]
    if problems:
        raise UsageError(problems)
    match spec.kind:
        case CallableSystem(target=target):
            source = f"callable {target}"
        case RecordedSystem(patterns=patterns):
            source = f"recorded {' '.join(patterns)}"
        case _ as never:
            assert_never(never)
    return SystemIdentity(
        name=spec.name or declared.name or source.split(":")[-1],
        version=spec.version or declared.version,
        source=source,
    )


def _trajectory_readers(project: Project) -> Iterator[str]:
    """What is configured and cannot be answered without trajectories."""
    yield from (evaluator.criterion for evaluator in project.evaluators if evaluator.reads == "trajectory")
    yield from (metric.id for metric in project.metrics)
    yield from (f"slice {spec.name}" for spec in project.slices if spec.kind != "metadata")


def _user_judge(project: Project) -> AbstractContextManager[runner.UserJudge | None]:
    return runner.evaluation_worker(project) if project.user_evaluators else nullcontext()


def _asked_for(attempted: Iterable[Attempted], selection: Selection, cases: Cases | None) -> Iterator[Attempted]:
    """What the selection leaves of the recordings. All of them are read, so that what is wrong with one is told."""
    if not str(selection):
        yield from attempted
        return
    known = list(attempted)
    chosen = {case.id for case in selection.of((item.case for item in known) if cases is None else cases)}
    yield from (item for item in known if item.case.id in chosen)


def _evidence(
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


def _batches(items: Iterable[T]) -> Iterator[list[T]]:
    """Lists of up to FLUSH_CASES items, shorter when they come slowly, so that slow cases are stored as they finish."""
    batch: list[T] = []
    due = time.monotonic() + FLUSH_S
    for item in items:
        batch.append(item)
        if len(batch) >= FLUSH_CASES or time.monotonic() >= due:
            yield batch
            batch = []
            due = time.monotonic() + FLUSH_S
    if batch:
        yield batch


@contextmanager
def _garbage_collector_paused() -> Iterator[None]:
    """Decoded records hold no cycles, and scanning them again and again costs several times what judging does."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def _status_kept(ports: Ports, header: Run) -> Iterator[None]:
    """However a run ends, the store says how: refused input leaves no run behind, a fault leaves a broken one."""
    try:
        yield
    except UsageError:
        ports.store.discard(header.id)
        raise
    except KeyboardInterrupt:
        ports.store.set_status(header.id, "interrupted")
        raise
    except Exception:
        ports.store.set_status(header.id, "broken")
        raise


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
