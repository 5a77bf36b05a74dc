"""The cases that pass in some of their trials, and where a failing trial first does something else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from msgspec import Struct

from oloproof.model.measured import Flaky
from oloproof.reports.figures import NOTHING
from oloproof.reports.inert import inert

MOST_SHOWN = 20
"""Cases shown in a report; its JSON document names them all."""


class FlakyRow(Struct, frozen=True, kw_only=True):
    """``3 / 5`` trials passed; ``parting`` says where a failing trial's calls leave a passing one's."""

    criterion: str
    case: str
    passed: str
    parting: str


def flaky_rows(flaky: Sequence[Flaky]) -> Iterator[FlakyRow]:
    """The first :data:`MOST_SHOWN`, and in a last row how many more there are."""
    for each in flaky[:MOST_SHOWN]:
        known = each.passed + each.failed
        missing = f", {each.missing:,} missing" if each.missing else ""
        yield FlakyRow(
            criterion=inert(each.criterion),
            case=inert(each.case),
            passed=f"{each.passed:,} / {known:,}{missing}",
            parting=_parting(each),
        )
    if len(flaky) > MOST_SHOWN:
        more = f"and {len(flaky) - MOST_SHOWN:,} more: --json names them all"
        yield FlakyRow(criterion=NOTHING, case=more, passed=NOTHING, parting=NOTHING)


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
