"""The count of a run whose cases were tried more than once, or belong together.

The unit is the case. Under a criterion it is its trials, (passed, failed, missing); a quantity of it is the largest of
its trials; and the cases of one cluster stand together, since they are not independent. In a slice by what the agent
did a case is counted with those of its trials that are there, so it may be in several groups.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from oloproof.metrics.measurement import slice_groups
from oloproof.metrics.quantities import UNITS, distribution
from oloproof.model.comparison import Side, Sides
from oloproof.model.measured import Flaky, Measured, Metric, PassK, Quantile, Rate, SliceGroup
from oloproof.model.project import PassKSpec, QuantileSpec, SliceSpec
from oloproof.model.slice_values import UNPLACED
from oloproof.model.tally import Amount, AtLeast, CaseTrials, Clusters, Tally


class Repeated(NamedTuple):
    """What is measured of attempts, in the order of their sides: see :class:`~oloproof.metrics.Measurement`.

    ``clusters`` names the cluster of each case that is in one.
    """

    criteria: Sequence[str]
    quantiles: Sequence[QuantileSpec]
    pass_k: Sequence[PassKSpec]
    slices: Sequence[SliceSpec]
    min_slice_support: int
    clusters: Mapping[str, str]

    def measured(self, attempts: Iterable[tuple[int, Side]]) -> Measured:
        """Everything counted: each attempt with the number of its trial, in the order of the run."""
        cases: defaultdict[str, list[tuple[int, Side]]] = defaultdict(list)
        for trial, side in attempts:
            cases[side.case_id].append((trial, side))
        tried = max(map(len, cases.values()), default=1)
        overall = _Cell({name: [side for _, side in found] for name, found in cases.items()})
        alone = tried == 1 and len(set(self.clusters.values())) == len(self.clusters)
        counter = _Counter(self, alone=alone)
        groups: list[SliceGroup] = []
        for at, spec in enumerate(self.slices):
            groups += slice_groups(spec, _placed(overall, at), counter.metrics)
        return Measured(
            len(cases),
            counter.metrics(overall),
            tuple(groups),
            self.min_slice_support,
            flaky=tuple(_flaky(self.criteria, cases)),
        )


class _Cell(NamedTuple):
    """Cases with those of their attempts that count here."""

    cases: Mapping[str, list[Side]]

    @property
    def support(self) -> int:
        return len(self.cases)


class _Counter:
    """Turns cells into metrics. ``alone``: every case was tried once and is its own cluster."""

    def __init__(self, asked: Repeated, *, alone: bool) -> None:
        self._asked = asked
        self._alone = alone
        self._sources = list(dict.fromkeys(spec.source for spec in asked.quantiles))

    def metrics(self, cell: _Cell) -> tuple[Metric, ...]:
        """Every metric over some cases: criteria, then quantiles, then those of k trials, as configured."""
        asked = self._asked
        counted = {name: self._trials(at, cell) for at, name in enumerate(asked.criteria)}
        rates = [self._rate(name, *counted[name]) for name in asked.criteria]
        quantiles = [
            Quantile(
                spec.id,
                spec.source,
                spec.quantile,
                UNITS[spec.source],
                distribution((_largest(self._sources.index(spec.source), sides), 1) for sides in cell.cases.values()),
            )
            for spec in asked.quantiles
        ]
        of_k = [PassK(spec.id, spec.type, spec.criterion, spec.k, *counted[spec.criterion]) for spec in asked.pass_k]
        return (*rates, *quantiles, *of_k)

    def _rate(self, name: str, clusters: Clusters, excluded: int) -> Rate:
        cases = Counter[str]()
        for members, count in clusters.counted:
            for case in members:
                cases[_word(case)] += count
        tally = Tally(cases["passed"], cases["failed"], cases["missing"], excluded)
        return Rate(name, tally, None if self._alone else clusters)

    def _trials(self, at: int, cell: _Cell) -> tuple[Clusters, int]:
        """How the trials of each case went under a criterion, cluster by cluster, and how many cases are excluded."""
        named: defaultdict[str, list[CaseTrials]] = defaultdict(list)
        counts: Counter[tuple[CaseTrials, ...]] = Counter()
        excluded = 0
        for case_id, sides in cell.cases.items():
            letters = "".join([side.codes[at] for side in sides])
            if letters == "x" * len(letters):
                excluded += 1
                continue
            passed, failed = letters.count("p"), letters.count("f")
            case = passed, failed, len(letters) - passed - failed
            cluster = self._asked.clusters.get(case_id)
            if cluster is None:
                counts[(case,)] += 1
            else:
                named[cluster].append(case)
        counts.update(tuple(sorted(members)) for members in named.values())
        return Clusters(tuple(sorted(counts.items()))), excluded


def by_case(sides: Sides) -> Sides:
    """Each case once, as a comparison pairs it: it passed if all its trials did, and failed if one failed. Its
    quantities are those of its largest trial; a slice value on which its trials differ is ``(unplaced)``."""
    if sides.trials == 1:
        return sides
    cases: defaultdict[str, list[Side]] = defaultdict(list)
    for side in sides.cases:
        cases[side.case_id].append(side)
    return replace(sides, cases=tuple(_together(tried) for tried in cases.values()))


def _together(tried: Sequence[Side]) -> Side:
    first = tried[0]
    letters = zip(*(side.codes for side in tried), strict=True)
    places = zip(*(side.places for side in tried), strict=True)
    return replace(
        first,
        codes="".join("f" if "f" in each else each[0] if len(set(each)) == 1 else "m" for each in letters),
        places=tuple(each[0] if len(set(each)) == 1 else UNPLACED for each in places),
        amounts=tuple(_largest(at, tried) for at in range(len(first.amounts))),
    )


def _word(case: CaseTrials) -> str:
    """A case as a count of cases sees it: one failed trial fails it, else one missing misses it."""
    passed, failed, missing = case
    return "failed" if failed else "passed" if passed and not missing else "missing"


def _placed(overall: _Cell, at: int) -> dict[str, _Cell]:
    """The attempts by their value of one slice."""
    values: defaultdict[str, defaultdict[str, list[Side]]] = defaultdict(lambda: defaultdict(list))
    for case_id, sides in overall.cases.items():
        for side in sides:
            values[side.places[at]][case_id].append(side)
    return {value: _Cell(cases) for value, cases in values.items()}


def _largest(at: int, sides: Sequence[Side]) -> Amount:
    """The largest of a quantity over the trials of a case; at least that where it is not known of one of them."""
    amounts = [side.amounts[at] for side in sides]
    most = max(amount.floor if isinstance(amount, AtLeast) else amount for amount in amounts)
    return AtLeast(most) if any(isinstance(amount, AtLeast) for amount in amounts) else most


def _flaky(criteria: Sequence[str], cases: Mapping[str, Sequence[tuple[int, Side]]]) -> Iterator[Flaky]:
    """The cases that passed and failed, by criterion, those that failed most often first."""
    for at, criterion in enumerate(criteria):
        found = []
        for case_id, attempts in cases.items():
            trials: dict[str, list[int]] = {"p": [], "f": [], "m": [], "x": []}
            for trial, side in attempts:
                trials[side.codes[at]].append(trial)
            passed, failed = trials["p"], trials["f"]
            if passed and failed:
                flaky = Flaky(
                    case=case_id,
                    criterion=criterion,
                    passed=len(passed),
                    failed=len(failed),
                    missing=len(trials["m"]),
                    passing=min(passed),
                    failing=min(failed),
                )
                found.append(flaky)
        yield from sorted(found, key=lambda flaky: (-flaky.failed / (flaky.passed + flaky.failed), flaky.case))
