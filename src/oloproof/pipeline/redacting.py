"""Secrets are taken out of an attempt before anybody else has it, and it is judged so that none of it is lost by that.

Read :mod:`oloproof.redaction` first, which tells the whole story.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from oloproof import evaluators
from oloproof.errors import Problem, UsageError
from oloproof.model.case import Attempt, Case
from oloproof.model.evidence import Evaluator, Evidence
from oloproof.model.judgment import Judgment, missing
from oloproof.model.project import Project, RecordedSystem
from oloproof.model.redaction import Redacted, Redaction, has_marker, veiled_attempt, veiled_case
from oloproof.redaction import Limits, Redactor
from oloproof.runner.output import CUT, LOG_BYTES
from oloproof.runner.recorded import Attempted, Hidden
from oloproof.runner.tracebacks import MAX_MESSAGE, MAX_TRACEBACK
from oloproof.store import identity

NOT_JUDGED = missing("redacted")
_LIVE = Limits(message=MAX_MESSAGE, traceback=MAX_TRACEBACK, log=LOG_BYTES, cut=CUT)


def redaction_digest(rules: Redaction | None) -> str:
    """Identifies the rules, "" where nothing is taken out."""
    return "" if rules is None else identity(rules)


class Redacting:
    """The redaction of one run, and how much it found."""

    def __init__(self, project: Project, rules: Redaction) -> None:
        self._project = project
        self._rules = rules
        recorded = isinstance(project.system.kind, RecordedSystem)
        self._redactor = Redactor(rules, None if recorded else _LIVE)
        self._texts = Redactor(rules, _LIVE).scope()
        self._secrets: Counter[str] = Counter()
        self._attempts: Counter[str] = Counter()
        workers = {spec.criterion for spec in project.user_evaluators}
        self._unjudged = dict.fromkeys(workers - set(rules.judged_as_is), NOT_JUDGED)

    @classmethod
    def of(cls, project: Project) -> Redacting | None:
        """That of the project, None where it has none."""
        return None if project.redact is None else cls(project, project.redact)

    @property
    def found(self) -> tuple[Redacted, ...]:
        """What was taken out so far, by rule."""
        counted = sorted(self._secrets.items())
        return tuple([Redacted(rule=rule, secrets=n, attempts=self._attempts[rule]) for rule, n in counted])

    def text(self, text: str) -> str:
        """What is said of no attempt, such as what was printed while the system was loaded."""
        return self._texts.text(text)

    def log(self, printed: str) -> str:
        """What was printed by one worker outside of any case."""
        return self._texts.log(printed)

    def applied(self, attempted: Iterable[Attempted]) -> Iterator[Attempted]:
        """The attempts without their secrets. Their cases keep them, for who compares with a case; what is kept and
        shown of a case is :attr:`Attempted.shown_case`.

        A recording is kept as it is here and not where it lies, since that file holds what was taken out.

        Errors: UsageError for a recorded case whose id or cluster holds a secret.
        """
        for item in attempted:
            yield self._applied(item)

    def _applied(self, item: Attempted) -> Attempted:
        scope = self._redactor.scope()
        if isinstance(self._project.system.kind, RecordedSystem):
            self.refuse_named_by_secret([item.case])
        case = scope.case(item.case)
        before = tuple([scope.attempt(each) for each in item.before])
        attempt = scope.attempt(item.attempt)
        self._secrets.update(scope.secrets)
        self._attempts.update(scope.secrets.keys())
        hidden = Hidden(case, scope, touches=bool(scope.secrets))
        return replace(item, attempt=attempt, before=before, source=None, hidden=hidden)

    def refuse_named_by_secret(self, cases: Iterable[Case]) -> None:
        """What names a case is written in files, typed on command lines and compared between runs.

        Errors: UsageError for the first whose id or cluster holds a secret.
        """
        for case in cases:
            scope = self._redactor.scope()
            cluster, hidden_cluster = case.cluster, scope.text(case.cluster)
            if self._project.cluster is not None:  # it is a part of the metadata, and may be a field that goes whole
                cluster, hidden_cluster = self._project.cluster_of(case), self._project.cluster_of(scope.case(case))
            for what, name, hidden in (("id", case.id, scope.text(case.id)), ("cluster", cluster, hidden_cluster)):
                if hidden != name:
                    message = f"the {what} of a case holds what `redact:` takes out: {hidden}"
                    hint = "name it otherwise, or leave the rule out"
                    raise UsageError(Problem("OLO422", message, hint, file=self._project.config))

    def judged(self, item: Attempted, attempt: Attempt, said: Mapping[str, Judgment]) -> tuple[Judgment, ...]:
        """The verdicts on an attempt at the item's case: those that it would have had with its secrets, or missing.
        ``said`` is what the user's functions said."""
        asked: Sequence[Evaluator] = self._project.evaluators
        assert item.hidden is not None
        scope = item.hidden.scope
        if not item.hidden.touches:
            plain = evaluators.judge(asked, Evidence(item.case, attempt, said))
            return tuple(map(scope.judgment, plain))
        shown = evaluators.judge(asked, Evidence(item.hidden.case, attempt, said))
        veiled = veiled_attempt(attempt)
        certain = evaluators.judge(asked, Evidence(item.case, veiled, {**said, **self._unjudged}, veiled=True))
        return tuple(
            [scope.judgment(_settled(*each)) for each in zip(asked, certain, shown, strict=True)],
        )


def measured_as(item: Attempted) -> Evidence:
    """What is counted and grouped by: markers of different cases are not equal secrets."""
    if item.hidden is None or not (item.hidden.touches or has_marker(item.case.metadata)):
        return Evidence(item.case, item.attempt)
    return Evidence(veiled_case(item.hidden.case), veiled_attempt(item.attempt), veiled=True)


def _settled(evaluator: Evaluator, certain: Judgment, shown: Judgment) -> Judgment:
    """One verdict from two: ``certain`` is reached where a text with a marker may be any text, ``shown`` where it is
    itself. Its evidence is the latter's where they say the same: the former's may quote the case."""
    if evaluator.compares_within:
        return shown
    if certain.verdict == "missing":
        return shown if shown.verdict == "missing" else NOT_JUDGED
    if (certain.verdict, certain.reason, certain.steps) == (shown.verdict, shown.reason, shown.steps):
        return shown
    return Judgment(certain.verdict, certain.reason, certain.steps)
