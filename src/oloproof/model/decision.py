"""The policy (what must hold) and the decisions (what the evidence says of it)."""

from __future__ import annotations

from typing import ClassVar, Literal, get_args, overload

from msgspec import Struct

from oloproof.errors import ExitCode
from oloproof.model.stopping import EarlyStopping, Settled
from oloproof.model.tally import PairTable, Tally

IntervalMethod = Literal["wilson", "exact"]
State = Literal["PASS", "FAIL", "INSUFFICIENT_EVIDENCE", "MANUAL_REVIEW"]
Outcome = Literal["ALLOW", "BLOCK", "NOT_GATED"]

CountReason = Literal["observed_failures_exceed_limit", "observed_failures_within_limit", "missing_could_hide_failures"]
IntervalReason = Literal[
    "lower_bound_meets_minimum",
    "upper_bound_below_minimum",
    "upper_bound_meets_maximum",
    "lower_bound_above_maximum",
    "interval_within_bounds",
    "interval_overlaps_threshold",
]
PairReason = Literal[
    "difference_above_zero",
    "difference_not_above_zero",
    "difference_within_margin",
    "difference_beyond_margin",
    "difference_overlaps_margin",
    "new_failures_exceed_limit",
    "new_failures_within_limit",
    "missing_could_hide_new_failures",
    "no_baseline",
]
PairKind = Literal["superiority", "non_inferiority", "equivalence", "max_new_failures"]
Reason = (
    CountReason
    | IntervalReason
    | PairReason
    | Literal["no_observation", "below_min_cases", "missing_exceeds_policy", "stopped_early", "review_required"]
)
REASONS: tuple[str, ...] = tuple(reason for kind in get_args(Reason) for reason in get_args(kind))


