from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from msgspec.structs import replace

from fakes.compared import compared
from fakes.hostile import NASTY
from golden.specimens import odd, support, triage
from oloproof.model.comparison import CriterionPairs
from oloproof.model.decision import Gate
from oloproof.model.measured import Measured, Rate, SliceGroup
from oloproof.model.run import Report
from oloproof.model.tally import PairTable, Tally
from oloproof.reports.comparison import MOST_FLIPS
from oloproof.reports.inert import inert
from oloproof.reports.markdown import LIMIT, MOST_FAILURES, render, render_comparison
from oloproof.reports.shapes import Table
from oloproof.reports.view import VerdictRow, view

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
OURS = re.compile(r"</?details>|</?summary>|Run|Slices|Failures: [a-z0-9 ]+|\s")


def tokens(text: str) -> list[Token]:
    flat: list[Token] = []
    for token in READER.parse(text):
        flat += [token, *(token.children or ())]
    return flat


def named(text: str) -> Report:
    report = support()
    rate = Rate(text, Tally(6, 1))
    return replace(
        report,
        run=replace(report.run, project=text),
        measured=Measured(7, (rate,), (SliceGroup("first_tool", text, 7, (rate,)),)),
        decisions=(replace(report.decisions[0], rule=text, metric=text, approved_by=text),),
        warnings=(text,),
        gate=Gate(outcome="NOT_GATED", exit_code=3, why=text),
    )


def assert_harmless(text: str, *, cells: int) -> None:
    """Nothing but our own tables, lists, code spans and folds."""
    found = tokens(text)
    kinds = {token.type for token in found}
    assert not kinds & {"link_open", "image", "html_inline", "fence", "code_block", "em_open", "strong_open", "s_open"}
    for token in found:
        if token.type == "html_block":
            assert OURS.sub("", token.content) == ""
        if token.type == "text":
            assert not re.search(r"[@#<`\x1b]|://|www\.", token.content)
    assert sum(token.type == "td_open" for token in found) == cells


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_no_text_becomes_markup_mention_reference_or_link(text: str) -> None:
    drawn = render(view(named(text)))
    assert_harmless(drawn, cells=4 + 4 + 2 * 7 + 5)
    spans = [token.content for token in tokens(drawn) if token.type == "code_inline"]
    shown = inert(text)
    assert not shown or shown in spans


@given(st.text(st.sampled_from("`|\\ <>@#[]()*_~&!$:-\n\tax") | st.characters(), max_size=30))
@settings(deadline=None, max_examples=200)
def test_no_text_becomes_markup_whatever_it_is(text: str) -> None:
    assert_harmless(render(view(named(text))), cells=4 + 4 + 2 * 7 + 5)


def test_a_bar_is_escaped_in_tables_alone() -> None:
    text = render(view(named("a|b")))
    assert "## NOT GATED · `a|b`\n" in text
    assert r"| `first_tool=a\|b` |" in text


def test_the_verdict_comes_first_and_slices_are_folded() -> None:
    text = render(view(support()))
    assert text.startswith("## BLOCK · `support-agent-example`\n\n`BLOCK (exit 1): no-deletion FAIL,")
    assert text.index("### Rules") < text.index("### Criteria") < text.index("<summary>Slices</summary>")
    assert "| `answer_correct` | 82.5% | [67.2%, 92.7%] | 33 / 40 observed · 0 missing · 0 excluded |" in text
    assert (
        "- `timeout in 1 case: no answer within 60 s`: `oloproof inspect 20261130-101500-3fa9 --case case_040`" in text
    )
    assert_harmless(text, cells=4 * 4 + 8 * 4 + 3 * 7 + 7 * 2 + 6 * 5)


