"""The pages of a run and of a comparison, around the cases that are packed inside or asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from oloproof.model.run import Report
from oloproof.reports.bars import bars, difference_bars
from oloproof.reports.comparison import Partings, comparison_tables, pairs_text
from oloproof.reports.html.discretion import discreet_report
from oloproof.reports.html.frame import environment, framed
from oloproof.reports.html.parts import Entry, Part, packed
from oloproof.reports.html.ways import blocking_ways, broken_ways, ways
from oloproof.reports.inert import inert
from oloproof.reports.points import LEGEND
from oloproof.reports.view import view


def report_page(
    report: Report,
    entries: Iterable[Entry],
    *,
    config: str = "",
    baseline: str = "",
    content: bool = True,
    source: str | None = None,
) -> Iterator[str]:
    """The page, in pieces that follow one another; ``entries`` are read once, as the page is.

    ``config`` and ``baseline`` are as in :func:`~oloproof.reports.view.view`. Without ``content``,
    inputs, outputs, arguments and results are left out. ``source`` is the address at which a server gives the list of
    cases and each of them; then there are no ``entries``.
    """
    shown = report if content else discreet_report(report)
    drawn, plots = view(shown, config=config, baseline=baseline), bars(shown)
    parts: Iterable[Part] = packed(entries, report.run, content=content) if source is None else ()
    yield from (
        environment()
        .get_template("report.html")
        .generate(
            view=drawn,
            rules=zip(drawn.decisions, plots.decisions, strict=True),
            metrics=zip(drawn.metrics, plots.metrics, map(ways, shown.measured.metrics), strict=True),
            leading=blocking_ways(shown),
            slices=tuple(zip(drawn.slices, plots.slices, strict=True)),
            distributions=plots.distributions,
            content=content,
            parts=parts,
            **framed(source=source),
        )
    )


def comparison_page(
    report: Report,
    entries: Iterable[Entry],
    *,
    notes: Iterable[str],
    partings: Partings,
    config: str = "",
    content: bool = True,
    served: bool = False,
) -> Iterator[str]:
    """The same of a comparison, which the report must hold. ``entries`` are the cases that changed, each with what
    became of it by criterion, in the comparison's order, for its places; they are packed inside also where the page is
    ``served``."""
    shown = report if content else discreet_report(report)
    comparison = shown.comparison
    assert comparison is not None
    drawn = view(shown, config=config)
    criteria, *tables = comparison_tables(shown, partings)
    level = report.run.interval.level
    by_change = replace(report.run, slices=tuple(criterion.id for criterion in comparison.criteria))
    yield from (
        environment()
        .get_template("comparison.html")
        .generate(
            view=drawn,
            candidate=inert(comparison.candidate),
            baseline=inert(comparison.baseline),
            pairs=pairs_text(shown),
            legend=LEGEND,
            notes=tuple(notes),
            rules=zip(drawn.decisions, bars(shown).decisions, strict=True),
            columns=criteria.columns,
            criteria=zip(criteria.rows, difference_bars(comparison, level=level), strict=True),
            tables=tables,
            leading=broken_ways(shown),
            content=content,
            parts=packed(entries, by_change, content=content),
            **framed(source="" if served else None),
        )
    )
