"""What a policy can settle with a number of cases, and how likely: what ``plan`` finds before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from msgspec import Struct, field

from oloproof.model.decision import IntervalMethod


class Scenario(Struct, frozen=True, kw_only=True):
    """What is assumed to be true of the system, of which nothing has run.

    ``truths`` holds by rule the share of cases that pass, or that keep to the rule's bound on a quantity; a rule that
    is not there has none. ``discordant`` holds by rule that compares the share of pairs on which two runs disagree, and
    ``difference`` how much more often the candidate passes; ``passing``, where it is known, the share of cases that
    pass. ``labels`` holds by rule what of it concerns that rule, in
    words; the ``name`` says all of it.
    """

    name: str
    truths: Mapping[str, Fraction] = field(default_factory=dict)
    discordant: Mapping[str, float] = field(default_factory=dict)
    passing: Mapping[str, Fraction] = field(default_factory=dict)
    difference: float | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    def label(self, rule: str) -> str:
        """What it is called beside this rule."""
        return self.labels.get(rule, self.name)


class Chances(Struct, frozen=True):
    """The probabilities of the three verdicts of a rule."""

    passes: float
    fails: float
    undecided: float

    @property
    def flips(self) -> float:
        """The probability that two runs under the same truth differ in the verdict."""
        return max(0.0, 1 - self.passes**2 - self.fails**2 - self.undecided**2)


class Needed(Struct, frozen=True):
    """How many cases give the right verdict with the probability ``chance``: the first number, and the first that all
    of the next ones keep to, since the probability rises in saw-teeth. None: more than 20,000."""

    chance: float
    first: int | None
    stable: int | None


class StoppedEarly(Struct, frozen=True):
    """A rule of a run that may stop early, looked at alone: how likely it is settled as PASS and as FAIL, and after how
    many cases on average, all of them where it is not."""

    passes: float
    fails: float
    cases: float


class CountedRow(Struct, frozen=True, kw_only=True):
    """A rule under one truth. ``needed`` is empty where more cases are not what decides. ``early`` is None where the
    policy lets no run stop early, or that is not foreseen for the rule."""

    scenario: str
    truth: Fraction
    chances: Chances
    needed: tuple[Needed, ...] = ()
    early: StoppedEarly | None = None


class PairRow(Struct, frozen=True, kw_only=True):
    """A rule that compares, under one truth. ``needed`` holds by probability about how many pairs let it pass, None
    where no number would."""

    scenario: str
    discordant: float
    difference: float
    chances: Chances
    needed: tuple[tuple[float, int | None], ...] = ()


class RulePlan(Struct, frozen=True, kw_only=True):
    """What n applicable cases could settle of any rule; ``outlook`` says it in a sentence."""

    rule: str
    metric: str
    kind: str
    n: int
    outlook: str


class CountedPlan(RulePlan, frozen=True, kw_only=True):
    """A rule that turns at whole numbers of cases that pass, or of cases within the bound on a quantity.

    PASS from ``pass_from`` to ``pass_to`` of n and FAIL up to ``fail_to`` and from ``fail_from`` on; None where no
    number is. ``may_be_missing``: how many cases may be missing in a PASS at most, None where nothing passes.
    """

    pass_from: int | None
    pass_to: int | None
    fail_to: int | None
    fail_from: int | None
    may_be_missing: int | None
    rows: tuple[CountedRow, ...] = ()


class RatePlan(CountedPlan, frozen=True, kw_only=True):
    """A bound on a pass rate. ``false_pass`` and ``false_fail`` are the errors that it achieves at its bound, each
    promised to be ``nominal``; ``advice`` is "" where they are near that."""

    false_pass: float
    false_fail: float
    nominal: float
    advice: str = ""


class CountPlan(CountedPlan, frozen=True, kw_only=True):
    """A count of failures. ``proves``: n cases without one show at the policy's level that at most this share of all
    cases fails; None where no case applies."""

    proves: float | None


class QuantilePlan(CountedPlan, frozen=True, kw_only=True):
    """A bound on a quantile. ``bound_needs``: the smallest n, none missing, at which the interval has the bound that a
    PASS looks at."""

    bound_needs: int


class PairPlan(RulePlan, frozen=True, kw_only=True):
    """A rule that compares. ``agreeing_needs``: how many pairs let it pass if the runs agree on all; None where that
    would not, or no more than one are needed."""

    agreeing_needs: int | None
    rows: tuple[PairRow, ...] = ()


AnyPlan = RatePlan | CountPlan | QuantilePlan | PairPlan


class GateFlips(Struct, frozen=True, kw_only=True):
    """The whole gate of an unchanged system, under one truth: between which bounds the probability lies that a run is
    let through, and that two runs differ in it. How rules about different metrics hang together is not known."""

    scenario: str
    allow: tuple[float, float]
    flips: tuple[float, float]


class SuitePlan(Struct, frozen=True, kw_only=True):
    """The plan of a policy. ``cases`` is None where each rule only knows its own; ``gate`` is None where it was not
    asked for. ``run`` names the run whose figures were taken for true, None before any."""

    project: str
    cases: int
    level: float
    method: IntervalMethod
    rules: tuple[AnyPlan, ...]
    gate: tuple[GateFlips, ...] | None = None
    run: str | None = None
