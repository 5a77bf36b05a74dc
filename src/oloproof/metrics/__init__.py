"""The stage that counts: judgments in, rates, distributions and slices out."""

from __future__ import annotations

from oloproof.metrics.measurement import MAX_VALUES, Measurement, measure
from oloproof.metrics.quantities import UNITS, AtLeast, observe
from oloproof.metrics.slices import parse_slice, placer

__all__ = ["MAX_VALUES", "UNITS", "AtLeast", "Measurement", "measure", "observe", "parse_slice", "placer"]
