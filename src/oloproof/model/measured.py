"""What was measured of a run: metrics over all its cases and over slices of them, what went wrong, what was flaky."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from oloproof.model.alignment import Move
from oloproof.model.tally import Clusters, Distribution, Tally


class Rate(Struct, frozen=True, tag="rate", tag_field="kind"):
    """A criterion over a group of cases.

    ``clusters`` are there where cases were tried more than once or belong together. Then a case of the ``tally``
    passed if all its trials did, failed if one did, and is missing otherwise; the estimate is the mean of their rates.
    ``vacuous``: no case of the run gave it anything to say, so that its passes are no evidence.
    """

    id: str
    tally: Tally
    clusters: Clusters | None = None
    vacuous: bool = False

    @property
    def judged(self) -> Tally:
        """The verdicts, one a trial; excluded cases count once."""
        if self.clusters is None:
            return self.tally
        return self.clusters.trials + Tally(excluded=self.tally.excluded)


class Quantile(Struct, frozen=True, tag="quantile", tag_field="kind"):
    """A quantile of a quantity over a group of cases. ``quantile`` is the decimal as written ("0.95")."""

    id: str
    source: str
    quantile: str
    unit: str
    distribution: Distribution

    @property
    def q(self) -> Fraction:
        return Fraction(self.quantile)


PassKind = Literal["pass_at_k", "pass_hat_k"]


class PassK(Struct, frozen=True, tag="pass_k", tag_field="kind"):
    """How likely some (``pass_at_k``) or all (``pass_hat_k``) of ``k`` trials of a case pass a criterion, as a mean
    over cases. ``excluded`` counts the cases to which the criterion does not apply."""

    id: str
    type: PassKind
    criterion: str
    k: int
    clusters: Clusters
    excluded: int = 0

    @property
    def observed(self) -> int:
        """Cases of which at least ``k`` trials are known."""
        return self.clusters.known(self.k)

    @property
    def missing(self) -> int:
        return self.clusters.cases - self.observed


Metric = Rate | Quantile | PassK

MIN_SLICE_SUPPORT = 5
"""Below this many cases a slice shows counts and no interval, where the project does not say otherwise."""


class SliceGroup(Struct, frozen=True):
    """The cases of one value of one slice. ``support`` counts them. ``metrics`` is empty for ``(others)``."""

    slice: str
    value: str
    support: int
    metrics: tuple[Metric, ...]


class ErrorGroup(Struct, frozen=True, kw_only=True):
    """Attempts that went wrong alike.

    ``kind`` is ``system_error``, ``timeout`` or ``evaluator_error``; ``message`` is the first line of what was said
    first, None for all further messages of the kind, of which only the attempts are counted. ``varied``: the others
    said the same of other ids. ``first`` names the first case, ``trial`` its attempt.
    """

    kind: str
    message: str | None
    cases: int
    first: str
    trial: int = 1
    varied: bool = False


class Flaky(Struct, frozen=True, kw_only=True):
    """A case that passed a criterion in some of its trials and failed in others.

    ``passing`` and ``failing`` are the first trial of either kind. ``parting`` is where their calls first differ,
    ``now`` being the failing one; None where it was not looked up or a trajectory is lacking.
    """

    case: str
    criterion: str
    passed: int
    failed: int
    missing: int
    passing: int
    failing: int
    parting: Move | None = None


class Measured(Struct, frozen=True):
    """Everything that was counted in a run: ``metrics`` over all cases, ``slices`` over groups of them, what went
    wrong, and which cases were ``flaky``."""

    cases: int
    metrics: tuple[Metric, ...]
    slices: tuple[SliceGroup, ...] = ()
    min_slice_support: int = MIN_SLICE_SUPPORT
    errors: tuple[ErrorGroup, ...] = ()
    flaky: tuple[Flaky, ...] = ()


def with_vacuous(measured: Measured, criteria: Collection[str]) -> Measured:
    """The same counts, with those of the ``criteria`` that no case failed marked as vacuous."""

    def marked(metrics: tuple[Metric, ...]) -> tuple[Metric, ...]:
        return tuple(
            replace(metric, vacuous=True)
            if isinstance(metric, Rate) and metric.id in criteria and not metric.judged.failed
            else metric
            for metric in metrics
        )

    if not criteria:
        return measured
    slices = tuple(replace(group, metrics=marked(group.metrics)) for group in measured.slices)
    return replace(measured, metrics=marked(measured.metrics), slices=slices)
