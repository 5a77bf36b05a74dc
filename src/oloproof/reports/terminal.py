"""The report on a terminal, and the tables of ``inspect`` and ``runs``. The only report that knows rich.

Texts reach rich as ``Text``, never as markup. A table whose words do not fit the width is drawn as a stack of records
instead, so that a narrow terminal folds lines and loses none. What the encoding cannot show is drawn in ASCII.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from oloproof.reports.case import CaseView, StepView
from oloproof.reports.failing import Failures
from oloproof.reports.figures import NOTHING
from oloproof.reports.lists import failure_table
from oloproof.reports.shapes import Fact, Table
from oloproof.reports.stopping import STOPPING_LABELS
from oloproof.reports.view import DecisionRow, View

_NARROWEST = 20
_LONGEST_WORD = 32
_READABLE = 14
_HEAD = 16
_LABEL = 40
MOST_SLICE_ROWS = 40
"""Rows of slices that a report still draws whole, and not in short."""
_STYLES = {
    "PASS": "green",
    "FAIL": "bold red",
    "INSUFFICIENT_EVIDENCE": "yellow",
    "MANUAL_REVIEW": "magenta",
    "pass": "green",
    "fail": "bold red",
    "missing": "yellow",
    "excluded": "dim",
    "ALLOW": "bold green",
    "BLOCK": "bold red",
    "NOT_GATED": "bold yellow",
    "NOT GATED": "bold yellow",
}
_ASCII = str.maketrans(
    {"·": "-", "–": "-", "…": "...", "≥": ">=", "≤": "<=", "±": "+/-", "✗": "x", "✂": "--", "→": "->"}
)


def render(
    view: View,
    *,
    width: int,
    color: bool,
    encoding: str = "utf-8",
    failures: Failures | None = None,
    all_slices: bool = False,
) -> str:
    """A report: what ran, the figures, the slices, the first ``failures``, the rules, and last, where the eye rests,
    the verdict.

    Slices are drawn with every metric and its interval where those are few and fit without folding, or ``all_slices``
    asks for it; else in short.
    """
    page = _Page(width=width, color=color, encoding=encoding)
    page.facts(view.facts)
    page.table(
        "criteria",
        ("metric", "estimate", "interval", "cases"),
        [(row.id, row.estimate, row.interval, row.counts) for row in view.metrics],
    )
    _missing(page, view)
    columns = ("slice", "metric", "estimate", "interval", "cases")
    rows = [(row.group, row.id, row.estimate, row.interval, row.counts) for row in view.slices]
    if all_slices or (len(rows) <= MOST_SLICE_ROWS and page.fits(columns, rows)):
        page.table("slices", columns, rows)
    else:
        _grid(page, view)
    page.table(view.rest.title, view.rest.columns, view.rest.rows)
    if view.rest_note:
        page.line(view.rest_note, style="dim", indent=2)
    for table in view.baseline:
        page.table(table.title, table.columns, table.rows)
    if view.baseline:
        page.hint(view.baseline_hint, style="dim")
    page.table(view.flaky.title, view.flaky.columns, view.flaky.rows)
    _failures(page, view, failures or Failures())
    page.table(
        "rules",
        ("rule", "metric", "state", "why"),
        [(row.rule, row.metric, row.state, row.words) for row in view.decisions],
    )
    _decision_words(page, view.decisions)
    page.section("approvals", view.approvals)
    page.section("warnings", view.warnings, style="yellow")
    page.blank()
    page.line(view.gate, style=_STYLES[view.outcome])
    for step in view.next_steps:
        page.hint(step)
    return page.text()


def render_table(table: Table, *, width: int, color: bool, encoding: str = "utf-8") -> str:
    """A list: runs, verdicts, failing cases."""
    page = _Page(width=width, color=color, encoding=encoding)
    if table.rows:
        page.table(table.title, table.columns, table.rows)
    else:
        page.line(f"{table.title}: none")
    return page.text()


def render_block(lines: Sequence[str], table: Table | None, *, width: int, color: bool, encoding: str = "utf-8") -> str:
    """Lines with a table below them."""
    page = _Page(width=width, color=color, encoding=encoding)
    page.lines(lines)
    if table is not None:
        page.table(table.title, table.columns, table.rows)
    return page.text().lstrip("\n") + "\n"


def render_case(case: CaseView, *, width: int, color: bool, encoding: str = "utf-8") -> str:
    """A case: what was asked, each step with the criteria that it offends, the judgments, the log."""
    page = _Page(width=width, color=color, encoding=encoding)
    page.line(f"case {case.case}", style="bold")
    page.facts(case.facts)
    page.section("trajectory", (case.trajectory,))
    for step in case.steps:
        _step(page, step)
    left_out = sum(step.left_out for step in case.steps)
    if left_out:
        page.line(f"{_steps_text(left_out)} left out; with --all-steps all are shown", style="yellow")
    if case.cut:
        page.line(f"✂ {case.cut}", style="yellow")
    page.section("constraints", case.constraints)
    page.table(
        "judgments",
        ("criterion", "verdict", "reason", "steps", "expected", "found"),
        [(row.criterion, row.verdict, row.reason, row.steps, row.expected, row.found) for row in case.judgments],
    )
    for aligned in case.alignments:
        page.table(aligned.title, aligned.columns, aligned.rows)
    for block in case.blocks:
        page.section(block.title, block.lines)
    return page.text()


def _missing(page: _Page, view: View) -> None:
    """What went wrong; where nothing did, and the run did not stop early, how it is seen why verdicts are missing."""
    if view.errors:
        page.title("errors")
    for error in view.errors:
        page.line(error.label, style="yellow", indent=2)
        page.command(error.text)
    is_said = any("--missing" in step.text for step in view.next_steps)
    is_known = view.errors or any(fact.label in STOPPING_LABELS for fact in view.facts)
    if view.totals.missing and not is_known and not is_said:
        page.hint(Fact("what is missing, and why", f"{view.inspect} --missing"), style="dim")


def _failures(page: _Page, view: View, failures: Failures) -> None:
    """The first verdicts that failed, and how all are shown, where that is not among the next steps anyway."""
    table = failure_table(failures.rows)
    page.table(failures.title, table.columns, table.rows)
    is_said = any("--failures" in step.text for step in view.next_steps)
    if failures.rows and view.totals.failed > len(failures.rows) and not is_said:
        page.hint(Fact("all of them", f"{view.inspect} --failures"), style="dim")


def _grid(page: _Page, view: View) -> None:
    """The slices in short. Where the criteria do not fit side by side, tables of as many as fit stand one below the
    other, each with the slices' values."""
    table = view.grid
    if not table.rows:
        return
    label, support, *criteria = zip(table.columns, *table.rows, strict=True)
    left = [[_underscores_folded(head), *cells] for head, *cells in criteria]
    if page.fitting((label, support), left[:1]) < len(left[:1]):
        page.table(table.title, table.columns, table.rows)
        left = []
    else:
        page.title(table.title)
    while left:
        fitting = page.fitting((label, support), left)
        page.grid((label, support, *left[:fitting]))
        left = left[fitting:]
    page.hint(view.grid_hint, style="dim")


