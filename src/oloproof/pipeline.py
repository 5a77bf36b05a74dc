"""The sentence: cases → attempts → judgments → metrics → decisions → report.

Read this file first. Each function is a straight line over values; the world (store, clock, dice) comes in through
:class:`Ports`. Nothing here prints, parses an option or exits.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from itertools import tee
from typing import TypeVar, assert_never, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from oloproof import evaluators, gates, metrics, runner
from oloproof.errors import BrokenError, ExitCode, Problem, UsageError
from oloproof.metrics import Measurement
from oloproof.model.case import Attempt, AttemptError, Case
from oloproof.model.collector import collector_paused
from oloproof.model.comparison import Comparison, Membership, Sides
from oloproof.model.decision import Approval, Decision, Gate, PairRule, Policy
from oloproof.model.evidence import Evidence
from oloproof.model.judgment import PASS
from oloproof.model.project import CallableSystem, Project, RecordedSystem, trajectory_readers
from oloproof.model.reading import Reading
from oloproof.model.run import Report, Run, SystemIdentity
from oloproof.model.selection import Selection
from oloproof.model.tally import Measured
from oloproof.model.trajectory import RECORD, Step, Trajectory
from oloproof.project import Cases
from oloproof.runner.recorded import Attempted, Recordings
from oloproof.store import RunDigest, Store, StoredCase, new_run_id, stored_case

T = TypeVar("T")

FLUSH_CASES = 256
MOST_PARTINGS = 20
"""Cases a criterion of which it is looked up where their trajectories part."""

FLUSH_S = 0.2
"""A finished case waits for its transaction no longer than this once the next one has arrived."""


class Ports(Struct, frozen=True, kw_only=True):
    """The world that a run needs: where it is kept, what time it is (``monotonic`` in seconds from any moment, as a
    stopwatch shows it), and a random suffix for its name."""

    store: Store
    now: Callable[[], datetime]
    monotonic: Callable[[], float]
    token: Callable[[], str]


class Watch:
    """What a run tells the door while it goes on. This one listens to nothing."""

    def started(self, run: Run, stop: Callable[[], None]) -> None:
        """The run has its name; ``stop`` makes it launch no further case."""

    def judged(self, count: int) -> None:
        """``count`` more cases have been judged and stored."""


Baseline = Run | Sides
"""What a run is compared with: another one in the store, or one that a file holds."""


class Request(Struct, frozen=True, kw_only=True):
    """How this run departs from what the project says. ``concurrency`` None leaves it to the project; ``baseline`` None
    compares with nothing."""

    selection: Selection = field(default_factory=Selection)
    concurrency: int | None = None
    gated: bool = True
    in_process: bool = False
    baseline: Baseline | None = None


# --- run and judge: attempts come from a worker or from files; the rest is the same -------------------------------


def run(project: Project, cases: Cases | None, request: Request, ports: Ports, watch: Watch) -> Report:
    """Run the project's system over its cases, or read what was recorded of it; judge, measure and decide.

    Errors: UsageError when the system is not what the project says; BrokenError when it fails to load.
    """
    match project.system.kind:
        case CallableSystem() as system:
            if cases is None:
                raise ValueError("a callable is run on the cases of a dataset")
            return _run(project, system, cases, request, ports, watch)
        case RecordedSystem() as system:
            return _judge(project, system, cases, request, ports, watch)
        case _ as never:
            assert_never(never)


def _run(
    project: Project, system: CallableSystem, cases: Cases, request: Request, ports: Ports, watch: Watch
) -> Report:
    if request.concurrency is not None:
        kind = replace(system, concurrency=request.concurrency)
        project = replace(project, system=replace(project.system, kind=kind))
    with ExitStack() as workers:
        with _failure_kept(project, request, ports):
            loaded = workers.enter_context(runner.load(project, in_process=request.in_process))
            user_judge = workers.enter_context(_user_judge(project))
        printed = _Printed(loaded, user_judge)
        chosen, asked = tee(request.selection.of(cases))
        header = replace(
            _header(project, request, ports, _agreed(project, loaded.identity)),
            cases=sum(1 for _ in request.selection.of(cases)) if request.selection else len(cases),
            dataset_digest=cases.digest,
            in_process=request.in_process,
        )
        ports.store.begin(header)
        with _status_kept(ports, header, printed):
            watch.started(header, loaded.stop)
            attempts = zip(chosen, loaded.run(asked), strict=True)
            attempted = (Attempted(case, attempt) for case, attempt in attempts)
            counted = _counted(project, header, _evidence(attempted, user_judge), ports, watch)
            workers.close()  # what they print as they end belongs to their log
            return _conclude(project, counted, printed.log, ports, cases.warnings, request.baseline)


def _judge(
    project: Project, system: RecordedSystem, cases: Cases | None, request: Request, ports: Ports, watch: Watch
) -> Report:
    """Without a dataset (``cases`` None) the recordings are their own."""
    recordings = Recordings(project, system, None if cases is None else list(cases))
    identity = _configured(project, recordings.source)
    with ExitStack() as workers:
        with _failure_kept(project, request, ports):
            user_judge = workers.enter_context(_user_judge(project))
        printed = _Printed(user_judge)
        header = replace(
            _header(project, request, ports, identity),
            own_dataset=cases is None,
            expected_cases=project.expected_cases,
            dataset_digest=recordings.digest if cases is None else cases.digest,
        )
        ports.store.begin(header)
        with _status_kept(ports, header, printed):
            watch.started(header, recordings.stop)
            evidence = _evidence(_asked_for(recordings.attempts(), request.selection, cases), user_judge)
            counted = _counted(project, header, evidence, ports, watch)
            if recordings.interrupted:  # also where every case of the dataset had one recording that was read
                counted = replace(counted, run=replace(counted.run, status="interrupted"))
            workers.close()
            told = (*(() if cases is None else cases.warnings), *recordings.warnings)
            return _conclude(project, counted, printed.log, ports, told, request.baseline)


class _Counted(Struct, frozen=True):
    """Every attempt judged and stored: the run as it ended, its counts, and what was vacuous in it."""

    run: Run
    measured: Measured
    warnings: tuple[str, ...]


def _counted(
    project: Project, header: Run, evidence: Iterable[tuple[Attempted, Evidence]], ports: Ports, watch: Watch
) -> _Counted:
    """Judge, measure and keep each attempt as it comes."""
    measurement = Measurement(header.criteria, project.metrics, project.slices, project.min_slice_support)
    vacuity = evaluators.Vacuity(project.evaluators)
    errors = evaluators.Errors(project.evaluators)
    digest = RunDigest(header.criteria)
    trials, not_run = 1, 0

    def judged() -> Iterator[StoredCase]:
        # One case at a time, so that a trajectory is looked at while it is in the processor's cache and then let go.
        nonlocal trials, not_run
        for ordinal, (attempted, seen) in enumerate(evidence):
            judgments = evaluators.judge(project.evaluators, seen)
            counted = measurement.add(seen.case, seen.reading, judgments)
            vacuity.see(seen.reading, judgments)
            errors.see(seen, judgments)
            row = stored_case(
                ordinal,
                attempted.case,
                attempted.attempt,
                judgments,
                attempted.source,
                places=counted.places,
                amounts=counted.amounts,
            )
            digest.add(row)
            trials = max(trials, attempted.attempt.trial)
            not_run += seen.error is not None and seen.error.kind == "not_run"
            yield row

    with collector_paused():
        for rows in _batches(judged(), ports.monotonic):
            ports.store.append(header.id, rows)
            watch.judged(len(rows))
    measured = replace(measurement.measured(), errors=errors.groups())
    finished = replace(
        header,
        status="interrupted" if not_run else "complete",
        finished_at=_rfc3339(ports.now()),
        cases=measured.cases,
        trials=trials,
        digest=digest.hexdigest(),
    )
    return _Counted(finished, measured, vacuity.warnings())


def _conclude(
    project: Project,
    counted: _Counted,
    log: str,
    ports: Ports,
    warnings: tuple[str, ...],
    baseline: Baseline | None,
) -> Report:
    """Decide, and keep what was concluded."""
    finished = replace(counted.run, log_lines=log.rstrip("\n").count("\n") + 1 if log.strip() else 0)
    policy = None if finished.ungated_by_choice else project.policy
    warnings = (*project.warnings, *warnings, *counted.warnings)
    ports.store.finish(finished, counted.measured, policy, warnings=warnings, log=log)
    comparison = None
    if baseline is not None and finished.status == "complete" and not finished.partial:
        accepted = policy.accept_changed_cases if policy else ()
        comparison = compare(ports.store, finished, baseline, accepted=accepted)
        ports.store.keep_comparison(finished.id, comparison)
    return report(finished, counted.measured, policy, (), warnings, comparison)


def rehearsal(project: Project) -> Report:
    """The report of a run of one made-up case that passed: what the real one will compute, nothing of it kept."""
    criteria = tuple(evaluator.criterion for evaluator in project.evaluators)
    measurement = Measurement(criteria, project.metrics, project.slices, project.min_slice_support)
    measurement.add(Case(id="rehearsal"), Reading(Trajectory()), [PASS] * len(criteria))
    run = Run(
        id="rehearsal",
        project=project.name,
        system=SystemIdentity(name="rehearsal"),
        status="complete",
        started_at="",
        criteria=criteria,
        interval=project.interval,
    )
    return report(run, measurement.measured(), project.policy, (), ())


# --- gate and inspect: everything that is needed was stored --------------------------------------------------------


def stored_report(store: Store, header: Run, policy: Policy | None) -> Report:
    """The report of a stored run under ``policy``, from its aggregates alone: no case is read again."""
    if header.status == "running":
        raise BrokenError(
            f"run {header.id} was started and never finished",
            code="OLO604",
            hint="run it again; `oloproof runs` shows the runs that are complete",
        )
    comparison, warnings = store.comparison(header.id), store.warnings(header.id)
    if comparison is not None and not set(comparison.accepted) <= set(policy.accept_changed_cases if policy else ()):
        told = "the comparison accepted changed cases that the policy does not (any more): compare again"
        comparison, warnings = None, (*warnings, told)
    return report(header, store.aggregates(header.id), policy, store.approvals(header.id), warnings, comparison)


def gate(header: Run, project: Project | None, ports: Ports, *, approve: tuple[str, ...], by: str) -> Report:
    """Decide a stored run under the project's policy (``project`` None: under the one that was stored with it), after
    noting that ``by`` approves the rules in ``approve``. Who asks for a gate gets one, also of a run without.

    Errors: UsageError when the run was judged with another configuration, or a rule does not wait for approval.
    """
    if project is None:
        policy, by_choice = ports.store.policy(header.id), False
    else:
        _refuse_other_configuration(header, project)
        policy, by_choice = project.policy, project.policy_none
    header = replace(header, ungated_by_choice=by_choice)
    before = stored_report(ports.store, header, policy)
    if not approve:
        return before
    states = {decision.rule: decision.state for decision in before.decisions}
    refused = [rule for rule in approve if states.get(rule) != "MANUAL_REVIEW"]
    if refused:
        raise UsageError(
            Problem("OLO608", f"rule {rule!r} is {states.get(rule, 'not in the policy')}, not MANUAL_REVIEW")
            for rule in refused
        )
    assert before.policy is not None  # some rule waits for approval
    rules = {rule.id: rule for rule in before.policy.rules}
    for decision in before.decisions:
        if decision.rule in approve:
            digest = gates.approval_digest(
                header.digest,
                rules[decision.rule],
                decision.finding,
                policy=before.policy,
                comparison=before.comparison,
            )
            approval = Approval(rule=decision.rule, by=by, at=_rfc3339(ports.now()), run_digest=digest)
            ports.store.approve(header.id, approval)
    return stored_report(ports.store, header, policy)


def _refuse_other_configuration(header: Run, project: Project) -> None:
    if header.config_digest != project.config_digest:
        stored, given = header.config_digest[:12], project.config_digest[:12]
        message = f"run {header.id} was judged with configuration {stored}; this one is {given}"
        hint = "run again, or decide with what was stored: --as-judged"
        raise UsageError(Problem("OLO606", message, hint, file=project.config))


def stored_gate(store: Store, header: Run) -> Gate | None:
    """The verdict that a stored run ended with; None when it concluded nothing that can be read."""
    if header.finished_at is None:
        return None
    try:
        return stored_report(store, header, store.policy(header.id)).gate
    except BrokenError:  # one damaged run does not hide the others
        return None


def report(
    header: Run,
    measured: Measured,
    policy: Policy | None,
    approvals: tuple[Approval, ...],
    warnings: tuple[str, ...],
    comparison: Comparison | None = None,
) -> Report:
    """Decide, and keep it all together."""
    decisions = gates.decide(measured, policy, approvals, header.digest, comparison) if policy else ()
    return Report(
        run=header,
        measured=measured,
        policy=policy,
        decisions=decisions,
        gate=_gate(header, policy, decisions),
        approvals=approvals,
        warnings=(*warnings, *gates.warnings(measured, policy, decisions)),
        comparison=comparison,
    )


def _gate(header: Run, policy: Policy | None, decisions: tuple[Decision, ...]) -> Gate:
    """The verdict on the run: the policy's where the run may be gated at all, otherwise why it may not."""
    if header.status != "complete":
        why = f"the run is {header.status}: what was not run is missing"
        return Gate(outcome="NOT_GATED", exit_code=ExitCode.BROKEN, why=why)
    if header.ungated_by_choice and header.cases:
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
    quantiles = {spec.id: spec.q for spec in project.metrics}
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