class RuleBase(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What every rule says: its name, the metric that it is about, and when its evidence is too thin to settle it."""

    id: str
    metric: str
    min_cases: int = 1
    max_missing: str | None = None
    requires_manual_review: bool = False


class IntervalThreshold(RuleBase, frozen=True, kw_only=True, tag="interval_threshold", tag_field="kind"):
    """The metric's interval must lie on the good side of ``min`` and ``max`` (at least one is given).

    For a rate the bounds are shares in [0, 1]; for a quantile they are in the quantity's unit. They are kept as the
    decimals that were written ("0.70"), so that no binary rounding comes between the user and the rule.
    """

    min: str | None = None
    max: str | None = None


class ObservedCount(RuleBase, frozen=True, kw_only=True, tag="observed_count", tag_field="kind"):
    """At most ``max_failures`` cases of the suite that ran may fail."""

    max_failures: int


class Superiority(RuleBase, frozen=True, kw_only=True, tag="superiority", tag_field="kind"):
    """The candidate passes more often than the baseline: the interval of the difference lies above 0."""


class NonInferiority(RuleBase, frozen=True, kw_only=True, tag="non_inferiority", tag_field="kind"):
    """The candidate passes at most ``margin`` (a share, as written) less often than the baseline."""

    margin: str


class Equivalence(RuleBase, frozen=True, kw_only=True, tag="equivalence", tag_field="kind"):
    """The pass rates differ by at most ``margin`` (a share, as written), either way."""

    margin: str


MOST_RERUNS = 100
"""How often a rule may have a newly broken case run again."""


class MaxNewFailures(RuleBase, frozen=True, kw_only=True, tag="max_new_failures", tag_field="kind"):
    """At most ``max_new_failures`` cases that passed in the baseline may fail now. About the suite that ran.

    Those cases are run ``confirm`` times more, and one that passes every time counts as no new failure.
    """

    max_new_failures: int
    confirm: int = 0


PairRule = Superiority | NonInferiority | Equivalence | MaxNewFailures
Rule = IntervalThreshold | ObservedCount | PairRule


@overload
def kind_of(rule: PairRule) -> PairKind: ...


@overload
def kind_of(rule: Rule) -> str: ...


def kind_of(rule: Rule) -> str:
    """The rule's kind, as the policy writes it."""
    return str(rule.__struct_config__.tag)


class Policy(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``release.yaml``. A state in neither ``block_on`` nor ``warn_on`` is warned about.

    ``accept_changed_cases`` are ids of baseline cases that may be gone or changed, for the rules that compare.
    ``early_stopping`` None: every case is run.
    """

    rules: tuple[Rule, ...]
    confidence_level: float = 0.95
    interval_method: IntervalMethod = "wilson"
    block_on: tuple[State, ...] = ("FAIL", "INSUFFICIENT_EVIDENCE", "MANUAL_REVIEW")
    warn_on: tuple[State, ...] = ()
    accept_changed_cases: tuple[str, ...] = ()
    early_stopping: EarlyStopping | None = None

    @property
    def pair_rules(self) -> tuple[PairRule, ...]:
        """The rules that compare."""
        return tuple(rule for rule in self.rules if isinstance(rule, PairRule))

    def decides_like(self, other: Policy) -> bool:
        """Whether both put the same questions to a run and answer them alike; what then blocks may differ."""
        mine, others = (
            (policy.rules, policy.confidence_level, policy.interval_method, policy.early_stopping)
            for policy in (self, other)
        )
        return mine == others


class Approval(Struct, frozen=True, kw_only=True):
    """A person's word that clears a MANUAL_REVIEW. ``run_digest`` is of the run that they looked at, of the rule and of
    what was found."""

    rule: str
    by: str
    at: str
    run_digest: str


class _TallyFinding(Struct, frozen=True, kw_only=True):
    """What a rule about passes and failures looked at."""

    tally: Tally

    @property
    def n(self) -> int:
        return self.tally.n

    @property
    def observed(self) -> int:
        return self.tally.observed

    @property
    def missing(self) -> int:
        return self.tally.missing


class CountFinding(_TallyFinding, frozen=True, kw_only=True):
    """What a rule about the number of failures looked at."""

    kind: ClassVar[str] = "observed_count"

    max_failures: int


class Basis(Struct, frozen=True, kw_only=True):
    """By which interval a rule was decided where that is not the policy's own: of a rule that evidence may settle, the
    anytime-valid one of the moment when it did, or the policy's method at the level that is left for the full run."""

    method: IntervalMethod | Literal["anytime_mixture"]
    level: float


class RateFinding(_TallyFinding, frozen=True, kw_only=True):
    """What a rule about a rate looked at: ``lower`` and ``upper`` are the bounds that decided.

    ``minimum`` and ``maximum`` are None where the rule has none. ``false_pass`` and ``false_fail`` are the rule's
    achieved error rates at its threshold (of two, where they are larger; with what evidence could have erred by
    before), None where they are not known: the criterion applies to no case, evidence decided, or cases were tried
    more than once or belong together. Then ``trials`` counts verdicts, and ``effective`` is how many independent cases
    they are worth. ``basis`` None: the policy's method and level decided.
    """

    kind: ClassVar[str] = "interval_threshold"

    minimum: float | None = None
    maximum: float | None = None
    lower: float
    upper: float
    false_pass: float | None = None
    false_fail: float | None = None
    basis: Basis | None = None
    trials: Tally | None = None
    effective: float | None = None

    @property
    def observed(self) -> int:
        """Cases with a known verdict; of trials, those too that leave the verdict on their case open."""
        return self.tally.observed or (self.trials.observed if self.trials else 0)


class QuantileFinding(Struct, frozen=True, kw_only=True):
    """The same about a quantile, in its unit. ``lower`` and ``upper`` are None where there is no bound."""

    kind: ClassVar[str] = "interval_threshold"

    observed: int
    missing: int
    minimum: float | None = None
    maximum: float | None = None
    lower: float | None = None
    upper: float | None = None

    @property
    def n(self) -> int:
        return self.observed + self.missing


class PassKFinding(Struct, frozen=True, kw_only=True):
    """What a rule about k trials of a case looked at. ``effective`` is how many independent cases it is worth."""

    kind: ClassVar[str] = "interval_threshold"

    observed: int
    missing: int
    minimum: float | None = None
    maximum: float | None = None
    lower: float
    upper: float
    effective: float

    @property
    def n(self) -> int:
        return self.observed + self.missing


class Confirmation(Struct, frozen=True, kw_only=True):
    """What running the ``broken`` cases again came to, ``rerun`` of them ``times`` times: ``cleared`` passed every
    time, ``persisted`` failed once more or were not run again, and of the rest it is ``unknown``: a re-run is missing,
    and none failed."""

    times: int
    broken: int
    rerun: int
    cleared: int
    persisted: int

    @property
    def unknown(self) -> int:
        return self.broken - self.cleared - self.persisted


class PairFinding(Struct, frozen=True, kw_only=True):
    """What a rule about a comparison looked at: ``lower`` and ``upper`` bound the candidate's pass rate minus the
    baseline's. ``margin`` is None for a superiority; for new failures ``limit`` is how many may be, and
    ``confirmation`` is there where a rule asks for one."""

    kind: PairKind
    table: PairTable
    lower: float
    upper: float
    margin: float | None = None
    limit: int | None = None
    confirmation: Confirmation | None = None

    @property
    def n(self) -> int:
        return self.table.n

    @property
    def observed(self) -> int:
        return self.table.n - self.table.missing

    @property
    def missing(self) -> int:
        return self.table.missing


class NoBaseline(Struct, frozen=True, kw_only=True):
    """There was nothing to compare with: no baseline, or one without the metric."""

    kind: PairKind
    n: int = 0
    observed: int = 0
    missing: int = 0


Finding = CountFinding | RateFinding | QuantileFinding | PassKFinding | PairFinding | NoBaseline


class Decision(Struct, frozen=True, kw_only=True):
    """What the evidence (``finding``) says of one rule. ``approved_by`` is who cleared a review, None where nobody, and
    ``approval`` the digest to which their word is bound. ``settled`` says when, in a run that stopped early or on
    evidence; None elsewhere."""

    rule: str
    metric: str
    state: State
    reason: Reason
    blocking: bool
    finding: Finding
    approved_by: str | None = None
    approval: str = ""
    settled: Settled | None = None


class Gate(Struct, frozen=True, kw_only=True):
    """The verdict on the run. ``why`` says in a line what made it NOT_GATED, or kept it from ALLOW where nothing
    blocks; "" otherwise."""

    outcome: Outcome
    exit_code: ExitCode
    why: str = ""
