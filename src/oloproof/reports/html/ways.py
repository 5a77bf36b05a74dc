"""Links from a criterion to the attempts behind its figures, in the list of the same page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import quote

from msgspec import Struct

from oloproof.model.measured import Metric, Rate
from oloproof.model.run import Report
from oloproof.reports.inert import inert


class Way(Struct, frozen=True):
    """``text`` says what ``address``, a filter of the list, leaves in it; ``criterion`` is the one that it is of."""

    criterion: str
    text: str
    address: str


def ways(metric: Metric) -> tuple[Way, ...]:
    """To the attempts that fail the criterion and to those that it is missing of; none for what is no criterion."""
    return tuple(_ways(metric)) if isinstance(metric, Rate) else ()


def blocking_ways(report: Report) -> tuple[Way, ...]:
    """Those of the criteria whose rules block, in the rules' order, each once."""
    metrics = {metric.id: metric for metric in report.measured.metrics}
    return tuple(way for name in _blocking(report) if name in metrics for way in ways(metrics[name]))


def broken_ways(report: Report) -> tuple[Way, ...]:
    """From a comparison, which the report must hold, to the broken cases of the criteria whose rules block."""
    assert report.comparison is not None
    broken = {criterion.id: len(criterion.broken_cases) for criterion in report.comparison.criteria}
    return tuple(_broken(name, broken[name]) for name in _blocking(report) if broken.get(name))


def _blocking(report: Report) -> Iterable[str]:
    return dict.fromkeys(decision.metric for decision in report.decisions if decision.blocking)


def _broken(criterion: str, count: int) -> Way:
    name = inert(criterion)
    text = f"see the {count:,} {'that is' if count == 1 else 'that are'} broken"
    return Way(name, text, f"#slice={quote(f'{name}=broken', safe='')}")


def _ways(rate: Rate) -> Iterator[Way]:
    name, judged = inert(rate.id), rate.judged
    for verdict, count, one, more in (
        ("fail", judged.failed, "that fails", "that fail"),
        ("missing", judged.missing, "that is missing", "that are missing"),
    ):
        if count:
            address = f"#criterion={quote(name, safe='')}&verdict={verdict}"
            yield Way(name, f"see the {count:,} {one if count == 1 else more}", address)
