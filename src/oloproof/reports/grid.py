"""The slices in short: a row a slice value, a column a criterion, estimates without intervals."""

from __future__ import annotations

from oloproof.model.measured import Measured, Rate, SliceGroup
from oloproof.reports.figures import NOTHING, VACUOUS, estimate_text, rate_estimate, rate_text
from oloproof.reports.inert import inert
from oloproof.reports.shapes import Table


def slice_grid(measured: Measured) -> Table:
    """``first_tool=search │ 7 │ 57.1% (4/7) │ …``, the criteria in the order of the run."""
    criteria = [metric.id for metric in measured.metrics if isinstance(metric, Rate)]
    return Table(
        "slices",
        ("slice", "support", *map(inert, criteria)),
        tuple(
            (f"{inert(group.slice)}={inert(group.value)}", f"{group.support:,}", *_cells(group, criteria))
            for group in measured.slices
        ),
    )


def _cells(group: SliceGroup, criteria: list[str]) -> list[str]:
    rates = {metric.id: metric for metric in group.metrics if isinstance(metric, Rate)}
    return [_cell(rates.get(criterion)) for criterion in criteria]


def _cell(rate: Rate | None) -> str:
    """The estimate, and the verdicts behind it: one a trial."""
    if rate is None or not rate.judged.observed:
        return NOTHING
    if rate.vacuous:
        return VACUOUS
    judged = rate.judged
    if rate.clusters is None:
        return rate_text(judged)
    return f"{estimate_text(rate, rate_estimate(rate.clusters))} ({judged.passed:,}/{judged.observed:,})"
