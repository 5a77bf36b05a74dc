"""The count of a run, case by case, and what it amounts to.

A case is counted once a slice, in the cell of its slice value, under the words of all its criteria together and its
observed quantities together; tallies and distributions are taken apart when the run is over. So memory grows with what
is distinct, not with the cases, and the counts of shards add. Cases that are alike in everything, as most are, wait
under one key until they are counted together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Protocol, TypeVar

from msgspec import Struct

from oloproof.metrics.quantities import UNITS, distribution, observe
from oloproof.metrics.slices import Placer, labels, placer
from oloproof.model.case import Case
from oloproof.model.judgment import Judgment, Word
from oloproof.model.measured import MIN_SLICE_SUPPORT, Measured, Metric, Quantile, Rate, SliceGroup
from oloproof.model.project import QuantileSpec, QuantitySource, SliceSpec
from oloproof.model.reading import Reading
from oloproof.model.slice_values import OTHERS, UNPLACED
from oloproof.model.tally import Amount, Distribution, Tally

MAX_VALUES = 50
"""Values of one slice that are measured, by support; the cases of the others are only counted."""

_MOST_WAITING = 1024
"""Kinds of cases that are told apart before they are counted in their cells; who has more has few that are alike."""


class Cell(Protocol):
    """The cases of one slice value."""

    @property
    def support(self) -> int:
        """How many they are."""


C = TypeVar("C", bound=Cell)


class _Cell:
    """The cases of one slice value: how often each combination of words, and of quantities, occurred."""

    __slots__ = ("amounts", "words")

    def __init__(self) -> None:
        self.words: Counter[tuple[Word, ...]] = Counter()
        self.amounts: Counter[tuple[Amount, ...]] = Counter()

    @property
    def support(self) -> int:
        return self.words.total()

    def take(self, other: _Cell) -> None:
        """Count the other cell's cases here too."""
        self.words.update(other.words)
        self.amounts.update(other.amounts)

    def tallies(self, criteria: int) -> list[Tally]:
        counters: list[Counter[Word]] = [Counter() for _ in range(criteria)]
        for words, count in self.words.items():
            for counter, word in zip(counters, words, strict=True):
                counter[word] += count
        return [Tally(c["pass"], c["fail"], c["missing"], c["excluded"]) for c in counters]

    def distributions(self, sources: Sequence[QuantitySource]) -> dict[QuantitySource, Distribution]:
        return {
            source: distribution((amounts[at], count) for amounts, count in self.amounts.items())
            for at, source in enumerate(sources)
        }


class CountedCase(Struct, frozen=True, gc=False):
    """As what a case was counted: a value a slice, and a quantity a source, each once, in the quantiles' order."""

    places: tuple[str, ...]
    amounts: tuple[Amount, ...]


class Measurement:
    """Counts cases as they are judged.

    ``criteria`` names the judgments of a case in their order. Measurements of the same configuration add.
    """

    def __init__(
        self,
        criteria: Sequence[str],
        quantiles: Sequence[QuantileSpec],
        slices: Sequence[SliceSpec],
        min_slice_support: int = MIN_SLICE_SUPPORT,
    ) -> None:
        self.criteria = tuple(criteria)
        self.quantiles = tuple(quantiles)
        self.slices = tuple(slices)
        self.min_slice_support = min_slice_support
        self._sources: tuple[QuantitySource, ...] = tuple(dict.fromkeys(spec.source for spec in self.quantiles))
        self._observers = [partial(observe, source) for source in self._sources]
        # Every case has exactly one value of each slice, so the cells of any slice hold the totals; without slices
        # those of a slice of one value do.
        self._placers: list[Placer] = [placer(spec) for spec in self.slices] or [lambda _case, _reading: ""]
        self._tables: list[defaultdict[str, _Cell]] = [defaultdict(_Cell) for _ in self._placers]
        self._waiting: dict[tuple[tuple[str, ...], tuple[Word, ...], tuple[Amount, ...]], int] = {}

    def add(self, case: Case, reading: Reading | None, judgments: Sequence[Judgment]) -> CountedCase:
        """Count one case, and say where. ``reading`` None: no trajectory was recorded. One judgment a criterion, in
        their order."""
        words = tuple([judgment.verdict for judgment in judgments])
        amounts = tuple([observer(reading) for observer in self._observers]) if self._observers else ()
        places = tuple([place(case, reading) for place in self._placers])
        waiting, kind = self._waiting, (places, words, amounts)
        waiting[kind] = waiting.get(kind, 0) + 1
        if len(waiting) > _MOST_WAITING:
            self._settle()
        return CountedCase(places if self.slices else (), amounts)

    def _settle(self) -> None:
        """Count the waiting cases in their cells."""
        for (places, words, amounts), count in self._waiting.items():
            for value, cells in zip(places, self._tables, strict=True):
                cell = cells[value]
                cell.words[words] += count
                cell.amounts[amounts] += count
        self._waiting.clear()

    def __add__(self, other: Measurement) -> Measurement:
        """The measurement of both lots of cases. Raises ValueError when they were not configured alike."""
        mine = (self.criteria, self.quantiles, self.slices, self.min_slice_support)
        if mine != (other.criteria, other.quantiles, other.slices, other.min_slice_support):
            raise ValueError("measurements of different criteria, quantiles or slices do not add")
        result = Measurement(*mine)
        for part in (self, other):
            part._settle()
            for total, cells in zip(result._tables, part._tables, strict=True):
                for value, cell in cells.items():
                    total[value].take(cell)
        return result

    def measured(self) -> Measured:
        """Everything counted so far. Raises ValueError when a case had not one judgment a criterion."""
        self._settle()
        overall = _Cell()
        for cell in self._tables[0].values():
            overall.take(cell)
        groups: list[SliceGroup] = []
        for spec, cells in zip(self.slices, self._tables, strict=False):
            groups += slice_groups(spec, cells, self._metrics)
        return Measured(overall.support, self._metrics(overall), tuple(groups), self.min_slice_support)

    def _metrics(self, cell: _Cell) -> tuple[Metric, ...]:
        """Every configured metric over some cases: criteria first, then quantiles, as configured."""
        rates = map(Rate, self.criteria, cell.tallies(len(self.criteria)))
        distributions = cell.distributions(self._sources)
        quantiles = (
            Quantile(spec.id, spec.source, spec.quantile, UNITS[spec.source], distributions[spec.source])
            for spec in self.quantiles
        )
        return (*rates, *quantiles)


def slice_groups(
    spec: SliceSpec, cells: Mapping[str, C], metrics: Callable[[C], tuple[Metric, ...]]
) -> Iterator[SliceGroup]:
    """The rows of a slice: its values in order, then ``(others)`` and ``(unplaced)`` where they hold a case."""
    ranked = sorted(cells.keys() - {UNPLACED}, key=lambda value: (-cells[value].support, value))
    shown, others = ranked[:MAX_VALUES], ranked[MAX_VALUES:]
    if spec.bounds:
        shown.sort(key=labels(spec.bounds).index)
    if others:
        shown.append(OTHERS)
    if UNPLACED in cells:
        shown.append(UNPLACED)
    for value in shown:
        if value == OTHERS:
            yield SliceGroup(spec.name, OTHERS, sum(cells[other].support for other in others), ())
        else:
            yield SliceGroup(spec.name, value, cells[value].support, metrics(cells[value]))
