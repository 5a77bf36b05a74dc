"""What happens while a run goes on, one value each: for a program that follows it, and for whoever draws it.

Of every run that began there is one :class:`RunStarted`, first, and one :class:`RunFinished`, last, however it ended.
Before each :class:`CaseFinished` there was one :class:`CaseStarted` of the same case and trial; what a run gave up has
only begun. A rule is settled once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from msgspec import Struct

from oloproof.model.case import ErrorKind
from oloproof.model.decision import Outcome, State
from oloproof.model.judgment import Word
from oloproof.model.run import RunStatus

EVENTS_FORMAT: Literal["oloproof.events/v1"] = "oloproof.events/v1"

SettledBy = Literal["certainty", "evidence", "end"]
"""Why a rule's state can no longer change: whatever the other cases do, the evidence is strong enough, or there is no
other case."""


class WatchedRule(Struct, frozen=True, kw_only=True):
    """A rule of the policy, and the metric that it reads."""

    rule: str
    metric: str


class RunStarted(Struct, frozen=True, kw_only=True, tag_field="event", tag="run_started"):
    """A run begins, or goes on. ``attempts`` is how many there are to be, every trial of every case; None where
    recordings are their own dataset, and nobody has counted them. ``done`` of them are there from before it was
    resumed, and no event tells of those. ``rules`` are those of its gate, none where it has no gate."""

    format: Literal["oloproof.events/v1"] = EVENTS_FORMAT
    run: str
    project: str
    system: str
    version: str | None
    started_at: str
    attempts: int | None
    done: int
    trials: int
    criteria: tuple[str, ...]
    rules: tuple[WatchedRule, ...]


class CaseStarted(Struct, frozen=True, kw_only=True, tag_field="event", tag="case_started"):
    """An attempt begins. ``rerun``: it counts for nothing but whether a case that broke does so again."""

    case: str
    trial: int
    rerun: bool


class CaseError(Struct, frozen=True, kw_only=True):
    """Why an attempt did not end normally."""

    kind: ErrorKind
    message: str


class CaseFinished(Struct, frozen=True, kw_only=True, tag_field="event", tag="case_finished"):
    """An attempt has been judged, and is in the store. ``outcome`` sums up its ``verdicts``, which are by criterion;
    ``duration_ms`` is None where no time was taken; ``taken_from`` is the run that made the attempt, where it was
    another."""

    case: str
    trial: int
    rerun: bool
    outcome: Word
    verdicts: dict[str, Word]
    error: CaseError | None
    duration_ms: float | None
    taken_from: str | None = None


class RuleSettled(Struct, frozen=True, kw_only=True, tag_field="event", tag="rule_settled"):
    """The state of a rule can no longer change, after so many attempts of the run."""

    rule: str
    metric: str
    state: State
    by: SettledBy
    after: int


class RunFinished(Struct, frozen=True, kw_only=True, tag_field="event", tag="run_finished"):
    """A run has ended, and the command ends with ``exit_code``. ``report`` is the ``oloproof.report/v1`` document; it
    and ``outcome`` are None where the run came to no report."""

    run: str
    status: RunStatus
    outcome: Outcome | None
    exit_code: int
    report: dict[str, Any] | None


Event = RunStarted | CaseStarted | CaseFinished | RuleSettled | RunFinished


def outcome_of(verdicts: Iterable[Word]) -> Word:
    """What a case came to under all its criteria: a failure outweighs what is missing, and that a pass."""
    words = set(verdicts)
    order: tuple[Word, ...] = ("fail", "missing", "pass")
    return next((word for word in order if word in words), "excluded")
