"""The report as a comment on a pull request: the verdict first, slices folded, never longer than a comment may be.

Foreign text goes into code spans, where nothing is markup, mention, reference or link (CommonMark 0.31 §6.1; GitHub
links mentions and references only outside code). In a table a bar is escaped even there, since it splits at bars
first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from oloproof.reports.figures import NOTHING
from oloproof.reports.lists import failure_table
from oloproof.reports.shapes import Table
from oloproof.reports.view import DecisionRow, VerdictRow, View

LIMIT = 65_000
"""Bytes of UTF-8. A comment holds 65,536 characters; counting bytes is right however those are counted."""

MOST_FAILURES = 50
"""So many failing verdicts are listed: a reviewer reads no more of them in a comment."""

_ROOM_FOR_TAIL = 1_000
_SYNTAX = re.compile(r"[\\`*<>|&~]")


def render(view: View, verdict_rows: Iterable[VerdictRow] = ()) -> str:
    """The whole comment, a newline at its end. Of the verdicts, those that failed are listed."""
    comment = _opened(view)
    for table in view.baseline:
        comment.listed(table)
    comment.table(
        "Criteria",
        ("metric", "estimate", "interval", "cases"),
        ((_cell(row.id), _own(row.estimate), _own(row.interval), _own(row.counts)) for row in view.metrics),
    )
    comment.table(
        _capital(view.flaky.title),
        view.flaky.columns,
        ((_cell(name), _cell(case), _own(passed), _cell(parting)) for name, case, passed, parting in view.flaky.rows),
    )
    comment.table(
        _own(_capital(view.rest.title)),
        view.rest.columns,
        ((_cell(group), _cell(criterion), *map(_own, cells)) for group, criterion, *cells in view.rest.rows),
    )
    comment.block(
        "errors", (f"- {_code(error.label)}: {_code(error.text)}" for error in view.errors), opening="### Errors\n\n"
    )
    comment.block("warnings", (f"- {_code(warning)}" for warning in view.warnings), opening="### Warnings\n\n")
    comment.block("approvals", (f"- {_code(approval)}" for approval in view.approvals), opening="### Approvals\n\n")
    _fold_failures(comment, verdict_rows)
    comment.folded("Run", ("", ""), ((fact.label, _cell(fact.text)) for fact in view.facts))
    comment.folded(
        "Slices",
        ("slice", "metric", "estimate", "interval", "cases"),
        (
            (_cell(row.group), _cell(row.id), _own(row.estimate), _own(row.interval), _own(row.counts))
            for row in view.slices
        ),
    )
    if view.rest_note:
        comment.paragraph(_own(view.rest_note))
    return comment.text()


def render_comparison(view: View, tables: Iterable[Table], notes: Iterable[str]) -> str:
    """The same of a comparison: the verdict and what changed first, what there is of slices folded."""
    comment = _opened(view)
    comment.block("notes", (f"- {_code(note)}" for note in notes))
    for table in tables:
        comment.listed(table, folded="slices" in table.title)
    comment.block("warnings", (f"- {_code(warning)}" for warning in view.warnings), opening="### Warnings\n\n")
    return comment.text()


def _fold_failures(comment: _Comment, verdict_rows: Iterable[VerdictRow]) -> None:
    """The first verdicts that failed, and how many there are."""
    failed = 0
    shown: list[VerdictRow] = []
    for row in verdict_rows:
        if row.verdict == "fail":
            failed += 1
            if failed <= MOST_FAILURES:
                shown.append(row)
    count = str(failed) if failed <= MOST_FAILURES else f"the first {MOST_FAILURES} of {failed:,}"
    table = failure_table(shown)
    comment.folded(f"Failures: {count}", table.columns, (tuple(map(_cell, row)) for row in table.rows))


def _opened(view: View) -> _Comment:
    """A comment that begins with the verdict, what changed, what to do about it, and the rules."""
    comment = _Comment(view.inspect)
    comment.paragraph(f"## {view.outcome.replace('_', ' ')} · {_code(view.project)}")
    comment.paragraph(_code(view.gate))
    if view.changes:
        comment.paragraph(_code(view.changes))
    comment.block("what to do", (f"- {step.label}: {_code(step.text)}" for step in view.next_steps))
    comment.table(
        "Rules",
        ("rule", "metric", "state", "why"),
        ((_cell(row.rule), _cell(row.metric), _own(row.state), _why(row)) for row in view.decisions),
    )
    return comment


class _Comment:
    """Blocks of lines, as many as fit; what does not is counted and told at the end."""

    def __init__(self, inspect: str) -> None:
        self._inspect = inspect
        self._parts: list[str] = []
        self._left = LIMIT - _ROOM_FOR_TAIL
        self._omitted: list[str] = []

    def text(self) -> str:
        if self._omitted:
            omitted, command = "; ".join(self._omitted), _code(self._inspect)
            self._parts.append(f"**Not shown**, because a comment is full: {omitted}. Everything: {command}\n\n")
        return "".join(self._parts).rstrip("\n") + "\n"

    def paragraph(self, text: str) -> None:
        self._add(f"{text}\n\n")

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        self.block(title.lower(), map(_row, rows), opening=f"### {title}\n\n{_head(columns)}")

    def listed(self, table: Table, *, folded: bool = False) -> None:
        """A table of foreign texts."""
        draw = self.folded if folded else self.table
        draw(_own(_capital(table.title)), table.columns, (tuple(map(_cell, row)) for row in table.rows))

    def folded(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        opening = f"<details><summary>{title}</summary>\n\n{_head(columns)}"
        self.block(title.lower(), map(_row, rows), opening=opening, closing="</details>\n\n")

    def block(self, name: str, lines: Iterable[str], *, opening: str = "", closing: str = "") -> None:
        """Lines under an opening; nothing at all where there are no lines, or no room for the first."""
        pending = [f"{line}\n" for line in lines]
        closing = f"\n{closing}"
        room = self._left - _size(opening) - _size(closing)
        shown = 0
        while shown < len(pending) and _size(pending[shown]) <= room:
            room -= _size(pending[shown])
            shown += 1
        if shown:
            self._add(opening + "".join(pending[:shown]) + closing)
        if shown < len(pending):
            self._omitted.append(f"{len(pending) - shown:,} of {len(pending):,} lines of {name}")

    def _add(self, text: str) -> None:
        self._parts.append(text)
        self._left -= _size(text)


def _capital(title: str) -> str:
    return title[:1].upper() + title[1:]


def _head(columns: Sequence[str]) -> str:
    return f"{_row(columns)}\n{_row(['---'] * len(columns))}\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _why(row: DecisionRow) -> str:
    approved = f"approved by {_cell(row.approved_by)}" if row.approved_by else ""
    return "; ".join(part for part in (_own(row.words), _own(row.achieved), _own(row.settling), approved) if part)


def _code(text: str) -> str:
    """Foreign text in a code span whose fence is longer than any run of backticks in it."""
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    edges = text.strip(" ") != "" and (text.startswith(("`", " ")) or text.endswith(("`", " ")))
    padding = " " if edges else ""  # one space at each end is stripped, but not from a span of spaces alone
    return f"{fence}{padding}{text}{padding}{fence}" if text else NOTHING


def _cell(text: str) -> str:
    """A code span in a table."""
    return _code(text).replace("|", r"\|")


def _own(text: str) -> str:
    """The project's own wording, with what Markdown would read as syntax escaped."""
    return _SYNTAX.sub(r"\\\g<0>", text)


def _size(text: str) -> int:
    return len(text.encode())
