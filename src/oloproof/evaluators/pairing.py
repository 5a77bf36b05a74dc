"""The calls of a record beside a reference: whether they fit, mode by mode, and what is in the way.

What was not recorded stands for whatever it may be. A pair is *certain* where it fits under every filling of the
record, *possible* where it fits under some. A call is paired once, so that fillings of different calls never get into
each other's way: some run fits exactly where a pairing of possible pairs does. And there is one filling under which
no uncertain pair fits, with values that nothing asks for: every run fits exactly where a pairing of certain pairs does.
(Only of references that ask, one for the presence and another for the absence, of a part of a value that was not
recorded, some fits whatever it was; these are taken each by itself, and the verdict is then missing.)

Where order counts, parallel calls make the pairing one of blocks. Turns and the blocks of a reference both cut the
places 1 … n into intervals. Two such partitions overlap like stairs, so that a perfect pairing of calls and references
whose intervals overlap has in every overlap as many pairs as it has places: it *is* an order of both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Literal, assert_never

from msgspec import Struct

from oloproof.evaluators.matching import Matching
from oloproof.evaluators.reference import Reference
from oloproof.model.reading import Reading
from oloproof.model.trajectory import Step

Mode = Literal["exact", "in_order", "any_order", "superset", "subset"]


class Misfit(Struct, frozen=True):
    """Why calls do not fit: positions of calls that no reference takes, of references that no call serves."""

    calls: Sequence[int] = ()
    wanted: Sequence[int] = ()


class Board:
    """Calls and a reference. ``doubtful``: some pair that was asked for is possible and not certain."""

    def __init__(self, reading: Reading, reference: Reference) -> None:
        self.calls = reading.calls
        self.reference = reference
        stops = list(accumulate(map(len, in_turns(reading.calls)), initial=0))
        self.turns = [range(*span) for span in pairwise(stops)]
        self.truncated = reading.truncated
        self.open_turn = last_turn_is_open(reading)
        self.doubtful: set[int] = set()
        self._answers: dict[tuple[int, int], bool | None] = {}

    def answer(self, call: int, wanted: int) -> bool | None:
        """Whether the pair fits, None where that is not known."""
        declared = self.reference.wanted[wanted]
        if self.calls[call].tool_name != declared.tool:
            return False
        if declared.arguments is None:
            return True
        key = call, wanted
        if key not in self._answers:
            self._answers[key] = declared.arguments.match(self.calls[call].arguments)
            if self._answers[key] is None:
                self.doubtful.add(call)
        return self._answers[key]

    def fits(self, call: int, wanted: int, *, certain: bool) -> bool:
        """Whether the pair is certain, or possible."""
        answer = self.answer(call, wanted)
        return answer is True or (answer is None and not certain)


def misfit(board: Board, mode: Mode, *, certain: bool) -> Misfit | None:
    """What keeps the finished runs that the record stands for from fitting: all of them, or (``certain``) some. None
    where nothing does. Of a truncated record, only what no further call could mend."""
    match mode:
        case "exact":
            return _exact(board, certain=certain)
        case "in_order":
            return _in_order(board, certain=certain)
        case "any_order":
            return _free(board, certain=certain, calls=True, wanted=not board.truncated)
        case "superset":
            return _free(board, certain=certain, calls=False, wanted=True)
        case "subset":
            return _free(board, certain=certain, calls=True, wanted=False)
        case _:
            assert_never(mode)


def _free(board: Board, *, certain: bool, calls: bool, wanted: bool) -> Misfit | None:
    """Order does not count. ``calls`` (``wanted``): each of them needs a partner."""
    pairs, alone = _paired(board, certain=certain)
    spare = [number for number in range(len(board.calls)) if number not in pairs.left_of] if calls else []
    return Misfit(spare, alone if wanted else ()) if spare or (wanted and alone) else None


def likeness(board: Board) -> int:
    """How much of calls and reference could fit if order did not count: the larger, the more alike."""
    pairs, alone = _paired(board, certain=False)
    return len(pairs.left_of) - len(alone)


def _paired(board: Board, *, certain: bool) -> tuple[Matching, list[int]]:
    """A maximum matching of references and calls, and the references that it leaves alone."""
    made = defaultdict(list)
    for number, call in enumerate(board.calls):
        made[call.tool_name].append(number)
    declared = board.reference.wanted
    pairs = Matching(lambda j: (i for i in made[declared[j].tool] if board.fits(i, j, certain=certain)))
    return pairs, pairs.add_all(range(len(declared)))


def _in_order(board: Board, *, certain: bool) -> Misfit | None:
    """Each block of the reference takes calls up to the earliest turn in which it and those before it are complete;
    the next block begins in that turn. Whatever pairing there is can be moved forward into these bounds, and pairs
    within them are in order."""
    options: dict[int, list[int]] = {}
    pairs = Matching(options.__getitem__)
    turn = 0
    for block in dict.fromkeys(board.reference.blocks):
        options |= {wanted: [] for wanted in block}
        lacking: Sequence[int] = block
        while lacking:
            gained = False
            for wanted in block if turn < len(board.turns) else ():
                more = [call for call in board.turns[turn] if board.fits(call, wanted, certain=certain)]
                options[wanted] += more
                gained = gained or bool(more)
            if gained:
                lacking = pairs.add_all(lacking)
            elif turn >= len(board.turns):
                return Misfit(wanted=lacking)
            turn += bool(lacking)
    return None


def _exact(board: Board, *, certain: bool) -> Misfit | None:
    """Calls and references share the places 1 … n. A truncated record may go on with whatever calls, in places after
    its own or, while its last turn is open, in those of that turn too; all that must be is that every call has its
    reference, and every reference that lies wholly before those places its call. Which calls and which references can
    be covered are questions apart (Mendelsohn & Dulmage 1958)."""
    count, declared = len(board.calls), len(board.reference.wanted)
    blocks = board.reference.blocks
    spans = [turn for turn in board.turns for _ in turn]
    before = count
    if board.open_turn:
        before, last = board.turns[-1].start, board.turns[-1]
        spans[before:] = [range(before, max(count, declared))] * len(last)

    def references(call: int) -> Iterator[int]:
        start, stop = spans[call].start, min(spans[call].stop, declared)
        reach = range(blocks[start].start, blocks[stop - 1].stop) if start < stop else range(0)
        return (wanted for wanted in reach if board.fits(call, wanted, certain=certain))

    def serving(wanted: int) -> Iterator[int]:
        reach = range(spans[blocks[wanted].start].start, spans[blocks[wanted].stop - 1].stop)
        return (call for call in reach if board.fits(call, wanted, certain=certain))

    pairs = Matching(references)
    for turn in board.turns:
        if pairs.add_all(turn):
            return Misfit(turn)
    if not board.truncated:
        lacking = [wanted for wanted in range(declared) if wanted not in pairs.left_of]
        return Misfit(wanted=lacking) if lacking else None
    due = [wanted for wanted in range(declared) if blocks[wanted].stop <= before]
    for wanted in Matching(serving).add_all(due):
        return Misfit(range(spans[blocks[wanted].start].start, spans[blocks[wanted].stop - 1].stop), [wanted])
    return None


def in_turns(calls: list[Step]) -> Iterator[list[Step]]:
    """The calls turn by turn; a call without a turn is a turn of its own."""
    turn: list[Step] = []
    for call in calls:
        if turn and (call.turn is None or call.turn != turn[0].turn):
            yield turn
            turn = []
        turn.append(call)
    if turn:
        yield turn


def last_turn_is_open(reading: Reading) -> bool:
    """Further calls of the last call's turn may follow: the record is truncated, and no step of a later turn came."""
    if not reading.truncated or not reading.calls:
        return False
    turn = next((step.turn for step in reversed(reading.steps) if step.turn is not None), None)
    return turn is not None and turn == reading.calls[-1].turn
