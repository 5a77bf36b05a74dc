from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

from fakes.hostile import NASTY
from golden.specimens import looping_case, odd, odd_case, support, triage, verdicts
from oloproof.model.decision import Gate
from oloproof.model.judgment import Judgment
from oloproof.model.measured import Measured, Rate, SliceGroup
from oloproof.model.run import Report
from oloproof.model.tally import Tally
from oloproof.reports.case import case_view
from oloproof.reports.inert import inert
from oloproof.reports.lists import verdict_table
from oloproof.reports.shapes import Table
from oloproof.reports.terminal import MOST_SLICE_ROWS, render, render_case, render_table
from oloproof.reports.view import view

BOXES = "│┌┐└┘├┤┬┴┼─"


def bare(text: str) -> str:
    """What a text says, whatever the layout: no space, no box."""
    return "".join(character for character in text if not character.isspace() and character not in BOXES)


def named(text: str) -> Report:
    report = support()
    rate = Rate(text, Tally(6, 1))
    return replace(
        report,
        run=replace(report.run, project=text),
        measured=Measured(7, (rate,), (SliceGroup("first_tool", text, 7, (rate,)),)),
        decisions=(replace(report.decisions[0], rule=text, metric=text),),
        warnings=(text,),
        gate=Gate(outcome="NOT_GATED", exit_code=3, why=text),
    )


def test_the_table_is_drawn_as_documented() -> None:
    text = render(view(support()), width=120, color=False)
    for cells in (
        ("answer_correct", "82.5%", "[67.2%, 92.7%]", "33 / 40 observed · 0 missing · 0 excluded"),
        ("steps_p95", "10 steps", "[10, no bound] steps", "p95 of 39 observed · 1 missing · 0 excluded"),
    ):
        assert re.search("│ " + " +│ ".join(map(re.escape, cells)) + " +│\n", text)
    assert re.search(r"│ no-deletion +│ agent_constraints_satisfied +│ FAIL +│ 3 failures observed, 0 allowed", text)
    assert "  no-deletion: observed_failures_exceed_limit\n" in text


@pytest.mark.parametrize("report", [support(), triage(), odd()], ids=["support", "triage", "odd"])
@pytest.mark.parametrize("width", [1, 20, 33, 47, 60, 80, 100, 120, 200])
def test_no_line_is_wider_than_the_terminal_and_nothing_is_lost(report: Report, width: int) -> None:
    drawn = view(report)
    text = render(drawn, width=width, color=False, all_slices=True)
    for lines in (text.splitlines(), render(drawn, width=width, color=False).splitlines()):
        # Only commands are not folded, so that they can be copied.
        assert max(cell_len(line) for line in lines if not line.startswith("    oloproof ")) <= max(width, 20)
    for hint in (*drawn.errors, *drawn.next_steps):
        assert any(line.endswith(hint.text) for line in text.splitlines())
    if width <= 60:
        # Too narrow for a table: every text is whole, and only folded.
        said = bare(text)
        for row in (*drawn.metrics, *drawn.slices):
            assert bare(row.id) in said
            assert bare(row.interval) in said
            assert bare(row.counts) in said
    for row in drawn.decisions:
        assert bare(row.words) in bare(text)
    assert bare(drawn.gate) in bare(text)


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
@pytest.mark.parametrize("width", [40, 120])
def test_no_text_is_markup_or_reaches_the_terminal(text: str, width: int) -> None:
    drawn = render(view(named(text)), width=width, color=False)
    assert bare(inert(text)) in bare(drawn)
    assert not [each for each in drawn if unicodedata.category(each) in ("Cc", "Cf", "Cs") and each != "\n"]


@given(st.text(st.characters(), max_size=40))
@settings(deadline=None, max_examples=40)
def test_whatever_the_text_every_encoding_can_show_it(text: str) -> None:
    for encoding in ("utf-8", "ascii", "latin-1", "cp1252"):
        drawn = render(view(named(text)), width=100, color=False, encoding=encoding)
        drawn.encode(encoding)


