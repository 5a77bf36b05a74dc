"""The slices in short: a row a slice value, a column a criterion, estimates without intervals."""

from __future__ import annotations

from oloproof.model.tally import Measured, Rate, SliceGroup, Tally
from oloproof.reports.figures import NOTHING
from oloproof.reports.inert import inert
from oloproof.reports.shapes import Table
from oloproof.stats.rounding import percent_estimate


def slice_grid(measured: Measured) -> Table:
    """``first_tool=search │ 7 │ 57.1% (4/7) │ …``, the criteria in the order of the run."""
    criteria = [metric.id for metric in measured.metrics if isinstance(metric, Rate)]
    return Table(
        "slices",
        ("slice", "support", *map(inert, criteria)),
        tuple(
            (f"{inert(group.slice)}={inert(group.value)}", str(group.support), *_cells(group, criteria))
            for group in measured.slices
        ),
    )


def _cells(group: SliceGroup, criteria: list[str]) -> list[str]:
    tallies = {metric.id: metric.tally for metric in group.metrics if isinstance(metric, Rate)}
    return [_cell(tallies.get(criterion, Tally())) for criterion in criteria]


def _cell(tally: Tally) -> str:
    if not tally.observed:
        return NOTHING
    return f"{percent_estimate(tally.passed, tally.observed)}% ({tally.passed}/{tally.observed})"
