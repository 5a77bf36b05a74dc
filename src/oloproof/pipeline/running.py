"""Run and judge: attempts come from a worker or from files, and the rest of the sentence is the same for both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from itertools import tee
from typing import NamedTuple

from msgspec.structs import replace

from oloproof import runner
from oloproof.errors import BrokenError, Problem, UsageError, counted
from oloproof.model.case import Attempt, Case
from oloproof.model.comparison import Comparison
from oloproof.model.project import LiveSystem, Project, RecordedSystem
from oloproof.model.run import CaseRecord, Report, Run
from oloproof.model.selection import Selection
from oloproof.pipeline.budget import Spending
from oloproof.pipeline.comparing import compare
from oloproof.pipeline.confirming import Again, confirmed, times
from oloproof.pipeline.counting import Counted, evidence_of, judge_and_keep
from oloproof.pipeline.deciding import report
from oloproof.pipeline.identity import agreed_identity, configured_identity, run_header
from oloproof.pipeline.ports import Baseline, Ports, Request, Watch
from oloproof.pipeline.redacting import Redacting, problems_told
from oloproof.pipeline.resuming import Resumed, attempts, continued, refuse_other_places, taken_up
from oloproof.pipeline.reusing import NOTHING, Either, Own, Reused, reusable
from oloproof.pipeline.stopping import CANNOT_STOP_EARLY, EarlyStop, Plan, certainty, plan, told, wished
from oloproof.pipeline.telling import Telling
from oloproof.project import Cases
from oloproof.runner.attempted import Attempted
from oloproof.runner.recorded import Recordings
from oloproof.store import Key, Store


def run(project: Project, cases: Cases | None, request: Request, ports: Ports, watch: Watch) -> Report:
    """Run the project's system over its cases, or read what was recorded of it; judge, measure and decide.

    Errors: UsageError when the system is not what the project says; BrokenError when it fails to load.
    """
    with problems_told(project):
        match project.system.kind:
            case RecordedSystem() as system:
                if request.resume is not None:
                    hint = "`oloproof judge` reads all of them again"
                    raise UsageError(Problem("OLO418", "recordings are not run: there is nothing to resume", hint))
                return _judge(project, system, cases, request, ports, watch)
            case system:
                if cases is None:
                    raise ValueError("a live system is run on the cases of a dataset")
                return _run(project, system, cases, request, ports, watch)


def _run(project: Project, system: LiveSystem, cases: Cases, request: Request, ports: Ports, watch: Watch) -> Report:
    resumed = None if request.resume is None else taken_up(request.resume, ports)
    if resumed is not None and resumed.was.stopping is not None:
        request = replace(request, stop_early=True, seed=resumed.was.stopping.seed)
    project = _at_a_time(project, system, request.concurrency)
    planned = _planned(project, cases, request, ports)
    certain = certainty(project, cases, request) if planned is None and watch.listens else None
    if planned is not None:
        project = _at_a_time(project, system, planned.concurrency)
    redacting = Redacting.of(project)
    redacting.refuse_cases(cases)
    with ExitStack() as workers:
        with nullcontext() if resumed else _failure_kept(project, request, ports):
            loaded = workers.enter_context(ports.code.load(project, in_process=request.in_process))
            user_judge = workers.enter_context(_user_judge(project, ports))
        before = "" if resumed is None else ports.store.log(resumed.was.id)
        printed = _Printed(redacting, loaded, user_judge, before=before)
        chosen, asked = tee(request.selection.of(cases) if planned is None else planned.cases)
        header = replace(
            run_header(project, request, ports, agreed_identity(project, loaded.identity)),
            cases=sum(1 for _ in request.selection.of(cases)) if request.selection else len(cases),
            dataset_digest=cases.digest,
            judging_code="" if user_judge is None else user_judge.code,
            in_process=request.in_process,
            stopping=None if planned is None else planned.stopping,
        )
        entered = _entered(header, resumed, project, request, cases, ports)
        header, kept, again, reused, waited = entered
        telling = _telling(project, header, request, watch)
        telling.keep_waiting_with(partial(_keep_waiting, ports.store, header.id, redacting))
        with _status_kept(ports, header, printed):
            _announce(entered, loaded.stop, watch, telling)
            trials = range(1, header.trials + 1)
            window = None if planned is None else planned.window
            spending = Spending(request.budget, ports.monotonic)
            launched = partial(_launched, loaded, spending, telling)
            fresh = launched(asked, runner.Launch(trials=trials, window=window, done=Either(kept, reused.taken)))
            tried = ((case, trial) for case in chosen for trial in trials)
            attempted = attempts(tried, kept, fresh, again, reused, waited)
            course = certain if planned is None else EarlyStop(planned, loaded.stop)
            evidence = evidence_of(redacting.applied(attempted), user_judge)
            counted = judge_and_keep(project, header, evidence, ports, telling, course)
            comparison = _compared(project, counted, ports, request.baseline)
            if comparison is not None:
                more = Again(launched, user_judge, kept=kept, anew=again, reused=reused)
                confirm = partial(confirmed, project, counted.run, comparison, cases, more, ports=ports, watch=watch)
                comparison = confirm(telling=telling)
                if comparison is None:
                    counted = _cut_short(counted, project)
            workers.close()  # what they print as they end belongs to their log
            warnings = (*cases.warnings, *(told(project, request) if planned is None else planned.warnings))
            warnings += (*reused.told, *spending.told(counted.run.status), *loaded.warnings)
            return telling.reported(_conclude(project, counted, printed.log, ports, warnings, comparison))


def _launched(
    loaded: runner.LoadedSystem, spending: Spending, telling: Telling, cases: Iterable[Case], launch: runner.Launch
) -> Iterator[Attempt]:
    """The attempts that ``launch`` asks for, re-runs like any others, as far as the budget lets them begin."""
    launch = replace(launch, may_launch=spending.may_launch, listener=telling)
    return spending.within(loaded.run(cases, launch), loaded.stop)


class _Entered(NamedTuple):
    """A run that has begun or goes on, and what is there before anything runs: what is ``kept`` stands, and ``again``
    is made again; of what is run attempts may be there that ``waited`` to be made again."""

    header: Run
    kept: Mapping[Key, CaseRecord]
    again: Mapping[Key, CaseRecord]
    reused: Reused
    waited: Mapping[Key, tuple[Attempt, ...]] = {}


def _entered(
    header: Run, resumed: Resumed | None, project: Project, request: Request, cases: Cases, ports: Ports
) -> _Entered:
    """Note in the store that the run begins under ``header``; or that it goes on, under what that comes to then."""
    if resumed is None:
        reused = _reused(header, project, request, cases, ports, own=Own())
        ports.store.begin(header, None if header.stopping is None else project.policy)
        return _Entered(header, {}, {}, reused)
    going_on = continued(resumed, header, ports, config=project.config)
    refuse_other_places(resumed, header, project, request.selection.of(cases), ports)
    kept, again = resumed.kept, {key: resumed.stored[key] for key in resumed.again}
    waited = ports.store.waiting(going_on.id)
    reused = _reused(going_on, project, request, cases, ports, own=Own(kept, Either(kept, again, waited)))
    ports.store.resume(going_on, resumed.stored)
    return _Entered(going_on, kept, again, reused, waited)


def _keep_waiting(store: Store, run_id: str, redacting: Redacting, case: Case, earlier: Sequence[Attempt]) -> None:
    """Keep the last of these attempts, which waits to be made again. Where the store cannot be written now, it is kept
    with what it comes to, or that cannot be written either and the run breaks."""
    with suppress(BrokenError):
        store.keep_waiting(run_id, redacting.waiting(case, earlier))


def _announce(entered: _Entered, stop: Callable[[], None], watch: Watch, telling: Telling) -> None:
    header, of = entered.header, entered.header.cases * entered.header.trials
    watch.started(header, stop)
    done = sum(trial <= header.trials for _, trial in entered.kept)
    if header.resumed:
        watch.resuming(done, of)
    telling.started(done=done, attempts=of)
    if entered.reused.taken:
        watch.reusing(entered.reused.counts, of)


def _reused(header: Run, project: Project, request: Request, cases: Cases, ports: Ports, *, own: Own) -> Reused:
    if not request.reuse:
        return NOTHING
    reruns = 0 if request.baseline is None else times(project.policy)
    return reusable(header, request.selection.of(cases), ports, own=own, reruns=reruns, config=project.config)


def _telling(project: Project, header: Run, request: Request, watch: Watch) -> Telling:
    is_gated = request.gated and not (header.partial or header.in_process or header.changed)
    return Telling(header, project.policy if is_gated else None, watch)


def _at_a_time(project: Project, system: LiveSystem, concurrency: int | None) -> Project:
    if concurrency is None:
        return project
    return replace(project, system=replace(project.system, kind=replace(system, concurrency=concurrency)))


def _planned(project: Project, cases: Cases, request: Request, ports: Ports) -> Plan | None:
    """How the run may stop early, None where it runs every case."""
    wish = wished(project, request)
    if wish is None or project.policy is None:
        return None
    if cases.related:
        message = "early stopping counts independent cases, and some belong to one cluster"
        raise UsageError(Problem(CANNOT_STOP_EARLY, message, "leave it out", file=project.config))
    return plan(project, project.policy, wish, list(cases), request, ports)


def _judge(
    project: Project, system: RecordedSystem, cases: Cases | None, request: Request, ports: Ports, watch: Watch
) -> Report:
    """Without a dataset (``cases`` None) the recordings are their own."""
    wished(project, request)  # recordings stop for nothing, and who asks for it is told
    recordings = Recordings(project, system, cases)
    identity = configured_identity(project, recordings.source)
    redacting = Redacting.of(project)
    with ExitStack() as workers:
        with _failure_kept(project, request, ports):
            user_judge = workers.enter_context(_user_judge(project, ports))
        printed = _Printed(redacting, user_judge)
        header = replace(
            run_header(project, request, ports, identity),
            own_dataset=cases is None,
            expected_cases=project.expected_cases,
            dataset_digest=recordings.digest if cases is None else cases.digest,
            judging_code="" if user_judge is None else user_judge.code,
        )
        ports.store.begin(header)
        telling = _telling(project, header, request, watch)
        with _status_kept(ports, header, printed):
            watch.started(header, recordings.stop)
            telling.started(done=0, attempts=None if cases is None else len(cases) * header.trials)
            attempted = _asked_for(recordings.attempts(), request.selection, cases)
            evidence = evidence_of(redacting.applied(attempted), user_judge)
            counted = judge_and_keep(project, header, evidence, ports, telling)
            if recordings.interrupted:  # also where every case of the dataset had one recording that was read
                counted = replace(counted, run=replace(counted.run, status="interrupted"))
            comparison = _compared(project, counted, ports, request.baseline)
            workers.close()
            warnings = (*(() if cases is None else cases.warnings), *recordings.warnings, *told(project, request))
            return telling.reported(_conclude(project, counted, printed.log, ports, warnings, comparison))


def _compared(project: Project, counted: Counted, ports: Ports, baseline: Baseline | None) -> Comparison | None:
    """The run beside its baseline, where it has one and is whole. What was counted of it is kept first, since that is
    where a comparison finds it; as a run that goes on, since what is run again would count as its own if it ended
    here."""
    run = counted.run
    if baseline is None or not run.is_concluded or run.partial:
        return None
    policy = None if run.ungated_by_choice else project.policy
    going_on = replace(run, status="running", finished_at=None, reruns=times(policy))
    ports.store.finish(going_on, counted.measured, policy)
    return compare(ports.store, run, baseline, policy=policy)


def _cut_short(counted: Counted, project: Project) -> Counted:
    """Of a run whose re-runs were not all made."""
    told = "newly broken cases were not all run again: `run --resume` goes on with that"
    run = replace(counted.run, status="interrupted", reruns=times(project.policy))
    return replace(counted, run=run, warnings=(*counted.warnings, told))


def _conclude(
    project: Project,
    counted: Counted,
    log: str,
    ports: Ports,
    warnings: tuple[str, ...],
    comparison: Comparison | None,
) -> Report:
    """Decide, and keep what was concluded."""
    of_cases = [len(rerun.codes) for rerun in comparison.reruns] if comparison else [counted.run.reruns]
    lines = log.rstrip("\n").count("\n") + 1 if log.strip() else 0
    finished = replace(counted.run, log_lines=lines, reruns=max(of_cases, default=0))
    policy = None if finished.ungated_by_choice else project.policy
    warnings = tuple(map(Redacting.of(project).text, warnings))
    warnings = (*project.warnings, *warnings, *counted.warnings, *_retried(finished), *_taken_over(finished))
    warnings += _redacted(finished)
    ports.store.finish(finished, counted.measured, policy, warnings=warnings, log=log)
    if comparison is not None:
        ports.store.keep_comparison(finished.id, comparison)
    return report(finished, counted.measured, policy, (), warnings, comparison)


def _retried(run: Run) -> tuple[str, ...]:
    if not run.retried:
        return ()
    said = "made again after an error: what had been settled by then stands, and only what was missing was filled in"
    return (f"{counted(run.retried, 'attempt')} {said}",)


def _redacted(run: Run) -> tuple[str, ...]:
    """How much each rule took out, which tells whether it finds what it should and no more."""
    if not run.redacted:
        return ()
    told = [f"{each.secrets} × {each.rule} (in {each.attempts:,} of the attempts)" for each in run.redacted]
    return (f"taken out by `redact:`: {', '.join(told)}",)


def _taken_over(run: Run) -> tuple[str, ...]:
    if not run.reused:
        return ()
    of = run.cases * run.trials
    told = [f"{each.attempts:,} of {of:,} attempts taken over from run {each.run}" for each in run.reused]
    return (*told, "--reuse: what was taken over was judged anew, and not run again")


def _user_judge(project: Project, ports: Ports) -> AbstractContextManager[runner.UserJudge | None]:
    return ports.code.evaluation_worker(project) if project.user_evaluators else nullcontext()


def _asked_for(attempted: Iterable[Attempted], selection: Selection, cases: Cases | None) -> Iterator[Attempted]:
    """What the selection leaves of the recordings. All of them are read, so that what is wrong with one is told."""
    if not selection:
        yield from attempted
        return
    known = list(attempted)
    chosen = {case.id for case in selection.of((item.case for item in known) if cases is None else cases)}
    yield from (item for item in known if item.case.id in chosen)


class _Printed:
    """What user code prints outside of any case: while it is loaded, as it ends, and in evaluators."""

    def __init__(
        self, redacting: Redacting, *workers: runner.LoadedSystem | runner.UserJudge | None, before: str = ""
    ) -> None:
        self._workers = [worker for worker in workers if worker is not None]
        self._before = before
        self._redacting = redacting

    @property
    def log(self) -> str:
        """All of it so far, each worker's after the other's; what was printed ``before`` the run was resumed first."""
        return self._before + "".join([self._redacting.log(worker.log) for worker in self._workers])


@contextmanager
def _failure_kept(project: Project, request: Request, ports: Ports) -> Iterator[None]:
    """User code that exists and fails to load is a run that broke: without it, ``latest`` would mean an older one."""
    try:
        yield
    except BrokenError:
        ports.store.begin(replace(run_header(project, request, ports, configured_identity(project)), status="broken"))
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