@given(st.text(st.characters(), max_size=40) | st.sampled_from(NASTY))
@settings(deadline=None, max_examples=40)
def test_with_colour_only_our_own_colours_are_escapes(text: str) -> None:
    drawn = render(view(named(text)), width=100, color=True)
    assert "\x1b" not in re.sub(r"\x1b\[[0-9;]*m", "", drawn)
    assert re.sub(r"\x1b\[[0-9;]*m", "", drawn).split() == render(view(named(text)), width=100, color=False).split()


def test_without_colour_there_is_no_escape() -> None:
    assert "\x1b" not in render(view(odd()), width=120, color=False)


@pytest.mark.parametrize("width", [20, 50, 120])
def test_a_case_fits_and_loses_nothing(width: int) -> None:
    for record in (looping_case(), odd_case()):
        drawn = case_view(record)
        text = render_case(drawn, width=width, color=False)
        assert max(map(cell_len, text.splitlines())) <= width
        for step in drawn.steps:
            assert bare(step.action) in bare(text)
            for detail in step.details:
                assert bare(detail.text) in bare(text)
        assert bare(drawn.cut) in bare(text)


def test_an_offending_step_is_marked() -> None:
    text = render_case(case_view(looping_case()), width=120, color=False)
    assert "   3  tool_call lookup_order  ✗ agent_no_tool_loop\n" in text
    assert "   4  tool_result lookup_order\n" in text


def test_a_list_is_a_table_and_an_empty_one_says_so() -> None:
    text = render_table(verdict_table(verdicts()), width=120, color=False)
    assert text.startswith("\nverdicts\n┌")
    assert render_table(Table("runs", ("run",), ()), width=80, color=False) == "runs: none\n"


def test_slices_in_short_are_a_row_a_value_and_fold_into_tables_below_one_another() -> None:
    report = support()
    rates = tuple(Rate(f"a_criterion_with_a_long_name_{n}", Tally(6, n)) for n in range(6))
    groups = tuple(SliceGroup("first_tool", f"tool_{n}", 9, rates) for n in range(4))
    drawn = view(replace(report, measured=Measured(36, rates, groups)))
    for width, tables in ((120, 2), (80, 2), (50, 6)):
        text = render(drawn, width=width, color=False)
        assert text.count("│ first_tool=tool_3 │ 9       │") == tables
        assert text.count("85.7% (6/7)") == 4
    assert "tool_3" in render(drawn, width=30, color=False)


def test_slices_have_their_intervals_where_nothing_folds_or_where_asked() -> None:
    drawn = view(support())
    assert "[0.0%, 57.9%]" in render(drawn, width=170, color=False)
    assert "[0.0%, 57.9%]" not in render(drawn, width=100, color=False)
    assert "57.9%" in render(drawn, width=100, color=False, all_slices=True)


def test_a_terminal_without_unicode_gets_plain_boxes() -> None:
    text = render(view(support()), width=120, color=False, encoding="ascii")
    assert text.isascii()
    assert "| answer_correct                 | 82.5%    | [67.2%, 92.7%]       | 33 / 40 observed - 0 missing" in text
    assert "lower bound 68.0% >= minimum 60%" in text


def test_many_slices_are_drawn_in_short_however_wide_the_terminal() -> None:
    rates = tuple(Rate(name, Tally(3, 1)) for name in ("answer_correct", "agent_no_tool_loop"))
    few, many = (
        tuple(SliceGroup("tool", str(at), 4, rates) for at in range(count))
        for count in (MOST_SLICE_ROWS // 2, MOST_SLICE_ROWS // 2 + 1)
    )
    for slices, is_whole in ((few, True), (many, False)):
        report = replace(support(), measured=replace(support().measured, slices=slices))
        drawn = render(view(report), width=200, color=False)
        assert ("3 / 4 observed" in drawn) is is_whole
        assert "3 / 4 observed" in render(view(report), width=200, color=False, all_slices=True)


def test_a_step_goes_on_below_itself_where_it_is_folded() -> None:
    criteria = tuple((f"criterion_{at}", Judgment("fail", None, (2,))) for at in range(9))
    drawn = render_case(case_view(replace(looping_case(), judgments=criteria)), width=50, color=False).splitlines()
    at = next(at for at, line in enumerate(drawn) if line.startswith("   2  tool_result"))
    assert all(line.startswith("      ") for line in drawn[at + 1 : at + 4])
    assert not any(line != line.rstrip() for line in drawn)