# --- two runs over the same cases ------------------------------------------------------------------------------------


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
                now, was = (_calls(store, run, case_id) for run in (candidate, baseline))
                move = None if now is None or was is None else metrics.parting(now, was)
                found[case_id] = "nowhere: the calls are the same" if move is None else _worded(move)
    return found


def _calls(store: Store, run: Run, case_id: str) -> list[Step] | None:
    try:
        trajectory = store.case(run.id, case_id).attempt.trajectory
    except BrokenError:  # the recorded file is not what it was; where the calls part is not worth the comparison
        return None
    return None if trajectory is None else Reading(trajectory).calls


def _worded(move: metrics.Move) -> str:
    match move.kind:
        case "inserted":
            return f"step {move.now}: {move.tool} is new"
        case "deleted":
            return f"step {move.was} of the baseline: {move.tool} is gone"
        case "changed_arguments":
            return f"step {move.now}: {move.tool} with other arguments"
        case "same":
            return "nowhere"
        case _ as never:
            assert_never(never)


# --- the parts of the sentence -------------------------------------------------------------------------------------


def _header(project: Project, request: Request, ports: Ports, system: SystemIdentity) -> Run:
    now = ports.now()
    return Run(
        id=new_run_id(now, ports.token()),
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


def _configured(project: Project, source: str = "") -> SystemIdentity:
    """The system's identity as far as the configuration gives it, where no code has declared one."""
    return SystemIdentity(name=project.system.name or project.name, version=project.system.version, source=source)


def _agreed(project: Project, declared: runner.Declared) -> SystemIdentity:
    """The system's identity from the configuration and the decorator, which may both speak but not disagree."""
    spec = project.system
    problems = [
        Problem(
            "OLO410",
            f"system.{key} is {configured!r} here and {said!r} in the decorator",
            "say it in one place only, or the same in both",
            file=project.config,
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
                "OLO411",
                f"{reader} reads trajectories, and the system declares no record of them",
                f"record them and write `records: [{RECORD}]` under `system:` or in @system(...)",
                file=project.config,
            )
            for reader in trajectory_readers(project.evaluators, project.metrics, project.slices)
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


def _user_judge(project: Project) -> AbstractContextManager[runner.UserJudge | None]:
    return runner.evaluation_worker(project) if project.user_evaluators else nullcontext()


def _asked_for(attempted: Iterable[Attempted], selection: Selection, cases: Cases | None) -> Iterator[Attempted]:
    """What the selection leaves of the recordings. All of them are read, so that what is wrong with one is told."""
    if not selection:
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


class _Printed:
    """What user code prints outside of any case: while it is loaded, as it ends, and in evaluators."""

    def __init__(self, *workers: runner.LoadedSystem | runner.UserJudge | None) -> None:
        self._workers = [worker for worker in workers if worker is not None]

    @property
    def log(self) -> str:
        """All of it so far, each worker's after the other's."""
        return "".join(worker.log for worker in self._workers)


@contextmanager
def _failure_kept(project: Project, request: Request, ports: Ports) -> Iterator[None]:
    """User code that exists and fails to load is a run that broke: without it, ``latest`` would mean an older one."""
    try:
        yield
    except BrokenError:
        ports.store.begin(replace(_header(project, request, ports, _configured(project)), status="broken"))
        raise


@contextmanager
def _status_kept(ports: Ports, header: Run, printed: _Printed) -> Iterator[None]:
    """However a run ends, the store says how. A run that has started is never forgotten, whatever became of it:
    ``latest`` would mean an older one, and its verdict."""
    try:
        yield
    except KeyboardInterrupt:
        ports.store.set_status(header.id, "interrupted", log=printed.log)
        raise
    except Exception:
        with suppress(BrokenError):  # the fault may be the store's own; what is told is what happened first
            ports.store.set_status(header.id, "broken", log=printed.log)
        raise


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
