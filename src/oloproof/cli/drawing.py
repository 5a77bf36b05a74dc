"""The progress of a run on a terminal: a bar, what the cases came to, and the rules."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from oloproof.model.headway import Headway
from oloproof.reports.headway import counts, rule_lines, time_left

BAR_WIDTH = 40
_STYLES = {"FAIL": "red", "PASS": "green", "open": "default", "MANUAL_REVIEW": "yellow"}


class Drawing:
    """Drawn over itself until it is stopped, and gone then. ``console`` None: on stderr."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._headway = Headway()
        self._noun = "cases"
        self._began_at = 0.0
        self._live = Live(self, console=self._console, transient=True, refresh_per_second=5, redirect_stdout=False)

    def start(self, noun: str) -> None:
        """From now on time goes by."""
        self._noun = noun
        self._began_at = self._console.get_time()
        self._live.start()

    def show(self, headway: Headway) -> None:
        """How far it is, from the next time it is drawn."""
        self._headway = headway

    def stop(self) -> None:
        self._live.stop()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        elapsed_s = console.get_time() - self._began_at
        yield from drawn(self._headway, noun=self._noun, elapsed_s=elapsed_s, width=options.max_width)


def drawn(headway: Headway, *, noun: str, elapsed_s: float, width: int) -> Iterator[RenderableType]:
    """The lines, none wider than ``width`` columns; the bar takes what is left of its line."""
    minutes, seconds = divmod(int(elapsed_s), 60)
    left = time_left(headway, elapsed_s=elapsed_s)
    of = "?" if headway.total is None else f"{headway.total:,}"
    words = ", ".join(filter(None, (f"{headway.done:,}/{of} {noun}", f"{minutes}:{seconds:02}", left)))
    room = min(BAR_WIDTH, width - len(words) - 1)
    if room >= 4 and headway.total:
        line = Table.grid(padding=(0, 1, 0, 0))
        line.add_row(ProgressBar(total=headway.total, completed=headway.done, width=room), _line(words))
        yield line
    else:
        yield _line(words)
    if headway.finished or headway.in_flight:
        yield _line(counts(headway))
    for name, state, verdicts in rule_lines(headway):
        text = Text(f"{name}  ")
        text.append(state.ljust(4), style=_STYLES.get(state, "default"))
        text.append(f"  {verdicts}")
        yield _cut(text)


def _line(words: str) -> Text:
    return _cut(Text(words))


def _cut(text: Text) -> Text:
    text.rstrip()
    text.no_wrap, text.overflow = True, "ellipsis"
    return text
