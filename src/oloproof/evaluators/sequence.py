"""The calls beside those that the case declares: ``agent_tool_sequence`` and ``agent_no_undeclared_tool``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Annotated, Any, assert_never

from msgspec import Meta

from oloproof.evaluators.arguments import ArgumentsMode, short
from oloproof.evaluators.base import TrajectoryEvaluator, excerpt, open_reason
from oloproof.evaluators.pairing import Board, Misfit, Mode, in_turns, last_turn_is_open, likeness, misfit
from oloproof.evaluators.reference import (
    ANY_OF,
    TOOLS,
    WantedCall,
    alternatives,
    is_plain,
    reference_problems,
    tools_declared,
)
from oloproof.model.case import Case
from oloproof.model.evidence import CaseProblem, Evidence
from oloproof.model.judgment import Judgment, Word, excluded
from oloproof.model.reading import Reading
from oloproof.model.trajectory import Step
from oloproof.model.values import Json

NO_DECLARED_TOOLS = excluded("no_declared_tools")
_MOST_COMPARED = 50
"""Calls among which the nearest to a reference is looked for."""


class DeclaredToolsEvaluator(TrajectoryEvaluator, frozen=True, kw_only=True, dict=True):
    """An evaluator that reads ``expected.tools`` or ``expected.any_of``. ``tools: []`` declares that no tool is called;
    a case without either key declares nothing and is excluded."""

    def reference_fields(self) -> tuple[str, ...]:
        return (TOOLS, ANY_OF)

    def exclusion(self, case: Case) -> Judgment | None:
        return None if TOOLS in case.expected or ANY_OF in case.expected else NO_DECLARED_TOOLS

    def reference_problems(self, case: Case) -> tuple[CaseProblem, ...]:
        return reference_problems(case.expected)


class ToolSequence(
    DeclaredToolsEvaluator, frozen=True, kw_only=True, dict=True, tag_field="type", tag="agent_tool_sequence"
):
    """The tool calls beside ``expected.tools``, by ``mode``:

    - ``exact`` (default): they are equal, in order.
    - ``in_order``: the reference is a subsequence of the calls.
    - ``any_order``: they are equal as multisets.
    - ``superset``: every declared call has a partner among the calls.
    - ``subset``: every call has a partner in the reference.

    Of a declared call with ``arguments``, ``arguments_mode`` says how they are compared: ``exact`` (default: these and
    no others), ``subset`` (others may be there), ``ignore``. With ``expected.any_of``, one of its references must fit.

    A truncated record passes ``in_order`` and ``superset`` once the calls so far do, and never fails them. It fails
    ``exact`` once the calls leave the reference or outgrow it, ``any_order`` and ``subset`` once a call finds no
    partner, and never passes them. Arguments that were not recorded may be any.

    Calls of one ``turn`` were issued in parallel: ``exact`` and ``in_order`` pass if some order of each turn's calls
    passes, and of the calls in each ``{parallel: […]}`` of the reference. The last turn of a truncated record may still
    grow. ``[a, a]`` needs two calls in every mode.
    """

    mode: Annotated[Mode, Meta(description="How the two are compared.")] = "exact"
    arguments_mode: Annotated[
        ArgumentsMode, Meta(description="How declared arguments are compared: these alone, at least these, not at all.")
    ] = "exact"

    def judge_reading(self, reading: Reading, evidence: Evidence) -> Judgment:
        expected = evidence.case.expected
        reference: Any = expected.get(TOOLS)
        names = reading.names
        if names == reference and not reading.truncated:  # no mode fails equal sequences
            return Judgment("pass", None, (), reference, names)
        if not is_plain(reference):
            return self._judge_calls(reading, expected)
        word, steps, detail = self._compare(reading, reference)
        if word == "pass":
            return Judgment("pass", None, steps, reference, names, detail)
        reason = open_reason(reading) if word == "missing" else None
        return Judgment(word, reason, steps, reference, names, detail, (self.mode, self.arguments_mode))

    def _compare(self, reading: Reading, reference: list[str]) -> _Comparison:
        match self.mode:
            case "exact":
                return _exact(reading, reference)
            case "in_order":
                return _in_order(reading, reference)
            case "any_order":
                return _paired(reading, reference, spare_calls=False, spare_references=False)
            case "superset":
                return _paired(reading, reference, spare_calls=True, spare_references=False)
            case "subset":
                return _paired(reading, reference, spare_calls=False, spare_references=True)
            case _:
                assert_never(self.mode)

    def _judge_calls(self, reading: Reading, expected: dict[str, Json]) -> Judgment:
        """The verdict where the reference says more than names: on the whole set of its alternatives."""
        boards = [Board(reading, each) for each in alternatives(expected, self.arguments_mode)]
        judged = [_verdict(board, self.mode) for board in boards]
        declared = expected[TOOLS] if TOOLS in expected else {ANY_OF: expected[ANY_OF]}
        words = [word for word, _, _ in judged]
        if "pass" in words:
            return Judgment("pass", None, (), declared, reading.names)
        modes = (self.mode, self.arguments_mode)
        if "missing" in words:
            _, steps, detail = judged[words.index("missing")]
            return Judgment("missing", open_reason(reading), steps, declared, reading.names, detail, modes)
        number = max(range(len(boards)), key=lambda each: likeness(boards[each])) if len(boards) > 1 else 0
        _, steps, detail = judged[number]
        if len(boards) > 1:
            detail = f"none of the {len(boards)} alternatives fits; the nearest, number {number + 1}: {detail}"
        return Judgment("fail", None, steps, declared, _as_declared(reading), detail, modes)


class NoUndeclaredTool(
    DeclaredToolsEvaluator, frozen=True, kw_only=True, dict=True, tag_field="type", tag="agent_no_undeclared_tool"
):
    """Every called tool is named in ``expected.tools``, or in some alternative of ``expected.any_of``, however often
    and with whatever arguments.

    A truncated record fails at the first call of another tool, and never passes.
    """

    def judge_reading(self, reading: Reading, evidence: Evidence) -> Judgment:
        expected = evidence.case.expected
        reference: Any = expected.get(TOOLS)
        try:
            declared = frozenset(reference)
        except TypeError:  # more than names
            declared = tools_declared(expected)
            reference = sorted(declared)
        if not declared.issuperset(reading.names):
            call = next(call for call in reading.calls if call.tool_name not in declared)
            return Judgment("fail", None, (call.index,), reference, call.tool_name)
        if reading.truncated:
            return Judgment("missing", open_reason(reading), (), reference)
        return Judgment("pass", None, (), reference)


# References that are names alone


# The word, the indexes of the calls that leave the reference, and what is wrong in a line.
_Comparison = tuple[Word, tuple[int, ...], str | None]


def _unlike(reading: Reading, detail: str) -> _Comparison:
    """The calls so far are not enough, which only a finished record makes a failure."""
    return ("missing" if reading.truncated else "fail"), (), detail


def _exact(reading: Reading, reference: list[str]) -> _Comparison:
    position = 0
    for block in in_turns(reading.calls):
        if reading.truncated and block[-1] is reading.calls[-1] and last_turn_is_open(reading):
            fits = _names(block) <= Counter(reference[position:])
        elif len(block) == 1:
            fits = reference[position : position + 1] == [block[0].tool_name]
        else:
            fits = _names(block) == Counter(reference[position : position + len(block)])
        if not fits:
            return "fail", _indexes(block), _divergence(block, reference, position)
        position += len(block)
    if position < len(reference):
        return _unlike(reading, f"{reference[position]!r} is not called")
    return ("missing" if reading.truncated else "pass"), (), None


def _divergence(block: list[Step], reference: list[str], position: int) -> str:
    """What comes at this place and what was called there; of a long turn only that it is one."""
    expected = repr(reference[position]) if position < len(reference) else "no call"
    found = repr(block[0].tool_name) if len(block) == 1 else f"{len(block)} calls in one turn"
    return f"expected {expected}, found {found}"


def _in_order(reading: Reading, reference: list[str]) -> _Comparison:
    rest = iter(reading.names)
    if all(name in rest for name in reference):  # the recorded order of each turn is one of those that may pass
        return "pass", (), None
    position = 0
    for block in in_turns(reading.calls):
        if position == len(reference):
            break
        if len(block) == 1:
            position += block[0].tool_name == reference[position]
            continue
        # Taking all that a turn offers is best: what is left of the reference is then a suffix of any other rest.
        names = _names(block)
        while position < len(reference) and names[reference[position]]:
            names[reference[position]] -= 1
            position += 1
    if position < len(reference):
        return _unlike(reading, f"{reference[position]!r} does not follow")
    return "pass", (), None


def _paired(reading: Reading, reference: list[str], *, spare_calls: bool, spare_references: bool) -> _Comparison:
    """The multisets, with or without members that find no partner.

    A name pairs with the same name alone, so pairing each call with any free partner is a maximum matching.
    """
    free = Counter(reference)
    unpaired = []
    for call in reading.calls:
        name = call.tool_name or ""
        if free[name]:
            free[name] -= 1
        else:
            unpaired.append(call)
    if unpaired and not spare_calls:
        return "fail", _indexes(unpaired), "calls without a partner in the reference"
    lacking = next(free.elements(), None)
    if lacking is not None and not spare_references:
        return _unlike(reading, f"{lacking!r} is called too seldom")
    return ("missing" if reading.truncated and not spare_calls else "pass"), (), None


def _names(block: list[Step]) -> Counter[str]:
    return Counter(call.tool_name or "" for call in block)


# References with arguments, parallel parts or alternatives


def _verdict(board: Board, mode: Mode) -> _Comparison:
    """The word on one alternative. What further calls can mend is never a failure, and what they can break no pass."""
    mendable = mode in ("in_order", "superset")
    hindrance = misfit(board, mode, certain=False)
    if hindrance is not None:
        open_end = board.truncated and mendable
        return ("missing" if open_end else "fail"), *_evidence(board, mode, hindrance)
    if board.truncated and not mendable:
        return "missing", (), None
    doubt = misfit(board, mode, certain=True) if board.doubtful else None
    if doubt is None:
        return "pass", (), None
    steps = _indexes([board.calls[number] for number in sorted(board.doubtful)])
    return "missing", steps, "whether it fits depends on arguments that were not recorded"


def _evidence(board: Board, mode: Mode, hindrance: Misfit) -> tuple[tuple[int, ...], str]:
    """The steps that are in the way, and what is wrong in a line."""
    calls = [board.calls[number] for number in hindrance.calls]
    declared = board.reference.wanted
    if not calls:
        wanted = declared[hindrance.wanted[0]]
        verb = {"exact": "is not called", "in_order": "does not follow"}.get(mode, "is called too seldom")
        return (), f"{_named(wanted)} {verb}{_nearest(board.calls, [wanted])}"
    if mode != "exact":
        return _indexes(calls), f"calls without a partner in the reference{_nearest(calls, declared)}"
    start = hindrance.calls[0]
    due = declared[start : start + 1]
    expected = _named(due[0]) if due else "no call"
    found = repr(calls[0].tool_name) if len(calls) == 1 else f"{len(calls)} calls in one turn"
    return _indexes(calls), f"expected {expected}, found {found}{_nearest(calls[:1], due)}"


def _nearest(calls: Iterable[Step], declared: Iterable[WantedCall]) -> str:
    """The difference of the two that have the fewest, as the end of a sentence."""
    pairs = (
        (len(differences), call.index, differences[0])
        for wanted in declared
        if wanted.arguments is not None
        for call in calls
        if call.tool_name == wanted.tool and (differences := list(wanted.arguments.differences(call.arguments)))
    )
    nearest = min(islice(pairs, _MOST_COMPARED), default=None)
    return "" if nearest is None else f" (step {nearest[1]}: {nearest[2]})"


def _named(wanted: WantedCall) -> str:
    return (
        repr(wanted.tool) if wanted.arguments is None else f"{wanted.tool!r} with {short(wanted.written['arguments'])}"
    )


def _as_declared(reading: Reading) -> list[Json]:
    """The calls as a reference would declare them; of long ones the names alone."""
    called: list[Json] = [
        {"tool": call.tool_name} if call.arguments is None else {"tool": call.tool_name, "arguments": call.arguments}
        for call in reading.calls
    ]
    return called if excerpt(called) is called else list(reading.names)


def _indexes(steps: Sequence[Step]) -> tuple[int, ...]:
    """The indexes of the steps, as evidence."""
    return tuple(step.index for step in steps)
