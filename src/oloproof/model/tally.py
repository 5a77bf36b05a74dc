"""Counts, and what is counted: rates, distributions, slices. Counts are stored; rates and intervals are derived.

Tallies and distributions add, so slices, shards and retries merge for free.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection
from fractions import Fraction
from functools import lru_cache
from itertools import chain, repeat
from typing import Literal

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from oloproof.model.values import Json


class Tally(Struct, frozen=True, gc=False):
    """How many cases passed, failed, are missing (they apply, the record cannot say) and are excluded."""

    passed: int = 0
    failed: int = 0
    missing: int = 0
    excluded: int = 0

    @property
    def observed(self) -> int:
        """Cases with a known verdict."""
        return self.passed + self.failed

    @property
    def n(self) -> int:
        """The denominator: every case to which the criterion applies, observed or not."""
        return self.passed + self.failed + self.missing

    @property
    def estimate(self) -> float | None:
        """passed / observed, None when nothing was observed."""
        return self.passed / self.observed if self.observed else None

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.passed + other.passed,
            self.failed + other.failed,
            self.missing + other.missing,
            self.excluded + other.excluded,
        )


CaseTrials = tuple[int, int, int]
"""How many trials of a case passed, failed and are missing."""


class Clusters(Struct, frozen=True):
    """Cases of which some were tried more than once, or belong together: counts of clusters, each independent.

    ``counted`` holds the cases of a cluster, and how many clusters have just such cases; without a ``cluster:`` every
    case is its own. Cases to which the criterion does not apply are in none.
    """

    counted: tuple[tuple[tuple[CaseTrials, ...], int], ...] = ()

    @property
    def trials(self) -> Tally:
        """The trials of all cases."""
        passed, failed, missing = (
            sum(count * sum(case[word] for case in members) for members, count in self.counted) for word in range(3)
        )
        return Tally(passed, failed, missing)

    @property
    def independent(self) -> int:
        """How many clusters there are."""
        return sum(count for _, count in self.counted)

    @property
    def related(self) -> bool:
        """Whether cases belong together."""
        return self.independent < self.cases

    def known(self, least: int) -> int:
        """How many cases have at least ``least`` trials that passed or failed."""
        return sum(
            count * sum(passed + failed >= least for passed, failed, _ in members) for members, count in self.counted
        )

    @property
    def cases(self) -> int:
        return sum(count * len(members) for members, count in self.counted)

    def __add__(self, other: Clusters) -> Clusters:
        """Both, no cluster of the one being a cluster of the other."""
        counts: Counter[tuple[CaseTrials, ...]] = Counter()
        for members, count in self.counted + other.counted:
            counts[members] += count
        return Clusters(tuple(sorted(counts.items())))


class PairTable(Struct, frozen=True, gc=False):
    """How many pairs had which verdicts; where one is missing, the name says the other.

    ``fixed`` fails in the baseline and passes in the candidate, ``broken`` the reverse. ``now_pass`` passes in the
    candidate with the baseline's verdict missing, ``was_pass`` the reverse, and so on. ``excluded`` pairs are in no
    denominator.
    """

    both_pass: int = 0
    fixed: int = 0
    broken: int = 0
    both_fail: int = 0
    now_pass: int = 0
    now_fail: int = 0
    was_pass: int = 0
    was_fail: int = 0
    both_missing: int = 0
    excluded: int = 0

    @property
    def missing(self) -> int:
        """Pairs of which one verdict or both are missing."""
        return self.now_pass + self.now_fail + self.was_pass + self.was_fail + self.both_missing

    @property
    def n(self) -> int:
        """All pairs but the excluded ones."""
        return self.both_pass + self.fixed + self.broken + self.both_fail + self.missing

    @property
    def difference(self) -> float | None:
        """The candidate's pass rate minus the baseline's over the pairs with both verdicts; None without any."""
        known = self.n - self.missing
        return (self.fixed - self.broken) / known if known else None

    @property
    def cells(self) -> tuple[int, ...]:
        """The nine counts in their order, without the excluded pairs."""
        return (
            self.both_pass,
            self.fixed,
            self.broken,
            self.both_fail,
            self.now_pass,
            self.now_fail,
            self.was_pass,
            self.was_fail,
            self.both_missing,
        )


class AtLeast(Struct, frozen=True, gc=False):
    """A quantity that the record does not settle; it is known to be ``floor`` or more (0: nothing is known)."""

    floor: float


Amount = float | AtLeast


class Distribution(Struct, frozen=True, gc=False):
    """Values of a quantity over cases, as sorted (value, count) pairs.

    ``floors`` are the cases whose value is unknown but is at least the floor (a truncated count); a case about which
    nothing is known has the floor 0, since no quantity here is negative. Every case is in one of the two.
    """

    observed: tuple[tuple[float, int], ...] = ()
    floors: tuple[tuple[float, int], ...] = ()

    @property
    def observed_count(self) -> int:
        return sum(count for _, count in self.observed)

    @property
    def missing_count(self) -> int:
        return sum(count for _, count in self.floors)

    @property
    def n(self) -> int:
        return self.observed_count + self.missing_count

    @property
    def observed_values(self) -> list[float]:
        """Every observed value as often as it occurs, sorted."""
        return _expanded(self.observed)

    @property
    def floor_values(self) -> list[float]:
        """Every floor likewise."""
        return _expanded(self.floors)

    def __add__(self, other: Distribution) -> Distribution:
        return Distribution(_merged(self.observed, other.observed), _merged(self.floors, other.floors))


def _merged(a: tuple[tuple[float, int], ...], b: tuple[tuple[float, int], ...]) -> tuple[tuple[float, int], ...]:
    counts: Counter[float] = Counter()
    for value, count in a + b:
        counts[value] += count
    return tuple(sorted(counts.items()))


def _expanded(counted: tuple[tuple[float, int], ...]) -> list[float]:
    return list(chain.from_iterable(repeat(value, count) for value, count in counted))


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

UNPLACED = "(unplaced)"
NONE = "(none)"
OTHERS = "(others)"
RESERVED = frozenset({NONE, OTHERS, UNPLACED})
_SCALAR = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")


def value_text(value: Json | UnsetType) -> str:
    """A JSON value as the value of a slice: strings as they are, numbers that are equal alike, the rest as JSON.

    UNSET is ``(none)``. A string that reads like one of the report's own rows, or like another JSON value (``1``,
    ``true``), is in quotes, so that no agent and no dataset can put a case there.
    """
    if isinstance(value, str):
        return _known_text(value) if len(value) <= _SHORT else _string_text(value)
    if value is UNSET:
        return NONE
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _string_text(value: str) -> str:
    return json.dumps(value) if value in RESERVED or _reads_like_json(value) else value


_SHORT = 64
_known_text = lru_cache(maxsize=1024)(_string_text)
"""Of a run's cases most have one of a few values; long ones are not worth their memory."""


def _reads_like_json(text: str) -> bool:
    if text[:1] not in ('"', "[", "{"):
        return _SCALAR.fullmatch(text) is not None
    try:
        json.loads(text)
    except RecursionError:
        return True
    except ValueError:
        return False
    return True


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


class Move(Struct, frozen=True):
    """One row of two trajectories' calls side by side. ``now`` and ``was`` are step indexes, None where that side has
    no such call."""

    kind: Literal["same", "inserted", "deleted", "changed_arguments"]
    tool: str
    now: int | None
    was: int | None


NOWHERE = Move("same", "", None, None)
"""Where the calls of two trajectories part that do not."""


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
