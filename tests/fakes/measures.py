"""What judged cases come to, in one call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from oloproof.metrics import Measurement
from oloproof.model.case import Case
from oloproof.model.judgment import Judgment
from oloproof.model.measured import Measured
from oloproof.model.project import QuantileSpec, SliceSpec
from oloproof.model.reading import Reading


def measure(
    judged: Iterable[tuple[Case, Reading | None, Sequence[Judgment]]],
    *,
    criteria: Sequence[str],
    quantiles: Sequence[QuantileSpec] = (),
    slices: Sequence[SliceSpec] = (),
    min_slice_support: int = 5,
) -> Measured:
    measurement = Measurement(criteria, quantiles, slices, min_slice_support)
    for case, reading, judgments in judged:
        measurement.add(case, reading, judgments)
    return measurement.measured()
