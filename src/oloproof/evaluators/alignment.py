"""The least-cost alignment of calls with a reference: what a comparison that did not pass looks like.

Looked at by a person after the fact, so it is computed when it is shown and decides nothing. A declared call pairs with
a call of its tool. What costs: a call or a declared call left alone, a pair that does not fit (as much as either), then
each difference between arguments, then distance. So as many calls fit as can, and what does not fit stands beside what
it is most like.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import UNSET

from oloproof.evaluators.pairing import Board
from oloproof.evaluators.reference import alternatives
from oloproof.model.alignment import AlignedCall, Alignment
from oloproof.model.case import Case
from oloproof.model.judgment import Judgment
from oloproof.model.reading import Reading
from oloproof.model.trajectory import Step, Trajectory

MOST_CALLS: Final = 300
"""Longer runs and references are not aligned: nobody reads them side by side."""

_ALONE: Final = 10**10
_DIFFERENCE: Final = 10**5
_MOST_DIFFERENCES: Final = 99

Pair = tuple[int | None, int | None]


def alignment(case: Case, trajectory: Trajectory | None, judgment: Judgment) -> Alignment | None:
    """The calls beside the nearest reference of the case; None where the judgment compared no calls, or too many."""
    if trajectory is None or not judgment.modes:
        return None
    mode, arguments_mode = judgment.modes
    ordered = mode in ("exact", "in_order")
    reading = Reading(trajectory)
    references = alternatives(case.expected, arguments_mode)  # type: ignore[arg-type]
    if len(reading.calls) > MOST_CALLS or any(len(each.wanted) > MOST_CALLS for each in references):
        return None
    drawn = [_Drawing(Board(reading, reference), ordered=ordered) for reference in references]
    if not drawn:
        return None
    number, nearest = min(enumerate(drawn, 1), key=lambda each: each[1].cost)  # of equal ones the first
    return Alignment(rows=tuple(nearest.rows()), ordered=ordered, alternative=number if len(references) > 1 else None)


class _Drawing:
    """One reference beside the calls: the pairs in the order in which they are shown, and what they cost."""

    def __init__(self, board: Board, *, ordered: bool) -> None:
        self._board = board
        self._costs = [
            [self._cost(call, wanted) for wanted in range(len(board.reference.wanted))]
            for call in range(len(board.calls))
        ]
        pairs = self._sequenced() if ordered else self._free(self._assigned())
        self._pairs = pairs
        self.cost = sum(self._pair_cost(pair) for pair in pairs)

    def rows(self) -> Iterator[AlignedCall]:
        """The pairs as they are shown."""
        for call, wanted in self._pairs:
            if wanted is None:
                yield _row("extra", self._board.calls[call or 0])
            elif call is None:
                yield AlignedCall(status="missing", declared=self._board.reference.wanted[wanted].written)
            else:
                yield self._paired_row(call, wanted)

    def _paired_row(self, number: int, wanted: int) -> AlignedCall:
        call, declared = self._board.calls[number], self._board.reference.wanted[wanted]
        answer = self._board.answer(number, wanted)
        status: Any = {True: "matched", None: "unknown", False: "changed"}[answer]
        differences = self._differences(number, wanted) if answer is False else ()
        return _row(status, call, declared.written, tuple(differences))

    def _differences(self, call: int, wanted: int) -> Sequence[str]:
        arguments = self._board.reference.wanted[wanted].arguments
        return () if arguments is None else list(arguments.differences(self._board.calls[call].arguments))

    def _cost(self, call: int, wanted: int) -> int | None:
        """What the pair costs beside the two alone, None where the tools differ."""
        board = self._board
        if board.calls[call].tool_name != board.reference.wanted[wanted].tool:
            return None
        distance = abs(call - wanted)
        answer = board.answer(call, wanted)
        if answer is not False:
            return distance + (_DIFFERENCE if answer is None else 0)
        differences = min(len(self._differences(call, wanted)), _MOST_DIFFERENCES)
        return _ALONE + (1 + differences) * _DIFFERENCE + distance

    def _pair_cost(self, pair: Pair) -> int:
        call, wanted = pair
        if call is None or wanted is None:
            return _ALONE
        return self._costs[call][wanted] or 0

    def _assigned(self) -> dict[int, int]:
        """The reference of each call that has one, order aside: an assignment of least cost (Kuhn 1955)."""
        if not self._costs or not self._costs[0]:
            return {}
        import numpy as np  # whoever looks at a failed case can wait for it; nobody else needs it
        from scipy.optimize import linear_sum_assignment

        gain = [[0 if cost is None else cost - 2 * _ALONE for cost in row] for row in self._costs]
        calls, wanted = linear_sum_assignment(np.array(gain, dtype=float))
        pairs = zip(calls.tolist(), wanted.tolist(), strict=True)
        return {call: declared for call, declared in pairs if self._costs[call][declared] is not None}

    def _free(self, paired: dict[int, int]) -> list[Pair]:
        """In the order of the reference, then the calls that are left."""
        call_of = {wanted: call for call, wanted in paired.items()}
        declared: list[Pair] = [(call_of.get(wanted), wanted) for wanted in range(len(self._board.reference.wanted))]
        return declared + [(call, None) for call in range(len(self._board.calls)) if call not in paired]

    def _sequenced(self) -> list[Pair]:
        """An alignment of two sequences (Needleman & Wunsch 1970). Calls of a turn, and of a parallel part of the
        reference, stand in the order in which the free assignment pairs them."""
        board = self._board
        calls, wanted = list(range(len(board.calls))), list(range(len(board.reference.wanted)))
        if len(board.turns) < len(calls) or any(len(each) > 1 for each in board.reference.blocks):
            paired = self._assigned()
            call_of = {each: call for call, each in paired.items()}
            last = len(calls) + len(wanted)
            calls = [call for turn in board.turns for call in sorted(turn, key=lambda call: paired.get(call, last))]
            wanted = [
                each
                for block in dict.fromkeys(board.reference.blocks)
                for each in sorted(block, key=lambda each: call_of.get(each, last))
            ]
        return self._traced(calls, wanted, self._table(calls, wanted))

    def _table(self, calls: list[int], wanted: list[int]) -> list[list[int]]:
        """What the first i calls beside the first j references cost at least."""
        table = [[_ALONE * column for column in range(len(wanted) + 1)]]
        for call in calls:
            above, row = table[-1], [table[-1][0] + _ALONE]
            for column, each in enumerate(wanted):
                best = min(above[column + 1], row[column]) + _ALONE
                cost = self._costs[call][each]
                row.append(best if cost is None else min(best, above[column] + cost))
            table.append(row)
        return table

    def _traced(self, calls: list[int], wanted: list[int], table: list[list[int]]) -> list[Pair]:
        pairs: list[Pair] = []
        row, column = len(calls), len(wanted)
        while row or column:
            here = table[row][column]
            cost = self._costs[calls[row - 1]][wanted[column - 1]] if row and column else None
            if cost is not None and here == table[row - 1][column - 1] + cost:
                row, column = row - 1, column - 1
                pairs.append((calls[row], wanted[column]))
            elif row and here == table[row - 1][column] + _ALONE:
                row -= 1
                pairs.append((calls[row], None))
            else:
                column -= 1
                pairs.append((None, wanted[column]))
        return pairs[::-1]


def _row(status: Any, call: Step, declared: Any = UNSET, differences: tuple[str, ...] = ()) -> AlignedCall:
    return AlignedCall(
        status=status,
        declared=declared,
        step=call.index,
        tool=call.tool_name,
        arguments=call.arguments,
        differences=differences,
    )
