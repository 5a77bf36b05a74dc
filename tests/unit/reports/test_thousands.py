"""Every count and amount that is shown is written in groups of three digits: 20,000."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import pytest
from msgspec import Struct, structs

from golden import specimens, trials
from oloproof.gates import outlook, warnings
from oloproof.gates.stopping import Course, Suite
from oloproof.model.comparison import Comparison, Migration, QuantileId, QuantilePairs
from oloproof.model.decision import Confirmation, IntervalThreshold, ObservedCount, PairFinding, Policy, Rule
from oloproof.model.judgment import Word
from oloproof.model.measured import Measured, Quantile, Rate
from oloproof.model.progress import Progress
from oloproof.model.run import Report
from oloproof.model.tally import Distribution, PairTable, Tally
from oloproof.reports import markdown, terminal
from oloproof.reports.comparison import comparison_notes, comparison_tables
from oloproof.reports.html import comparison_page, progress_page, report_page
from oloproof.reports.lists import runs_table
from oloproof.reports.pairs import pair_reason_in_words
from oloproof.reports.shapes import Table
from oloproof.reports.view import RunRow, view

BARE = re.compile(r"(?<!trial )(?<!step )(?<![\w.,:#&;$%-])\d{4,}(?![\w-])")
"""A number that says how many or how much: none of an id or a time, and not which trial or step."""
FIXED = ("k", "seed", "exit_code", "line", "trial", "trials")


def thousandfold(value: Any, times: int = 1000) -> Any:
    """The same with so many times as much of everything that is counted."""
    match value:
        case Struct():
            fields = {name: getattr(value, name) for name in value.__struct_fields__}
            kept = {name: each if name in FIXED else thousandfold(each, times) for name, each in fields.items()}
            return type(value)(**kept)
        case tuple():
            return tuple([thousandfold(each, times) for each in value])
        case dict():
            return {key: thousandfold(each, times) for key, each in value.items()}
        case int() if not isinstance(value, bool):
            return value * times
        case _:
            return value


def bare(text: str) -> list[str]:
    """The lines in which a number is written without groups; some number must have them."""
    assert re.search(r"\d,\d\d\d", text), text
    return [line for line in text.splitlines() if BARE.search(line)]


def legible(page: Iterable[str]) -> str:
    """What is read of a page."""
    return re.sub(r"<(style|script|svg)\b.*?</\1>|<[^>]*>", "\n", "".join(page), flags=re.DOTALL)


REPORTS = {
    "compared": (specimens.compared, 1000),
    "stopped": (specimens.stopped, 10),
    "trials": (trials.tried, 1000),
}


@pytest.mark.parametrize(("specimen", "times"), REPORTS.values(), ids=REPORTS)
def test_a_report_has_no_bare_number(specimen: Callable[[], Report], times: int) -> None:
    report = thousandfold(specimen(), times)
    drawn = view(report)
    assert bare(terminal.render(drawn, width=300, color=False, encoding="utf-8", all_slices=True)) == []
    assert bare(terminal.render(drawn, width=60, color=False, encoding="utf-8")) == []
    assert bare(markdown.render(drawn)) == []
    assert bare(legible(report_page(report, ()))) == []


def changed() -> Report:
    """A comparison with everything that one can have."""
    report = specimens.compared()
    assert report.comparison is not None
    steps, fewer = Distribution(observed=((12, 30), (20, 8))), Distribution(observed=((9, 36), (13, 2)))
    found: Comparison = thousandfold(report.comparison)
    ids = tuple(f"c{number}" for number in range(1200))
    comparison = structs.replace(
        found,
        only_in_candidate=ids,
        quantiles=(
            QuantilePairs(
                QuantileId("steps_p95", "agent_steps", "0.95", "steps"),
                thousandfold(steps),
                thousandfold(fewer),
                *(4000, 5000, 6000, 7000),
            ),
        ),
        migrations=(Migration("first_tool", "look", "search", 2000, (Tally(2000),), (Tally(1500, 500),)),),
        criteria=tuple(structs.replace(each, fixed_cases=ids, broken_cases=ids) for each in found.criteria),
    )
    return structs.replace(report, comparison=comparison)


def test_a_comparison_has_no_bare_number() -> None:
    report = changed()
    assert report.comparison is not None
    notes = list(comparison_notes(report.comparison))
    assert bare(markdown.render_comparison(view(report), comparison_tables(report, {}), notes)) == []
    assert bare(legible(comparison_page(report, (), notes=notes, partings={}))) == []


@pytest.mark.parametrize("reason", ["new_failures_exceed_limit", "missing_could_hide_new_failures"])
def test_a_rule_that_compares_has_no_bare_number(reason: Any) -> None:
    found = PairFinding(
        kind="max_new_failures",
        table=PairTable(both_pass=20_000, broken=4_000, was_pass=3_000),
        lower=-0.2,
        upper=-0.1,
        limit=2_000,
        confirmation=Confirmation(times=3, broken=4_000, rerun=4_000, cleared=1_500, persisted=1_250),
    )
    assert bare(pair_reason_in_words(found, reason)) == []


def table_text(table: Table) -> str:
    return "\n".join(" | ".join(row) for row in table.rows)


def test_lists_of_runs_and_a_run_that_goes_on_have_no_bare_number() -> None:
    run = thousandfold(structs.replace(specimens.support().run, criteria=("right",)))
    assert bare(table_text(runs_table([RunRow(run=run, gate=None)]))) == []
    going = structs.replace(run, status="running", finished_at=None)
    progress = Progress(run=going, attempts=12_000, of=40_000, tallies=(Tally(9_000, 2_000, 1_000),))
    assert bare(legible(progress_page(progress))) == []


RULES: list[tuple[Rule, Fraction | None]] = [
    (ObservedCount(id="r", metric="m", max_failures=2_000), None),
    (ObservedCount(id="r", metric="m", max_failures=9_000, max_missing="0.1"), None),
    (ObservedCount(id="r", metric="m", max_failures=2_000, min_cases=30_000), None),
    (IntervalThreshold(id="r", metric="m", min="0.6"), None),
    (IntervalThreshold(id="r", metric="m", min="0.5", max="0.8", max_missing="0.1"), None),
    (IntervalThreshold(id="r", metric="m", min="0.6", min_cases=30_000), None),
    (IntervalThreshold(id="r", metric="m", min="1500.5", max="12000"), Fraction("0.95")),
]


@pytest.mark.parametrize(("rule", "q"), RULES)
def test_what_a_rule_could_settle_has_no_bare_number(rule: Rule, q: Fraction | None) -> None:
    assert bare(outlook(rule, Policy(rules=(rule,)), n=20_000, q=q).text) == []


def test_what_settled_a_rule_has_no_bare_number() -> None:
    rules = (
        ObservedCount(id="safe", metric="m", max_failures=0),
        IntervalThreshold(id="quick", metric="steps", max="12000"),
    )
    for rule, word, steps in ((rules[0], "fail", 1), (rules[1], "pass", 13_000)):
        suite = Suite({"m": 20_000, "steps": 2_000}, {"steps": (Fraction("0.5"), "agent_steps")})
        course = Course(Policy(rules=(rule,)), suite)
        standing, seen = course.begin(), dict[str, Word](m=word)
        while not standing.is_over:
            standing = course.step(standing, seen, {"agent_steps": steps})
        (settled,) = standing.settled
        assert settled is not None
        assert bare(settled.boundary) == []


def test_a_warning_has_no_bare_number() -> None:
    metrics = (
        Rate("m", Tally(0, 0, 3_000, 4_000)),
        Quantile("q", "agent_steps", "0.5", "steps", Distribution(floors=((0, 5_000),))),
    )
    assert bare("\n".join(warnings(Measured(7_000, metrics), None, ()))) == []