def _underscores_folded(name: str) -> str:
    """A criterion's name as the head of a narrow column: broken after underscores into lines of a cell's length."""
    lines = [""]
    for part in re.split("(?<=_)", name):
        if lines[-1] and cell_len(lines[-1] + part) > _HEAD:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _steps_text(count: int) -> str:
    return f"{count:,} {'step' if count == 1 else 'steps'}"


def _step(page: _Page, step: StepView) -> None:
    if step.left_out:
        page.line(f"   … {_steps_text(step.left_out)} left out", style="dim")
    agent = "" if step.agent == NOTHING else f"{step.agent}: "
    marks = f"  ✗ {', '.join(step.offends)}" if step.offends else ""
    page.numbered(step.number, f"{agent}{step.action}{marks}", style="bold red" if step.offends else "")
    for detail in step.details:
        page.line(f"{detail.label}: {detail.text}", style="dim", indent=6)


def _decision_words(page: _Page, decisions: Iterable[DecisionRow]) -> None:
    for row in decisions:
        approved = f"approved by {row.approved_by}" if row.approved_by else ""
        said = " · ".join(part for part in (row.reason, row.achieved, row.settling, approved) if part)
        page.line(f"{row.rule}: {said}", indent=2, style="dim")


def _widths(columns: Sequence[Sequence[str]], *, room: int) -> list[int] | None:
    """A width for each column of cells, by max-min fairness; None where it would fold cells past reading.

    Every column gets its longest word (a very long one may be broken) and a readable minimum of what it wants, then
    those that want least are served first.
    """
    wanted = [max(map(cell_len, cells)) for cells in columns]
    words = [max(cell_len(word) for cell in cells for word in cell.split(" ")) for cells in columns]
    widths = [max(min(word, _LONGEST_WORD), min(want, _READABLE)) for word, want in zip(words, wanted, strict=True)]
    spare = room - sum(widths)
    if spare < 0:
        return None
    order = sorted(range(len(columns)), key=lambda column: wanted[column] - widths[column])
    for served, column in enumerate(order):
        given = min(wanted[column] - widths[column], spare // (len(order) - served))
        widths[column] += given
        spare -= given
    return widths


def _column_width(column: Sequence[str]) -> int:
    """The cells of the longest line, as far as a column of a grid is that wide."""
    return min(max(cell_len(line) for cell in column for line in cell.split("\n")), _LABEL)


class _Paper(io.StringIO):
    """A StringIO that tells rich in which encoding its text will be written."""

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]  # typeshed has it as an attribute
        return self._encoding


