"""TAP version 13, for harnesses that read it: a line a rule, a line a judged case and criterion.

What is missing is ``not ok``: the protocol counts what is skipped as a pass, and no missing verdict is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from oloproof.reports.inert import TEXT_LIMIT, inert
from oloproof.reports.lists import case_name, verdict_line
from oloproof.reports.view import VerdictRow, View


def tap(view: View, verdict_rows: Iterable[VerdictRow]) -> Iterator[str]:
    """The document in pieces; its plan comes last, so that what was cut short has none."""
    yield "TAP version 13\n"
    number = 0
    for number, (passed, text, directive) in enumerate(_points(view, verdict_rows), 1):
        yield f"{'ok' if passed else 'not ok'} {number} - {_escaped(text)}{directive}\n"
    yield f"1..{number}\n"


def _points(view: View, rows: Iterable[VerdictRow]) -> Iterator[tuple[bool, str, str]]:
    """Whether each point is met, what it says, and the directive that goes with it."""
    yield view.exit_code == 0, f"gate: {view.gate}", ""
    for decision in view.decisions:
        warned = decision.state != "PASS" and not decision.blocking
        text = f"rule {decision.rule}: {decision.state}: {decision.words}"
        yield decision.state == "PASS" and not decision.blocking, text, " # TODO it does not block" if warned else ""
    for row in rows:
        name = f"{inert(row.criterion)}: {case_name(row)}"
        if row.verdict == "pass":
            yield True, name, ""
        elif row.verdict != "excluded":
            yield False, verdict_line(name, row), ""


def _escaped(text: str) -> str:
    """A description in which nothing starts a directive."""
    return inert(text, 3 * TEXT_LIMIT).replace("\\", "\\\\").replace("#", r"\#")
