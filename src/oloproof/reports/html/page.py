"""The page around the cases: templates, style and script, and the policy that lets nothing else run."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from msgspec.structs import replace

from oloproof.model.run import Report
from oloproof.reports.bars import bars, difference_bars
from oloproof.reports.comparison import Partings, comparison_tables
from oloproof.reports.html.discretion import discreet_report
from oloproof.reports.html.parts import Entry, packed
from oloproof.reports.inert import inert
from oloproof.reports.view import view

_POLICY = (
    "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; img-src data:; base-uri 'none'; "
    "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)


def report_page(report: Report, entries: Iterable[Entry], *, config: str = "", content: bool = True) -> Iterator[str]:
    """The page, in pieces that follow one another; ``entries`` are read once, as the page is.

    ``config`` is the configuration as it must be named in a command, "" where it need not be. Without ``content``,
    inputs, outputs, arguments and results are left out.
    """
    shown = report if content else discreet_report(report)
    drawn, plots = view(shown, config=config), bars(shown)
    yield from (
        _environment()
        .get_template("report.html")
        .generate(
            view=drawn,
            rules=zip(drawn.decisions, plots.decisions, strict=True),
            metrics=zip(drawn.metrics, plots.metrics, strict=True),
            slices=tuple(zip(drawn.slices, plots.slices, strict=True)),
            distributions=plots.distributions,
            content=content,
            parts=packed(entries, report.run, content=content),
            **_own_code(),
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
) -> Iterator[str]:
    """The same of a comparison, which the report must hold. ``entries`` are the cases that changed, each with what
    became of it by criterion, in the comparison's order, for its places."""
    shown = report if content else discreet_report(report)
    comparison = shown.comparison
    assert comparison is not None
    drawn = view(shown, config=config)
    criteria, *tables = comparison_tables(shown, partings)
    level = report.run.interval.level
    by_change = replace(report.run, slices=tuple(criterion.id for criterion in comparison.criteria))
    yield from (
        _environment()
        .get_template("comparison.html")
        .generate(
            view=drawn,
            candidate=inert(comparison.candidate),
            baseline=inert(comparison.baseline),
            pairs=comparison.pairs,
            notes=tuple(notes),
            rules=zip(drawn.decisions, bars(shown).decisions, strict=True),
            columns=criteria.columns,
            criteria=zip(criteria.rows, difference_bars(comparison, level=level), strict=True),
            tables=tables,
            content=content,
            parts=packed(entries, by_change, content=content),
            **_own_code(),
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("oloproof.reports.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["percent"] = _percent
    return environment


@cache
def _own_code() -> dict[str, str]:
    """Style and script as they stand in the page, and the policy that names their hashes."""
    loader = _environment().loader
    assert loader is not None
    style, script = (loader.get_source(_environment(), name)[0] for name in ("page.css", "page.js"))
    policy = _POLICY.format(script=_hash(script), style=_hash(style))
    return {"policy": policy, "style": Markup(style), "script": Markup(script)}


def _hash(text: str) -> str:
    """The source of an inline element as a Content Security Policy names it (CSP Level 3, §2.3.1)."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _percent(place: float) -> str:
    """A place on an axis as an SVG length; what lies off the axis is at its end."""
    return f"{min(1.0, max(0.0, place)) * 100:.2f}%"
