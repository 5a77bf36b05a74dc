"""Results as HTML for a notebook: a fragment that loads nothing, runs nothing and holds only inert, escaped text."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from oloproof.reports.case import CaseView
from oloproof.reports.shapes import Table
from oloproof.reports.view import View


def result(view: View) -> str:
    """A whole run: the verdict, rules, metrics, warnings."""
    return _drawn("result.html", view=view)


def case(view: CaseView) -> str:
    """A case step by step, with the offending steps marked."""
    return _drawn("case.html", case=view)


def table(table: Table) -> str:
    return _drawn("table.html", table=table)


def _drawn(template: str, **values: object) -> str:
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("oloproof.api"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
