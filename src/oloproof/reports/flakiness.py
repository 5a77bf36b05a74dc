"""The cases that pass in some of their trials, and where a failing trial first does something else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from oloproof.model.measured import Flaky
from oloproof.reports.figures import NOTHING
from oloproof.reports.inert import inert
from oloproof.reports.shapes import Table

MOST_SHOWN = 20
"""Cases shown in a report; its JSON document names them all."""


def flaky_table(flaky: Sequence[Flaky]) -> Table:
    """The first :data:`MOST_SHOWN`, and in a last row how many more there are. ``3 / 5`` trials passed; the last cell
    says where a failing trial's calls leave a passing one's."""
    return Table("flaky cases", ("criterion", "case", "passed", "where they part"), tuple(_rows(flaky)))


def _rows(flaky: Sequence[Flaky]) -> Iterator[tuple[str, str, str, str]]:
    for each in flaky[:MOST_SHOWN]:
        known = each.passed + each.failed
        missing = f", {each.missing:,} missing" if each.missing else ""
        passed = f"{each.passed:,} / {known:,}{missing}"
        yield inert(each.criterion), inert(each.case), passed, _parting(each)
    if len(flaky) > MOST_SHOWN:
        more = f"and {len(flaky) - MOST_SHOWN:,} more: --json names them all"
        yield NOTHING, more, NOTHING, NOTHING


def _parting(flaky: Flaky) -> str:
    move, failing, passing = flaky.parting, f"trial {flaky.failing}", f"trial {flaky.passing}"
    if move is None:
        return f"{failing} fails, {passing} passes"
    tool = inert(move.tool)
    match move.kind:
        case "inserted":
            return f"{failing} fails: its step {move.now} calls {tool}, as {passing} does not"
        case "deleted":
            return f"{failing} fails: it lacks the call of {tool} in step {move.was} of {passing}"
        case "changed_arguments":
            return f"{failing} fails: its step {move.now} calls {tool} with other arguments than {passing}"
        case "same":
            return f"{failing} fails with the same calls as {passing}, which passes"
        case _:
            assert_never(move.kind)
