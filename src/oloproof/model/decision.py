"""The policy (what must hold) and the decisions (what the evidence says of it)."""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct

from oloproof.errors import ExitCode

IntervalMethod = Literal["wilson", "exact"]
State = Literal["PASS", "FAIL", "INSUFFICIENT_EVIDENCE", "MANUAL_REVIEW"]
Outcome = Literal["ALLOW", "BLOCK", "NOT_GATED"]

Reason = Literal[
    "observed_failures_exceed_limit",
    "observed_failures_within_limit",
    "missing_could_hide_failures",
    "lower_bound_meets_minimum",
    "upper_bound_below_minimum",
    "upper_bound_meets_maximum",
    "lower_bound_above_maximum",
    "interval_within_bounds",
    "interval_overlaps_threshold",
    "no_observation",
    "below_min_cases",
    "missing_exceeds_policy",
    "review_required",
]
REASONS: tuple[str, ...] = get_args(Reason)


class IntervalThreshold(
    Struct, frozen=True, kw_only=True, omit_defaults=True, tag="interval_threshold", tag_field="kind"
):
    """The metric's interval must lie on the good side of ``min`` and ``max`` (at least one is given).

    For a rate the bounds are shares in [0, 1]; for a quantile they are in the quantity's unit. They are kept as the
    decimals that were written ("0.70"), so that no binary rounding comes between the user and the rule.
    """

    id: str
    metric: str
    min: str | None = None
    max: str | None = None
    min_cases: int = 1
    max_missing: str | None = None
    requires_manual_review: bool = False


class ObservedCount(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="observed_count", tag_field="kind"):
    """At most ``max_failures`` cases of the suite that ran may fail."""

    id: str
    metric: str
    max_failures: int
    min_cases: int = 1
    max_missing: str | None = None
    requires_manual_review: bool = False


Rule = IntervalThreshold | ObservedCount


class Policy(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``release.yaml``. A state in neither ``block_on`` nor ``warn_on`` is warned about."""

    rules: tuple[Rule, ...]
    confidence_level: float = 0.95
    interval_method: IntervalMethod = "wilson"
    block_on: tuple[State, ...] = ("FAIL", "INSUFFICIENT_EVIDENCE", "MANUAL_REVIEW")
    warn_on: tuple[State, ...] = ()


class Approval(Struct, frozen=True, kw_only=True):
    """A person's word that clears a MANUAL_REVIEW, bound to the digest of the run that they looked at."""

    rule: str
    by: str
    at: str
    run_digest: str


class Decision(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the evidence says of one rule.

    ``lower`` and ``upper`` are the bounds that decided (None: no bound; both None for an observed count).
    ``false_pass`` and ``false_fail`` are the rule's achieved error rates at its threshold (of two bounds, where they
    are larger), None where not defined. ``passed`` and ``failed`` are 0 for a quantile, which has neither.
    """

    rule: str
    metric: str
    kind: str
    state: State
    reason: Reason
    blocking: bool
    threshold: float | None = None
    maximum: float | None = None
    passed: int = 0
    failed: int = 0
    missing: int = 0
    estimate: float | None = None
    lower: float | None = None
    upper: float | None = None
    false_pass: float | None = None
    false_fail: float | None = None
    approved_by: str | None = None


class Gate(Struct, frozen=True, kw_only=True):
    """The verdict on the run. ``why`` says in a line what made it NOT_GATED, or kept it from ALLOW where nothing
    blocks; "" otherwise."""

    outcome: Outcome
    exit_code: ExitCode
    why: str = ""
