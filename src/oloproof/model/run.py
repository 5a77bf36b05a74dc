"""A run: who was judged, with what, how far it came, and everything that was concluded."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from oloproof.errors import Problem
from oloproof.model.case import Attempt, Case
from oloproof.model.comparison import Comparison
from oloproof.model.decision import Approval, Decision, Gate, IntervalMethod, Policy
from oloproof.model.judgment import Judgment
from oloproof.model.measured import Measured
from oloproof.model.redaction import Redacted
from oloproof.model.stopping import Stopping

RunStatus = Literal["running", "complete", "stopped_early", "interrupted", "broken"]


RECORDED: Final = "recorded "
"""How the source of a system begins that was not run."""


class SystemIdentity(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The system under test. ``source`` says what ran: ``callable app:run`` or ``recorded traces.jsonl``. ``code``
    identifies what it is made of, as far as anybody can see that; "" where nobody looked."""

    name: str
    version: str | None = None
    source: str = ""
    code: str = ""

    @property
    def is_recorded(self) -> bool:
        """Nothing was run: recordings of it were judged."""
        return self.source.startswith(RECORDED)


class IntervalChoice(Struct, frozen=True, kw_only=True):
    """How intervals are displayed (the policy has its own choice for deciding)."""

    method: IntervalMethod = "wilson"
    level: float = 0.95


class TakenOver(Struct, frozen=True, kw_only=True):
    """That so many ``attempts`` of a run were not made by it, but by an earlier ``run``."""

    run: str
    attempts: int


class Run(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The header of a run, known before its first case but for ``status``, ``finished_at`` and ``digest``.

    Times are RFC 3339 in UTC. ``partial`` is what narrowed it (``--limit 5``), "" for a full run; ``in_process``
    marks a debugger's run; neither is ever gated. ``own_dataset``: the recordings were their own dataset, and
    ``expected_cases`` is the ``cases: N`` that a gate then needs. ``judged_by`` identifies by what each criterion was
    judged, () where that was not noted, ``by_functions`` which of them functions of the user's judged, and
    ``judging_code`` what those were made of, "" where nobody looked. ``trials`` is how often each case was tried; up to
    ``reruns`` further ones of a case count for nothing but what they confirm. ``clustered``: cases belong together.
    ``stopping`` is how the run could stop early, None where it could not. ``ungated_by_choice``: ``policy: none`` or
    ``--no-gate``. ``log_lines`` counts what user code printed outside of any case. ``asked`` are the words of the
    command line that say what is run, for whoever resumes it; ``resumed`` is when that was done, and ``changed`` what
    was no longer the same by then: such a run is never gated either. ``retried`` attempts had ended with an error and
    were made again. ``reused`` is what was taken over from earlier runs. ``redaction`` identifies the rules by which
    secrets were taken out, "" where none were, and ``redacted`` is how much each of them found. ``digest`` identifies
    the judged content, for approvals.
    """

    id: str
    project: str
    system: SystemIdentity
    status: RunStatus
    started_at: str
    finished_at: str | None = None
    cases: int = 0
    criteria: tuple[str, ...] = ()
    judged_by: tuple[str, ...] = ()
    by_functions: tuple[str, ...] = ()
    judging_code: str = ""
    slices: tuple[str, ...] = ()
    interval: IntervalChoice = IntervalChoice()
    config_digest: str = ""
    dataset_digest: str = ""
    digest: str = ""
    partial: str = ""
    in_process: bool = False
    own_dataset: bool = False
    expected_cases: int | None = None
    trials: int = 1
    clustered: bool = False
    reruns: int = 0
    ungated_by_choice: bool = False
    log_lines: int = 0
    asked: tuple[str, ...] = ()
    resumed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    retried: int = 0
    reused: tuple[TakenOver, ...] = ()
    redaction: str = ""
    redacted: tuple[Redacted, ...] = ()
    stopping: Stopping | None = None

    @property
    def unit(self) -> str:
        """What its attempts are called: cases, or trials where each case has several."""
        return "cases" if self.trials == 1 else "trials"

    @property
    def is_concluded(self) -> bool:
        """The run came to its end, or to where its verdict was settled."""
        return self.status in ("complete", "stopped_early")

    @property
    def is_comparable(self) -> bool:
        """Each of its cases was asked for, by the same code and configuration: it can be compared."""
        return self.is_concluded and not (self.partial or self.in_process or self.changed)


class CaseRecord(Struct, frozen=True, kw_only=True):
    """Everything that is known of one attempt of a run; ``judgments`` by criterion, in the run's order."""

    run_id: str
    case: Case
    attempt: Attempt
    judgments: tuple[tuple[str, Judgment], ...]


class Report(Struct, frozen=True, kw_only=True):
    """Everything above, kept whole: what every format is drawn from, through ``reports.view``.

    ``relaxed`` are the ways in which the policy asks for less than another version of it that was named.
    """

    run: Run
    measured: Measured
    policy: Policy | None
    decisions: tuple[Decision, ...]
    gate: Gate
    approvals: tuple[Approval, ...] = ()
    warnings: tuple[str, ...] = ()
    comparison: Comparison | None = None
    relaxed: tuple[Problem, ...] = ()
