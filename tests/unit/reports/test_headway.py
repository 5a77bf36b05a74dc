"""The words of a run's headway, in a log and on a terminal of any width."""

from __future__ import annotations

import io

import pytest
from rich.console import Console, Group

from oloproof.cli.drawing import Drawing, drawn
from oloproof.model.decision import State
from oloproof.model.headway import Headway, RuleSoFar
from oloproof.reports.headway import MOST_RULES, headway_line, rule_lines, time_left

STATES: tuple[State | None, ...] = ("PASS", None, "FAIL")
RULES = tuple(RuleSoFar(f"rule-{state}", "right", 7, 2, 1, state) for state in STATES)
HALF = Headway(total=20, passed=7, failed=2, missing=1, in_flight=3, rules=RULES)


@pytest.mark.parametrize(
    ("headway", "line"),
    [
        (Headway(), "0 of ? cases"),
        (Headway(total=4, before=1), "1 of 4 cases"),
        (
            HALF,
            "10 of 20 cases; 7 passed · 2 failed · 1 missing · 3 in flight; about 1 min 1 s left; FAIL: rule-FAIL",
        ),
        (Headway(total=1, excluded=1), "1 of 1 cases; 0 passed · 0 failed · 0 missing · 1 excluded · 0 in flight"),
    ],
)
def test_a_line_of_a_log(headway: Headway, line: str) -> None:
    assert headway_line(headway, noun="cases", elapsed_s=60.1) == line


@pytest.mark.parametrize(
    ("elapsed", "text"),
    [
        (0.2, "1 s"),
        (59.0, "59 s"),
        (60.0, "1 min 0 s"),
        (7261.0, "2 h 1 min"),
    ],
)
def test_time_is_rounded_up(elapsed: float, text: str) -> None:
    assert time_left(HALF, elapsed_s=elapsed) == f"about {text} left"


def test_the_rules_that_failed_come_first_and_the_rest_is_counted() -> None:
    assert [(name.strip(), state) for name, state, _ in rule_lines(HALF)] == [
        ("rule-FAIL", "FAIL"),
        ("rule-None", "open"),
        ("rule-PASS", "PASS"),
    ]
    many = Headway(rules=tuple(RuleSoFar(f"r{at}", "right") for at in range(MOST_RULES + 3)))
    assert list(rule_lines(many))[MOST_RULES:] == [("… and 3 more rules", "", "")]


def on_a_terminal(headway: Headway, *, width: int, **options: object) -> str:
    console = Console(file=io.StringIO(), force_terminal=True, width=width, **options)  # type: ignore[arg-type]
    console.print(Group(*drawn(headway, noun="cases", elapsed_s=60.1, width=width)))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_what_a_terminal_shows() -> None:
    lines = on_a_terminal(HALF, width=90, no_color=True, color_system=None).splitlines()
    assert lines[0].endswith("10/20 cases, 1:00, about 1 min 1 s left")
    assert lines[0].startswith("━" * 20)
    assert lines[1:] == [
        "7 passed · 2 failed · 1 missing · 3 in flight",
        "rule-FAIL  FAIL  7 passed · 2 failed · 1 missing",
        "rule-None  open  7 passed · 2 failed · 1 missing",
        "rule-PASS  PASS  7 passed · 2 failed · 1 missing",
    ]


@pytest.mark.parametrize("width", [1, 10, 24, 40, 79, 300])
def test_no_line_is_wider_than_the_terminal_or_folds(width: int) -> None:
    lines = on_a_terminal(HALF, width=width, no_color=True, color_system=None).splitlines()
    assert len(lines) == 5
    assert max(map(len, lines)) <= width


def test_colour_only_where_it_is_wanted() -> None:
    assert "\x1b[31m" in on_a_terminal(HALF, width=90, color_system="standard")
    assert "\x1b[31m" not in on_a_terminal(HALF, width=90, color_system="standard", no_color=True)


def test_a_hostile_rule_draws_nothing_but_itself() -> None:
    rules = (RuleSoFar("\x1b[2J[red]x\n", "right", 1, state="FAIL"),)
    shown = on_a_terminal(Headway(total=1, passed=1, rules=rules), width=90, color_system=None)
    assert r"\x1b[2J[red]x\n  FAIL" in shown
    assert r"FAIL: \x1b[2J[red]x\n" in headway_line(Headway(rules=rules), noun="cases", elapsed_s=1)


def test_what_is_drawn_is_gone_once_it_is_stopped() -> None:
    ticks = iter(range(10_000))
    console = Console(file=io.StringIO(), force_terminal=True, width=60, get_time=lambda: float(next(ticks)))
    drawing = Drawing(console)
    drawing.start("cases")
    drawing.show(HALF)
    drawing.stop()
    drawing.stop()
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "2 failed" in shown
    assert shown.endswith("\x1b[1A\x1b[2K")
