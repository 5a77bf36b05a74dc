"""Early stopping of one run: settled before its first case, asked about after each, told at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import fsum
from typing import TYPE_CHECKING
from zlib import crc32

from msgspec import Struct
from msgspec.structs import replace

from oloproof.errors import Problem, UsageError
from oloproof.gates.evident import why_no_evidence
from oloproof.metrics import observe
from oloproof.model.case import Case
from oloproof.model.decision import Policy
from oloproof.model.evidence import Evidence
from oloproof.model.judgment import Judgment
from oloproof.model.project import Project, RecordedSystem
from oloproof.model.stopping import EarlyStopping, Saved, Settled, Stopping
from oloproof.model.tally import Amount, AtLeast
from oloproof.pipeline.foreseeing import applicable
from oloproof.pipeline.ports import Ports, Request
from oloproof.project import Cases

if TYPE_CHECKING:
    from oloproof.gates.stopping import Course

CANNOT_STOP_EARLY = "OLO650"


class Plan(Struct, frozen=True):
    """What is fixed before the first case: the cases in their launch order, how many run at a time, what may settle
    what. ``stopping`` goes into the run's header."""

    cases: list[Case]
    places: dict[str, int]
    concurrency: int
    course: Course
    stopping: Stopping
    criteria: tuple[str, ...]
    sources: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    @property
    def window(self) -> int:
        """While the oldest case runs, so many more may have begun that as many as run at a time are done already."""
        return 2 * self.concurrency - 1


def wished(project: Project, request: Request) -> EarlyStopping | None:
    """How this run is to stop early, None where it is not: the command line has the last word, and the policy says how.

    Errors: UsageError where the command line asks for what cannot be.
    """
    said = None if project.policy is None else project.policy.early_stopping
    asked = request.stop_early is True
    if request.stop_early is False or (said is None and not asked) or (not asked and _why_not(project, request)):
        if request.seed is not None:
            message = "--seed draws the launch order of a run that may stop early, and this one may not"
            raise UsageError(Problem("OLO651", message, "add --stop-early, or leave --seed out"))
        return None
    why_not = _why_not(project, request)
    if why_not is not None:
        raise UsageError(Problem(CANNOT_STOP_EARLY, f"--stop-early: {why_not}", "leave out one of the two"))
    return said or EarlyStopping()


def told(project: Project, request: Request) -> tuple[str, ...]:
    """What a run says that does not stop early although the policy would have it."""
    said = project.policy is not None and project.policy.early_stopping is not None
    why_not = _why_not(project, request)
    if not said or request.stop_early is not None or why_not is None:
        return ()
    return (f"early_stopping has no effect here: {why_not}",)


def _why_not(project: Project, request: Request) -> str | None:
    """Why a run cannot stop early, whoever asked for it."""
    if isinstance(project.system.kind, RecordedSystem):
        return "the system was recorded, and no case that is read costs anything"
    return _why_open(project, request)


def _why_open(project: Project, request: Request) -> str | None:
    """Why nothing is settled before a run's end, None where it may be."""
    if (project.trials or 1) > 1 or project.cluster is not None or project.pass_k:
        return "it counts independent cases that are tried once, and here are trials or clusters"
    if request.selection:
        return f"a partial run ({request.selection}) is not gated, so that nothing settles it"
    if request.in_process:
        return "a run with --in-process is not gated, so that nothing settles it"
    if project.policy is None or not request.gated:
        return "the run is not gated, so that nothing settles it"
    said = project.policy.early_stopping
    if request.reuse and said is not None and said.method == "hybrid":
        return "evidence counts cases in an order that was drawn before any came out, and --reuse takes some over"
    return None


def plan(
    project: Project, policy: Policy, wish: EarlyStopping, cases: Sequence[Case], request: Request, ports: Ports
) -> Plan:
    """Draw the launch order, and say which rules evidence may settle: those with cases enough."""
    from oloproof.gates.stopping import MOST_AT_ONCE, launch_order  # here and below: most runs do without

    seed = crc32(ports.token().encode()) if request.seed is None else request.seed
    course, rules, warnings = course_of(project, policy, wish, cases)
    assert not isinstance(project.system.kind, RecordedSystem)  # which is never planned for
    concurrency = project.system.kind.concurrency
    if concurrency > MOST_AT_ONCE:
        warnings += (f"{concurrency} cases at a time are {MOST_AT_ONCE} while the run may stop early",)
    return Plan(
        cases=[cases[position] for position in launch_order([case.id for case in cases], seed)],
        places={case.id: position for position, case in enumerate(cases)},
        concurrency=min(concurrency, MOST_AT_ONCE),
        course=course,
        stopping=Stopping(seed=seed, method="hybrid" if rules else "curtailment", rules=rules),
        criteria=_criteria(project),
        sources=_sources(project),
        warnings=warnings,
    )


def followed_policy(project: Project) -> Policy | None:
    """The policy as a run follows it of which nothing else is asked: where that cannot stop early, no evidence settles
    a rule, and none is set a part of the level aside for."""
    policy = project.policy
    return replace(policy, early_stopping=None) if policy is not None and told(project, Request()) else policy


