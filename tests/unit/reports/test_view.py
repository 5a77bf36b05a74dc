from __future__ import annotations

import subprocess
import sys
import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from fakes.hostile import NASTY
from golden.specimens import odd, support, triage
from oloproof.model.decision import Approval, Gate
from oloproof.model.measured import Measured, Rate, SliceGroup
from oloproof.model.run import IntervalChoice, Report, SystemIdentity
from oloproof.model.slice_values import OTHERS
from oloproof.model.tally import Tally
from oloproof.reports.shapes import Fact
from oloproof.reports.view import view


def texts(value: object) -> Iterator[str]:
    """Every text anywhere in a view."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from texts(getattr(value, name))
    elif isinstance(value, tuple):
        for item in value:
            yield from texts(item)


def rows(report: Report) -> list[tuple[str, str, str, str]]:
    return [(row.id, row.estimate, row.interval, row.counts) for row in view(report).metrics]


def test_a_support_agent_reads_as_documented() -> None:
    assert rows(support()) == [
        ("answer_correct", "82.5%", "[67.2%, 92.7%]", "33 / 40 observed · 0 missing · 0 excluded"),
        ("agent_tool_lookup_order_called", "100.0%", "[86.8%, 100.0%]", "39 / 39 observed · 1 missing · 0 excluded"),
        ("agent_no_tool_loop", "74.4%", "[56.1%, 87.4%]", "29 / 39 observed · 1 missing · 0 excluded"),
        ("agent_tool_sequence", "60.0%", "[43.3%, 75.2%]", "24 / 40 observed · 0 missing · 0 excluded"),
        ("agent_constraints_satisfied", "92.5%", "[79.6%, 98.5%]", "37 / 40 observed · 0 missing · 0 excluded"),
        ("agent_steps_le_10", "97.5%", "[86.8%, 100.0%]", "39 / 40 observed · 0 missing · 0 excluded"),
        ("steps_p95", "10 steps", "[10, no bound] steps", "p95 of 39 observed · 1 missing · 0 excluded"),
        ("tool_calls_p50", "2 calls", "[2, 3] calls", "p50 of 39 observed · 1 missing · 0 excluded"),
    ]


def test_triage_agents_read_as_documented() -> None:
    assert rows(triage()) == [
        ("answer_correct", "96.7%", "[82.7%, 100.0%]", "29 / 30 observed · 0 missing · 0 excluded"),
        ("agent_route", "86.7%", "[69.2%, 96.3%]", "26 / 30 observed · 0 missing · 0 excluded"),
        ("agent_tool_permissions", "93.1%", "[73.4%, 99.2%]", "27 / 29 observed · 1 missing · 0 excluded"),
        ("agent_handoffs_le_2", "86.7%", "[69.2%, 96.3%]", "26 / 30 observed · 0 missing · 0 excluded"),
    ]


def test_slices_read_as_documented_and_too_few_cases_have_no_interval() -> None:
    shown = [(row.group, row.id, row.estimate, row.interval, row.counts) for row in view(support()).slices]
    none = "0 missing · 0 excluded"
    assert shown == [
        (
            "first_tool=search",
            "agent_no_tool_loop",
            "0.0%",
            "[0.0%, 57.9%]",
            "0 / 6 observed · 1 missing · 0 excluded · support 7",
        ),
        ("first_tool=search", "agent_tool_sequence", "0.0%", "[0.0%, 41.0%]", f"0 / 7 observed · {none} · support 7"),
        ("first_tool=(others)", "–", "–", "–", "support 33"),
        (
            "repeated_action=false",
            "answer_correct",
            "93.1%",
            "[77.2%, 99.2%]",
            f"27 / 29 observed · {none} · support 29",
        ),
        ("repeated_action=true", "answer_correct", "60.0%", "[26.2%, 87.9%]", f"6 / 10 observed · {none} · support 10"),
        ("repeated_action=(unplaced)", "answer_correct", "0.0%", "–", f"0 / 1 observed · {none} · support 1"),
    ]


def test_rules_say_what_met_what() -> None:
    row = view(support()).decisions[1]
    assert (row.rule, row.metric, row.state, row.reason) == (
        "no-deletion",
        "agent_constraints_satisfied",
        "FAIL",
        "observed_failures_exceed_limit",
    )
    assert row.words == "3 failures observed, 0 allowed"
    assert row.blocking


def test_the_header_says_what_ran_and_how_it_is_shown_and_decided() -> None:
    assert view(support()).facts == (
        Fact("run", "20261130-101500-3fa9"),
        Fact("project", "support-agent-example"),
        Fact("system", "support-agent 2026-11 (callable app:run)"),
        Fact("status", "complete"),
        Fact("cases", "40"),
        Fact("took", "1 s"),
        Fact("interval", "exact, 95%; rules are decided by wilson, 95%"),
    )


@pytest.mark.parametrize(
    ("finished_at", "took"),
    [
        ("2026-11-30T10:15:00Z", "less than a second"),
        ("2026-11-30T10:16:05Z", "1 min 5 s"),
        ("2026-12-01T11:15:59Z", "25 h 0 min"),
    ],
)
def test_the_header_says_how_long_it_took(finished_at: str, took: str) -> None:
    report = support()
    report = replace(report, run=replace(report.run, finished_at=finished_at))
    assert Fact("took", took) in view(report).facts


def test_one_line_is_enough_for_an_interval_that_also_decides() -> None:
    report = replace(support(), run=replace(support().run, interval=IntervalChoice()))
    assert Fact("interval", "wilson, 95%") in view(report).facts


def test_commands_name_the_configuration_that_they_need() -> None:
    drawn = view(support(), config="a dir/oloproof.yaml")
    commands = [drawn.inspect, drawn.grid_hint.text, *(hint.text for hint in (*drawn.errors, *drawn.next_steps))]
    assert all(command.endswith(" --config 'a dir/oloproof.yaml'") for command in commands)


def test_slices_in_short_have_a_column_a_criterion() -> None:
    grid = view(support()).grid
    assert grid.columns[:4] == ("slice", "support", "answer_correct", "agent_tool_lookup_order_called")
    assert grid.rows[0] == ("first_tool=search", "7", "–", "–", "0.0% (0/6)", "0.0% (0/7)", "–", "–")


def test_a_run_that_cannot_be_gated_says_so_in_its_header() -> None:
    facts = view(odd()).facts
    assert Fact("partial", "--limit 3") in facts
    assert Fact("in process", "for a debugger") in facts
    assert Fact("dataset", "none: the recordings are their own") in facts


def test_a_system_may_be_known_by_its_name_alone() -> None:
    report = support()
    report = replace(report, run=replace(report.run, system=SystemIdentity(name="bare")))
    assert Fact("system", "bare") in view(report).facts


def test_an_approval_of_other_content_does_not_count() -> None:
    mine = Approval(rule="r", by="ann", at="2026-11-30", run_digest="d1")
    decided = replace(support().decisions[0], approved_by="ann", approval="d1")
    report = replace(support(), decisions=(decided,), approvals=(mine, replace(mine, run_digest="d0")))
    assert view(report).approvals == (
        "r approved by ann at 2026-11-30",
        "r approved by ann at 2026-11-30, for other content: not counted",
    )


def hostile(text: str) -> Report:
    """A report in which every name is this text."""
    report = support()
    rate = Rate(text, Tally(1, 1))
    return replace(
        report,
        run=replace(report.run, id=text, project=text, partial=text, system=SystemIdentity(name=text, source=text)),
        measured=Measured(2, (rate,), (SliceGroup(text, text, 9, (rate,)), SliceGroup(text, OTHERS, 1, ()))),
        decisions=tuple(replace(decision, rule=text, metric=text, approved_by=text) for decision in report.decisions),
        gate=Gate(outcome="BLOCK", exit_code=1, why=text),
        approvals=(Approval(rule=text, by=text, at=text, run_digest=text),),
        warnings=(text,),
    )


def assert_inert(text: str) -> None:
    assert not [each for each in text if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")]
    assert len(text) < 20_000


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_every_text_of_a_view_is_inert(text: str) -> None:
    for shown in texts(view(hostile(text))):
        assert_inert(shown)


@given(st.text(st.characters()))
@settings(deadline=None, max_examples=60)
def test_every_text_of_a_view_is_inert_whatever_it_was(text: str) -> None:
    for shown in texts(view(hostile(text))):
        assert_inert(shown)


def test_a_view_needs_no_heavy_package() -> None:
    program = (
        "import sys, oloproof.reports.view, oloproof.reports.case, oloproof.reports.document, "
        "oloproof.reports.markdown, oloproof.reports.junit; "
        "print(sorted({'rich', 'numpy', 'scipy', 'yaml', 'click'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
