"""Secrets are taken out of an attempt before anybody else has it, and it is judged so that none of it is lost by that.

Read :mod:`oloproof.redaction` first, which tells the whole story. An attempt carries with it what was taken out
(:attr:`Attempted.hidden`), so that whoever judges and counts it later needs nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager

from msgspec.structs import replace

from oloproof import evaluators
from oloproof.errors import Problem, UsageError
from oloproof.model.case import Attempt, Case
from oloproof.model.evidence import Evaluator, Evidence
from oloproof.model.judgment import Judgment, missing
from oloproof.model.project import Project, RecordedSystem
from oloproof.model.redaction import Redacted, Redaction, has_marker, veiled_attempt, veiled_case
from oloproof.model.run import SystemIdentity
from oloproof.model.selection import Selection
from oloproof.model.values import Json
from oloproof.redaction import Limits, Redactor, problems_redacted
from oloproof.runner.attempted import Attempted, Hidden
from oloproof.runner.output import CUT, LOG_BYTES
from oloproof.runner.tracebacks import MAX_MESSAGE, MAX_TRACEBACK
from oloproof.store import identity

NOT_JUDGED = missing("redacted")
LIMITS = Limits(message=MAX_MESSAGE, traceback=MAX_TRACEBACK, log=LOG_BYTES, cut=CUT)


def redaction_digest(rules: Redaction | None) -> str:
    """Identifies the rules, "" where nothing is taken out."""
    return "" if rules is None else identity(rules)


def problems_told(project: Project) -> AbstractContextManager[None]:
    """What goes wrong inside is told without the secrets that the project has taken out."""
    return problems_redacted(project.redact, LIMITS)


class Redacting:
    """What a run does about secrets. This one takes nothing out."""

    @staticmethod
    def of(project: Project) -> Redacting:
        """As the project says."""
        return Redacting() if project.redact is None else _ByRules(project, project.redact)

    def text(self, text: str) -> str:
        """What is said of no attempt, such as a warning."""
        return text

    def log(self, printed: str) -> str:
        """What was printed by one worker outside of any case."""
        return printed

    def applied(self, attempted: Iterable[Attempted]) -> Iterable[Attempted]:
        """The attempts without their secrets. Their cases keep them, for who compares with a case; what is kept and
        shown of a case is :attr:`Attempted.shown_case`.

        A recording is kept as it is here and not where it lies, since that file holds what was taken out.

        Errors: UsageError for a recorded case whose id or cluster holds a secret.
        """
        return attempted

    def waiting(self, case: Case, earlier: Sequence[Attempt]) -> Attempt:
        """The last of these attempts at a case without its secrets. For any thread."""
        return earlier[-1]

    def refuse_cases(self, cases: Iterable[Case]) -> None:
        """What names a case is written in files, typed on command lines and compared between runs.

        Errors: UsageError for the first whose id or cluster holds a secret.
        """

    def refuse_system(self, system: SystemIdentity) -> None:
        """Errors: UsageError where its name or version, which are compared too, holds a secret."""

    def refuse_selection(self, selection: Selection) -> None:
        """Errors: UsageError where cases are chosen by a secret, since a run tells how they were chosen."""


class _ByRules(Redacting):
    def __init__(self, project: Project, rules: Redaction) -> None:
        self._project = project
        self._is_recorded = isinstance(project.system.kind, RecordedSystem)
        self._redactor = Redactor(rules, None if self._is_recorded else LIMITS)
        self._texts = Redactor(rules, LIMITS).scope()

    def text(self, text: str) -> str:
        return self._texts.message(text)

    def log(self, printed: str) -> str:
        return self._texts.log(printed)

    def applied(self, attempted: Iterable[Attempted]) -> Iterator[Attempted]:
        for item in attempted:
            if self._is_recorded:
                self.refuse_cases([item.case])
            scope = self._redactor.scope()
            case = scope.case(item.case)
            before = tuple([scope.attempt(each) for each in item.before])
            attempt = scope.attempt(item.attempt)
            hidden = Hidden(case, scope, touches=bool(scope.secrets))
            yield replace(item, attempt=attempt, before=before, source=None, hidden=hidden)

    def waiting(self, case: Case, earlier: Sequence[Attempt]) -> Attempt:
        scope = self._redactor.scope()
        scope.case(case)
        return [scope.attempt(each) for each in earlier][-1]

    def refuse_cases(self, cases: Iterable[Case]) -> None:
        for case in cases:
            scope = self._redactor.scope()
            self._refuse("the id of a case", case.id, scope.text(case.id))
            cluster, hidden = case.cluster, scope.text(case.cluster)
            if self._project.cluster is not None:  # it is a part of the metadata, and may be a field that goes whole
                cluster, hidden = self._project.cluster_of(case), self._project.cluster_of(scope.case(case))
            self._refuse("the cluster of a case", cluster, hidden)

    def refuse_system(self, system: SystemIdentity) -> None:
        for what, name in (("name", system.name), ("version", system.version)):
            self._refuse(f"the {what} of the system", name, self._texts.text(name))

    def refuse_selection(self, selection: Selection) -> None:
        if selection.slice is None:
            return
        metadata: Json = selection.slice.value
        for key in reversed(selection.slice.path):
            metadata = {key: metadata}
        scope, case = self._redactor.scope(), Case(id="", metadata=metadata)
        self._refuse("--slice", str(selection.slice), scope.text(str(selection.slice)))
        self._refuse("--slice", case.metadata, scope.case(case).metadata)

    def _refuse(self, what: str, name: Json, hidden: Json) -> None:
        if hidden != name:
            message = f"{what} holds what `redact:` takes out: {hidden}"
            hint = "name it otherwise, or leave the rule out"
            raise UsageError(Problem("OLO422", message, hint, file=self._project.config))


class RedactionTally:
    """How much each rule took out of the attempts that were seen."""

    def __init__(self) -> None:
        self._secrets: Counter[str] = Counter()
        self._attempts: Counter[str] = Counter()

    def see(self, item: Attempted) -> None:
        if item.hidden is not None:
            self._secrets.update(item.hidden.scope.secrets)
            self._attempts.update(item.hidden.scope.secrets.keys())

    @property
    def redacted(self) -> tuple[Redacted, ...]:
        """By rule."""
        counted = sorted(self._secrets.items())
        return tuple([Redacted(rule=rule, secrets=n, attempts=self._attempts[rule]) for rule, n in counted])


def judged(project: Project, pairs: Sequence[tuple[Attempted, Evidence]]) -> Sequence[Sequence[Judgment]]:
    """The verdicts on attempts: those that they would have had with their secrets, or missing."""
    words = evaluators.judge_all(project.evaluators, [seen for _, seen in pairs])
    return [
        shown if item.hidden is None else _without_secrets(project, item, item.hidden, seen, shown)
        for (item, seen), shown in zip(pairs, words, strict=True)
    ]


def _without_secrets(
    project: Project, item: Attempted, hidden: Hidden, seen: Evidence, shown: Sequence[Judgment]
) -> Sequence[Judgment]:
    if hidden.touches:
        assert project.redact is not None
        workers = {spec.criterion for spec in project.user_evaluators} - set(project.redact.judged_as_is)
        said = {**seen.user_verdicts, **dict.fromkeys(workers, NOT_JUDGED)}
        veiled = Evidence(item.case, veiled_attempt(seen.attempt), said, veiled=True)
        certain = evaluators.judge(project.evaluators, veiled)
        whole = Evidence(item.case, seen.attempt, said)
        shown = [_settled(*each, whole) for each in zip(project.evaluators, certain, shown, strict=True)]
    return tuple(map(hidden.scope.judgment, shown))


def measured_as(item: Attempted, seen: Evidence) -> Evidence:
    """What is counted and grouped by: markers of different cases are not equal secrets."""
    if item.hidden is None or not (item.hidden.touches or has_marker(item.case.metadata)):
        return seen
    return Evidence(veiled_case(item.hidden.case), veiled_attempt(item.attempt), veiled=True)


def _settled(evaluator: Evaluator, certain: Judgment, shown: Judgment, whole: Evidence) -> Judgment:
    """One verdict from two: ``certain`` is reached where a text with a marker may be any text, ``shown`` where it is
    itself. Its evidence is the latter's where they say the same: the former's may quote the case.

    Who compares within the attempt is asked about the ``whole`` case, where that is another question (``only:``)."""
    if evaluator.compares_within:
        is_same = (certain.verdict == "excluded") == (shown.verdict == "excluded")
        return shown if is_same else evaluator.judge(whole)
    if certain.verdict == "missing":
        return shown if shown.verdict == "missing" else NOT_JUDGED
    if (certain.verdict, certain.reason, certain.steps) == (shown.verdict, shown.reason, shown.steps):
        return shown
    return Judgment(certain.verdict, certain.reason, certain.steps)