def early_outlook(project: Project, cases: Cases | Sequence[Case]) -> tuple[str, ...]:
    """What early stopping may come to over these cases, in lines; none where the policy asks for none."""
    policy = project.policy
    if policy is None or policy.early_stopping is None:
        return ()
    if nothing := told(project, Request()):
        return nothing
    course, rules, warnings = course_of(project, policy, policy.early_stopping, cases)
    by_evidence = f"evidence may settle {', '.join(rules)}; " if rules else ""
    last = f"only a failure ends a run early, for {', '.join(course.waiting)} pass with the last case at the earliest"
    text = last if course.waiting else "a run ends once a rule is settled as FAIL, or all of them as PASS"
    return f"early stopping: {by_evidence}{text}", *warnings


def course_of(
    project: Project, policy: Policy, wish: EarlyStopping, cases: Cases | Sequence[Case]
) -> tuple[Course, tuple[str, ...], tuple[str, ...]]:
    """The policy's rules over these cases, which of them evidence may settle, and why others that were named may
    not."""
    from oloproof.gates.stopping import Course, Suite

    sizes = applicable(project, cases)
    quantiles = {spec.id: (spec.q, spec.source) for spec in project.metrics}
    named = [rule for rule in policy.rules if rule.id in wish.rules]
    why_not = {rule.id: why_no_evidence(rule, n=sizes[rule.metric]) for rule in named}
    rules = tuple(rule.id for rule in named if not why_not[rule.id])
    warnings = tuple(
        f"evidence may not settle rule '{name}' {why}: it is settled once it is certain"
        for name, why in why_not.items()
        if why
    )
    return Course(policy, Suite(sizes, quantiles), evident=rules), rules, warnings


def certainty(project: Project, cases: Cases, request: Request) -> Certainty | None:
    """What follows a run that does not stop early, to know which rules are settled; None where none is before the
    end."""
    if project.policy is None or cases.related or _why_open(project, request) is not None:
        return None
    course, _, _ = course_of(project, project.policy, EarlyStopping(), cases)
    return Certainty(course, _criteria(project), _sources(project))


def _criteria(project: Project) -> tuple[str, ...]:
    return tuple(evaluator.criterion for evaluator in project.evaluators)


def _sources(project: Project) -> tuple[str, ...]:
    return tuple(dict.fromkeys(spec.source for spec in project.metrics))


class Certainty:
    """Follows a run case by case: which of its rules are settled, whatever the other cases will do."""

    def __init__(self, course: Course, criteria: tuple[str, ...], sources: tuple[str, ...]) -> None:
        self._course = course
        self._criteria = criteria
        self._sources = sources
        self._interrupted = False
        self.standing = course.begin()

    def see(self, seen: Evidence, judgments: Sequence[Judgment], amounts: Sequence[Amount]) -> tuple[Settled, ...]:
        """The next case, judged; the rules that it settles. What ends after the run was interrupted settles nothing
        any more."""
        if seen.attempt.not_run:
            self._interrupted = True
        if self._interrupted:
            return ()
        words = {name: judgment.verdict for name, judgment in zip(self._criteria, judgments, strict=True)}
        before = self.standing.settled
        self.standing = self._course.step(self.standing, words, dict(zip(self._sources, amounts, strict=True)))
        pairs = zip(before, self.standing.settled, strict=True)
        return tuple(now for was, now in pairs if was is None and now is not None)


class EarlyStop:
    """Follows a run along its launch order, and stops the system when its verdict is settled."""

    def __init__(self, planned: Plan, stop: Callable[[], None]) -> None:
        self._plan = planned
        self._stop = stop
        self._follow = Certainty(planned.course, planned.criteria, planned.sources)
        self._not_run = Counter[str]()
        self._left_out = 0
        self._costs: list[float] = []
        self._durations: list[float] = []

    @property
    def is_over(self) -> bool:
        """The verdict is settled."""
        return self._follow.standing.is_over

    def place_of(self, case: Case) -> int:
        """Where the case stands in the dataset, from 0."""
        return self._plan.places[case.id]

    def see(self, seen: Evidence, judgments: Sequence[Judgment], amounts: Sequence[Amount]) -> tuple[Settled, ...]:
        """The next case of the launch order, judged; the rules that it settles. What ends after the run was settled, or
        after it was interrupted, decides nothing any more."""
        if seen.attempt.not_run:
            self._left_out += 1
            self._not_run.update(
                name
                for name, judgment in zip(self._plan.criteria, judgments, strict=True)
                if judgment.verdict == "missing"
            )
        else:
            self._spent(seen)
        if self.is_over:
            return ()
        settled = self._follow.see(seen, judgments, amounts)
        if self.is_over:
            self._stop()
        return settled

    def outcome(self) -> Stopping:
        """How the run went, for its header."""
        settled = sorted(filter(None, self._follow.standing.settled), key=lambda each: each.after)
        stopping = replace(self._plan.stopping, settled=tuple(settled))
        if not (self.is_over and self._left_out):
            return stopping
        saved = Saved(
            cases=self._left_out,
            cost_usd=_projected(self._costs, self._left_out),
            seconds=_projected(self._durations, self._left_out),
        )
        return replace(stopping, after=self._follow.standing.cases, not_run=dict(self._not_run), saved=saved)

    def _spent(self, seen: Evidence) -> None:
        cost = observe("cost_usd", seen.reading)
        if not isinstance(cost, AtLeast):
            self._costs.append(cost)
        if seen.attempt.duration_ms is not None:
            self._durations.append(seen.attempt.duration_ms / 1000)


def _projected(known: Sequence[float], cases: int) -> float | None:
    """What so many cases would have come to at the mean of those that are known."""
    return fsum(known) / len(known) * cases if known else None
