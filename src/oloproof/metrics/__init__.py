"""The stage that counts: judgments in, rates, distributions, slices and groups of errors out."""

from __future__ import annotations

from oloproof.metrics.alignment import align, parting
from oloproof.metrics.compare import comparable, compare, tallies
from oloproof.metrics.errors import ErrorGroups
from oloproof.metrics.measurement import MAX_VALUES, Measurement
from oloproof.metrics.quantities import UNITS, observe
from oloproof.metrics.repeated import Repeated, by_case
from oloproof.metrics.slices import parse_slice, placer

__all__ = [
    "MAX_VALUES",
    "UNITS",
    "ErrorGroups",
    "Measurement",
    "Repeated",
    "align",
    "by_case",
    "comparable",
    "compare",
    "observe",
    "parse_slice",
    "parting",
    "placer",
    "tallies",
]
