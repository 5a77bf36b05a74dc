"""Reports in, texts out, compared with the files beside this one."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from fakes.pages import legible
from golden import specimens, trials
from oloproof._version import __version__
from oloproof.reports import document, markdown, terminal
from oloproof.reports.case import case_view
from oloproof.reports.comparison import comparison_notes, comparison_tables
from oloproof.reports.github import workflow_commands
from oloproof.reports.html import Entry, report_page
from oloproof.reports.junit import comparison_junit, junit
from oloproof.reports.lists import failure_table, verdict_table
from oloproof.reports.remarks import comparison_remarks, remarks
from oloproof.reports.sarif import comparison_sarif, sarif
from oloproof.reports.tap import tap
from oloproof.reports.view import view

REPORTS = {
    "support": specimens.support,
    "triage": specimens.triage,
    "stopped": specimens.stopped,
    "odd": specimens.odd,
    "trials": trials.tried,
}
CASES = {"looping": specimens.looping_case, "odd": specimens.odd_case}

Golden = Callable[[str, str], None]


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("width", [60, 120])
def test_terminal(name: str, width: int, golden: Golden) -> None:
    golden(f"{name}.{width}.txt", terminal.render(view(REPORTS[name]()), width=width, color=False))


def test_terminal_with_all_of_the_slices(golden: Golden) -> None:
    text = terminal.render(view(specimens.support()), width=120, color=False, all_slices=True)
    golden("support.slices.120.txt", text)


def test_terminal_in_colour(golden: Golden) -> None:
    golden("support.colour.txt", terminal.render(view(specimens.support()), width=120, color=True))


def test_terminal_that_knows_ascii_only(golden: Golden) -> None:
    text = terminal.render(view(specimens.support()), width=120, color=False, encoding="ascii")
    golden("support.ascii.txt", text)


@pytest.mark.parametrize("name", REPORTS)
def test_markdown(name: str, golden: Golden) -> None:
    golden(f"{name}.md", markdown.render(view(REPORTS[name]())))


@pytest.mark.parametrize("name", REPORTS)
def test_junit(name: str, golden: Golden) -> None:
    golden(f"{name}.xml", "".join(junit(view(REPORTS[name]()), specimens.verdicts())))


@pytest.mark.parametrize("name", REPORTS)
def test_sarif(name: str, golden: Golden) -> None:
    text = "".join(sarif(view(REPORTS[name]()), specimens.verdicts(), specimens.places()))
    golden(f"{name}.sarif", text.replace(f'"{__version__}"', '"x.y.z"'))


@pytest.mark.parametrize("name", REPORTS)
def test_tap(name: str, golden: Golden) -> None:
    golden(f"{name}.tap", "".join(tap(view(REPORTS[name]()), specimens.verdicts())))


@pytest.mark.parametrize("name", REPORTS)
def test_annotations(name: str, golden: Golden) -> None:
    drawn = view(REPORTS[name]())
    told = workflow_commands(remarks(drawn, specimens.verdicts(), specimens.places()), inspect=drawn.inspect)
    golden(f"{name}.annotations.txt", "".join(told))


PARTINGS = {"case_004": "call 2: delete, and search before"}


def test_markdown_of_a_comparison(golden: Golden) -> None:
    report = specimens.compared()
    golden("compared.report.md", markdown.render(view(report)))
    tables = comparison_tables(report, PARTINGS)
    golden("compared.md", markdown.render_comparison(view(report), tables, comparison_notes(report.comparison)))


def test_ci_formats_of_a_comparison(golden: Golden) -> None:
    report = specimens.compared()
    drawn, comparison = view(report), report.comparison
    golden("compared.xml", "".join(comparison_junit(drawn, comparison, PARTINGS)))
    told = comparison_remarks(drawn, comparison, specimens.places(), PARTINGS)
    golden("compared.sarif", "".join(comparison_sarif(drawn, told)).replace(f'"{__version__}"', '"x.y.z"'))


@pytest.mark.parametrize("name", REPORTS)
def test_document(name: str, golden: Golden) -> None:
    text = document.encode(document.report_document(REPORTS[name]()))
    # The last digits of an exact bound are those of the scipy at hand.
    rounded = json.loads(text, parse_float=lambda number: round(float(number), 12))
    golden(f"{name}.json", document.encode(rounded))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("width", [60, 120])
def test_case(name: str, width: int, golden: Golden) -> None:
    golden(f"case.{name}.{width}.txt", terminal.render_case(case_view(CASES[name]()), width=width, color=False))


def test_case_document(golden: Golden) -> None:
    golden("case.looping.json", document.encode(document.case_document(specimens.looping_case())))


def test_failing_cases(golden: Golden) -> None:
    table = failure_table(row for row in specimens.verdicts() if row.verdict == "fail")
    golden("failures.120.txt", terminal.render_table(table, width=120, color=False))
    golden("verdicts.120.txt", terminal.render_table(verdict_table(specimens.verdicts()), width=120, color=False))


def test_verdict_lines(golden: Golden) -> None:
    golden("verdicts.ndjson", "".join(document.verdict_lines(specimens.verdicts())))
    golden("verdicts.csv", "".join(document.verdict_csv(specimens.verdicts())))


@pytest.mark.parametrize("name", ["support", "odd"])
def test_html(name: str, golden: Golden) -> None:
    report, record = REPORTS[name](), specimens.looping_case()
    judgments = tuple(judgment for _, judgment in record.judgments)
    run = replace(report.run, criteria=tuple(criterion for criterion, _ in record.judgments), slices=())
    entry = Entry(case=record.case.id, trial=1, judgments=judgments, record=record)
    golden(f"{name}.html", legible("".join(report_page(replace(report, run=run), [entry]))))
