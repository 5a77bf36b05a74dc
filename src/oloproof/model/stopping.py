"""How a run may stop before its last case: what the policy wishes, and what came of it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

StopMethod = Literal["curtailment", "hybrid"]


class EarlyStopping(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``early_stopping:`` of the policy. ``rules`` are those that evidence may settle, under ``hybrid`` alone."""

    method: StopMethod = "curtailment"
    rules: tuple[str, ...] = ()


class Settled(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A rule that was settled before the last case, after the first ``after`` cases of the launch order.

    ``by`` says why: it is certain that the full run would come to this ``state``, or the evidence is strong enough.
    ``boundary`` says what it took (``34 passes of 40``). The counts are of the cases to which the metric applies,
    ``missing`` those of them that ran and left no verdict.
    """

    rule: str
    state: Literal["PASS", "FAIL"]
    by: Literal["certainty", "evidence"]
    after: int
    boundary: str
    passed: int = 0
    failed: int = 0
    missing: int = 0


class Saved(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was not spent, estimated by what the cases that ran have cost: ``cost_usd`` None where no cost was recorded,
    ``seconds`` of the system's time (one case after the other) None where no time was taken."""

    cases: int
    cost_usd: float | None = None
    seconds: float | None = None


class Stopping(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a run was to stop, fixed before its first case, and how it did.

    ``seed`` gave the launch order. ``rules`` are those that evidence might settle. ``settled`` are the rules that were
    settled on the way, whether or not the run stopped then. ``after`` is the number of cases of the launch order with
    which it stopped, None where it went on to its end; what ran in that moment was finished, and counts. ``not_run``
    says of each criterion how many of its missing cases never began.
    """

    seed: int
    method: StopMethod = "curtailment"
    rules: tuple[str, ...] = ()
    settled: tuple[Settled, ...] = ()
    after: int | None = None
    not_run: dict[str, int] = {}
    saved: Saved | None = None

    def of(self, rule: str) -> Settled | None:
        """How the rule of this name was settled; None where it was not."""
        return next((settled for settled in self.settled if settled.rule == rule), None)
