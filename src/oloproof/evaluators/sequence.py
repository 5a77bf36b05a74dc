"""The calls beside those that the case declares: ``agent_tool_sequence`` and ``agent_no_undeclared_tool``."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Literal, assert_never

from msgspec import Meta

from oloproof.evaluators.base import TrajectoryEvaluator, listed, names_problem, open_reason, step_indexes
from oloproof.model.case import Case
from oloproof.model.evidence import Evidence
from oloproof.model.judgment import Judgment, Word, excluded
from oloproof.model.reading import Reading
from oloproof.model.trajectory import Step

NO_DECLARED_TOOLS = excluded("no_declared_tools")


class DeclaredToolsEvaluator(TrajectoryEvaluator, frozen=True, kw_only=True, dict=True):
    """An evaluator that reads ``expected.tools``. ``[]`` declares that no tool is called; a case without the key
    declares nothing and is excluded."""

    def reference_fields(self) -> tuple[str, ...]:
        return ("tools",)

    def exclusion(self, case: Case) -> Judgment | None:
        return None if "tools" in case.expected else NO_DECLARED_TOOLS

    def reference_problem(self, case: Case) -> str | None:
        problem = names_problem(case.expected.get("tools", []), "tool names")
        return None if problem is None else f"expected.tools {problem}"


class ToolSequence(
    DeclaredToolsEvaluator, frozen=True, kw_only=True, dict=True, tag_field="type", tag="agent_tool_sequence"
):
    """The called tools beside ``expected.tools``, by ``mode``:

    - ``exact`` (default): they are equal, in order.
    - ``in_order``: the reference is a subsequence of the calls.
    - ``any_order``: they are equal as multisets.
    - ``superset``: every declared call has a partner among the calls.
    - ``subset``: every call has a partner in the reference.

    A truncated record passes ``in_order`` and ``superset`` once the calls so far do, and never fails them. It fails
    ``exact`` once the calls leave the reference or outgrow it, ``any_order`` and ``subset`` once a call finds no
    partner, and never passes them.

    Calls of one ``turn`` were issued in parallel: ``exact`` and ``in_order`` pass if some order of each turn's calls
    passes. The last turn of a truncated record may still grow. ``[a, a]`` needs two calls in every mode.
    """

    mode: Annotated[
        Literal["exact", "in_order", "any_order", "superset", "subset"], Meta(description="How the two are compared.")
    ] = "exact"

    def judge_reading(self, reading: Reading, evidence: Evidence) -> Judgment:
        reference = listed(evidence.case.expected["tools"], "expected.tools")
        names = reading.names
        if names == reference and not reading.truncated:  # no mode fails equal sequences
            return Judgment("pass", None, (), reference, names)
        word, steps, detail = self._compare(reading, reference)
        reason = open_reason(reading) if word == "missing" else None
        return Judgment(word, reason, steps, reference, names, detail)

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


class NoUndeclaredTool(
    DeclaredToolsEvaluator, frozen=True, kw_only=True, dict=True, tag_field="type", tag="agent_no_undeclared_tool"
):
    """Every called tool is named in ``expected.tools``, however often.

    A truncated record fails at the first call of another tool, and never passes.
    """

    def judge_reading(self, reading: Reading, evidence: Evidence) -> Judgment:
        reference = listed(evidence.case.expected["tools"], "expected.tools")
        declared = frozenset(reference)
        if not declared.issuperset(reading.names):
            call = next(call for call in reading.calls if call.tool_name not in declared)
            return Judgment("fail", None, (call.index,), reference, call.tool_name)
        if reading.truncated:
            return Judgment("missing", open_reason(reading), (), reference)
        return Judgment("pass", None, (), reference)


# The word, the indexes of the calls that leave the reference, and what is wrong in a line.
_Comparison = tuple[Word, tuple[int, ...], str | None]


def _unlike(reading: Reading, detail: str) -> _Comparison:
    """The calls so far are not enough, which only a finished record makes a failure."""
    return ("missing" if reading.truncated else "fail"), (), detail


def _exact(reading: Reading, reference: list[str]) -> _Comparison:
    position = 0
    blocks = _blocks(reading.calls)
    for number, block in enumerate(blocks, 1):
        if number == len(blocks) and _last_turn_is_open(reading):
            fits = _names(block) <= Counter(reference[position:])
        elif len(block) == 1:
            fits = reference[position : position + 1] == [block[0].tool_name]
        else:
            fits = _names(block) == Counter(reference[position : position + len(block)])
        if not fits:
            return "fail", step_indexes(block), _divergence(block, reference, position)
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
    position = 0
    for block in _blocks(reading.calls):
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
        return "fail", step_indexes(unpaired), "calls without a partner in the reference"
    lacking = next(free.elements(), None)
    if lacking is not None and not spare_references:
        return _unlike(reading, f"{lacking!r} is called too seldom")
    return ("missing" if reading.truncated and not spare_calls else "pass"), (), None


def _blocks(calls: list[Step]) -> list[list[Step]]:
    """The calls turn by turn; a call without a turn is a block of its own."""
    blocks: list[list[Step]] = []
    for call in calls:
        if blocks and call.turn is not None and call.turn == blocks[-1][0].turn:
            blocks[-1].append(call)
        else:
            blocks.append([call])
    return blocks


def _names(block: list[Step]) -> Counter[str]:
    return Counter(call.tool_name or "" for call in block)


def _last_turn_is_open(reading: Reading) -> bool:
    """Further calls of the last call's turn may follow: the record is truncated, and no step of a later turn came."""
    if not reading.truncated:
        return False
    turn = next((step.turn for step in reversed(reading.steps) if step.turn is not None), None)
    return turn is not None and turn == reading.calls[-1].turn