def test_hostile_cases_of_a_baseline_are_escaped() -> None:
    table = PairTable(both_pass=9, broken=len(NASTY))
    criterion = CriterionPairs("<b>@team", table, broken_cases=NASTY)
    comparison = replace(compared(table), baseline="](http://evil.example) `|`", criteria=(criterion,))
    text = render(view(replace(triage(), comparison=comparison)))
    assert "### Against the baseline" in text
    plain = render(view(triage()))
    before = sum(token.type == "td_open" for token in tokens(plain))
    # One more line of facts, a criterion, and of the cases as many as are told, and how many more there are.
    assert_harmless(text, cells=before + 2 + 5 + 3 * (MOST_FLIPS + 1))


def test_failures_are_listed_inert_and_folded() -> None:
    rows = [
        *(VerdictRow(case=text, criterion=text, verdict="fail", expected=text, found=text) for text in NASTY),
        VerdictRow(case="c1", criterion="right", verdict="pass"),
        VerdictRow(case="c2", criterion="right", verdict="missing", reason="timeout"),
    ]
    before = sum(token.type == "td_open" for token in tokens(render(view(support()))))
    text = render(view(support()), rows)
    assert f"<summary>Failures: {len(NASTY)}</summary>" in text
    assert_harmless(text, cells=before + 5 * len(NASTY))


def test_of_many_failures_the_first_are_listed_and_all_are_counted() -> None:
    rows = (VerdictRow(case=f"c{n}", criterion="right", verdict="fail") for n in range(MOST_FAILURES + 7))
    text = render(view(support()), rows)
    assert "<summary>Failures: the first 50 of 57</summary>" in text
    assert ("| `c49` |" in text, "| `c50` |" in text) == (True, False)


def test_a_run_that_is_not_gated_says_so_in_its_title() -> None:
    assert render(view(triage())).startswith("## NOT GATED · ")
    assert render(view(odd())).startswith("## NOT GATED · ")


def test_a_comparison_is_escaped() -> None:
    report = support()
    decision = report.decisions[0]
    found = replace(decision.finding, upper=0.5)
    decision = replace(decision, reason="upper_bound_below_minimum", state="FAIL", finding=found)
    assert r"upper bound 50.0% \< minimum 60%" in render(view(replace(report, decisions=(decision,))))


@pytest.mark.parametrize("name", ["x", "`", "|", "漢字" * 60, "\U0001f44d" * 90])
def test_a_comment_that_is_full_says_what_it_leaves_out(name: str) -> None:
    report = support()
    rate = report.measured.metrics[0]
    groups = tuple(SliceGroup("first_tool", f"{name}{n}", 7, (rate,)) for n in range(2_000))
    text = render(view(replace(report, measured=replace_slices(report.measured, groups))))
    assert len(text.encode()) <= LIMIT
    shown = text.count("support 7 |")
    assert 0 < shown < 2_000
    assert f"{2_000 - shown:,} of 2,000 lines of slices. Everything: `oloproof inspect 20261130-101500-3fa9`" in text
    assert text.count("<details>") == text.count("</details>") == 2


def test_a_comparison_that_is_full_says_what_it_leaves_out() -> None:
    tables = [
        Table(title, ("case",), (("x" * 100,),) * 600) for title in ("cases that changed", "slices", "quantities")
    ]
    text = render_comparison(view(support()), tables, ["n" * 100] * 100)
    assert len(text.encode()) <= LIMIT
    assert "**Not shown**, because a comment is full: " in text
    assert text.count("<details>") == text.count("</details>")


def test_even_ten_thousand_rules_leave_the_verdict_in_view() -> None:
    report = support()
    many = tuple(replace(report.decisions[1], rule=f"rule {n} {'x' * 190}") for n in range(10_000))
    text = render(view(replace(report, decisions=many, warnings=("w" * 2_000_000,) * 100)))
    assert len(text.encode()) <= LIMIT
    assert text.startswith("## BLOCK")
    assert "lines of rules" in text
    assert "8 of 8 lines of criteria" in text


def replace_slices(measured: Measured, groups: tuple[SliceGroup, ...]) -> Measured:
    return Measured(measured.cases, measured.metrics, groups, measured.min_slice_support)