class _Page:
    """What is drawn so far."""

    def __init__(self, *, width: int, color: bool, encoding: str) -> None:
        self._encoding = encoding
        self._paper = _Paper(encoding)
        self._console = Console(
            file=self._paper,
            width=max(width, _NARROWEST),
            color_system="standard" if color else None,
            force_terminal=color,
            no_color=not color,
            legacy_windows=False,
            markup=False,
            emoji=False,
            highlight=False,
            _environ={},
        )

    def text(self) -> str:
        return "".join(f"{line.rstrip()}\n" for line in self._paper.getvalue().splitlines())

    def blank(self) -> None:
        self._console.print()

    def line(self, text: str, *, style: str = "", indent: int = 0) -> None:
        self._console.print(Padding(self._drawn(text, style), (0, 0, 0, indent), expand=False))

    def numbered(self, number: str, text: str, *, style: str = "") -> None:
        """A line of a list; where it is folded, it goes on below itself and not below its number."""
        if cell_len(line := f"{number:>4}  {text}") <= self._console.width:
            self.line(line, style=style)
            return
        table = RichTable.grid(padding=(0, 2))
        table.add_column(justify="right", min_width=4, no_wrap=True)
        table.add_column(overflow="fold")
        table.add_row(self._drawn(number, style), self._drawn(text, style))
        self._console.print(table)

    def lines(self, texts: Iterable[str], *, style: str = "", indent: int = 0) -> None:
        for text in texts:
            self.line(text, style=style, indent=indent)

    def hint(self, hint: Fact, *, style: str = "") -> None:
        """What to do and its command: on a line, or the command on its own, unbroken, so that it can be copied."""
        if cell_len(line := f"{hint.label}: {hint.text}") + 2 <= self._console.width:
            self.line(line, style=style, indent=2)
            return
        self.line(hint.label, style=style, indent=2)
        self.command(hint.text)

    def command(self, command: str) -> None:
        """A command on a line of its own, which is not folded."""
        self._console.print(self._drawn(f"    {command}", "dim"), soft_wrap=True)

    def title(self, title: str) -> None:
        self.blank()
        self.line(title, style="bold")

    def section(self, title: str, texts: Sequence[str], *, style: str = "") -> None:
        if texts:
            self.title(title)
            self.lines(texts, style=style, indent=2)

    def facts(self, facts: Sequence[Fact]) -> None:
        wide = max((len(fact.label) for fact in facts), default=0)
        self.lines(f"{fact.label:<{wide}}  {fact.text}" for fact in facts)

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A boxed table, or a stack of records where the longest words do not fit side by side."""
        if not rows:
            return
        self.title(title)
        heads = [self._drawn(column).plain for column in columns]
        drawn = [[self._drawn(cell, _STYLES.get(cell, "")) for cell in row] for row in rows]
        cells = zip(heads, *([text.plain for text in row] for row in drawn), strict=True)
        widths = _widths(list(cells), room=self._console.width - 3 * len(heads) - 1)
        if widths is None:
            self._stack(heads, drawn)
            return
        table = RichTable(box=box.SQUARE, header_style="dim")
        for head, width in zip(heads, widths, strict=True):
            table.add_column(Text(head), width=width, overflow="fold")
        for row in drawn:
            table.add_row(*row)
        self._console.print(table)

    def fits(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
        """Whether a table of these cells needs no folding."""
        longest = (max(map(len, cells)) for cells in zip(columns, *rows, strict=True))
        return sum(longest) + 3 * len(columns) + 1 <= self._console.width

    def fitting(self, fixed: Sequence[Sequence[str]], more: Sequence[Sequence[str]]) -> int:
        """How many of these columns fit beside the fixed ones."""
        room = self._console.width - 1 - sum(_column_width(column) + 3 for column in fixed)
        count = 0
        for column in more:
            room -= _column_width(column) + 3
            if room < 0:
                break
            count += 1
        return count

    def grid(self, columns: Sequence[Sequence[str]]) -> None:
        """A table given by its columns, heads first, each as wide as its lines are."""
        table = RichTable(box=box.SQUARE, header_style="dim")
        for head, *_ in columns:
            table.add_column(self._drawn(head), overflow="fold", max_width=_LABEL)
        for row in zip(*(column[1:] for column in columns), strict=True):
            table.add_row(*map(self._drawn, row))
        self._console.print(table)

    def _stack(self, columns: Sequence[str], rows: Sequence[Sequence[Text]]) -> None:
        wide = max(map(len, columns[1:]), default=0)
        for row in rows:
            self.line(row[0].plain, style="bold")
            for column, cell in zip(columns[1:], row[1:], strict=True):
                self.line(f"{column:<{wide}}  {cell.plain}", style=str(cell.style), indent=2)

    def _drawn(self, text: str, style: str = "") -> Text:
        try:
            text.encode(self._encoding)
        except UnicodeEncodeError:
            text = text.translate(_ASCII).encode(self._encoding, "backslashreplace").decode(self._encoding)
        return Text(text, style=style, overflow="fold")
