"""The calls that a case declares: ``expected.tools``, or the alternatives of ``expected.any_of``.

A reference is a list of parts: a tool's name (a call with whatever arguments), ``{tool, arguments}``, and
``{parallel: […]}`` for calls whose order among one another is free.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from oloproof.evaluators.arguments import Arguments, ArgumentsMode, read_arguments
from oloproof.model.evidence import CaseProblem
from oloproof.model.values import Json

Path = tuple[str | int, ...]

TOOLS: Final = "tools"
ANY_OF: Final = "any_of"
FORMS: Final = "a tool's name, {tool, arguments} or {parallel: […]}"


class WantedCall(Struct, frozen=True):
    """A declared call. ``arguments`` None: whatever they are."""

    tool: str
    arguments: Arguments | None
    written: Json


class Reference:
    """Declared calls in order. ``blocks`` gives for each of them the positions of those that are parallel to it, its
    own among them: their order among one another is free."""

    def __init__(self, blocks: list[list[WantedCall]]) -> None:
        self.wanted = [call for block in blocks for call in block]
        self.blocks: list[range] = []
        for block in blocks:
            start = len(self.blocks)
            self.blocks += [range(start, start + len(block))] * len(block)


def is_plain(written: Json) -> bool:
    """A list of names, which is compared without being read."""
    return type(written) is list and set(map(type, written)) <= {str}


def alternatives(expected: dict[str, Json], mode: ArgumentsMode) -> list[Reference]:
    """What the case declares, any one of which will do. ValueError where it is malformed, as no checked dataset is."""
    problems: list[CaseProblem] = []
    read = list(_references(expected, mode, problems))
    if problems:
        raise ValueError(f"expected.{'.'.join(map(str, problems[0].path))} {problems[0].message}")
    return read


def reference_problems(expected: dict[str, Json]) -> tuple[CaseProblem, ...]:
    """Everything that is wrong with what the case declares, with its place in ``expected``."""
    if is_plain(expected.get(TOOLS)) and ANY_OF not in expected and all(expected[TOOLS]):
        return ()
    problems: list[CaseProblem] = []
    for _ in _references(expected, "exact", problems):
        pass
    return tuple(problems)


def tools_declared(expected: dict[str, Json]) -> frozenset[str]:
    """Every tool that is named, in whatever part or alternative. ValueError as :func:`alternatives`."""
    return frozenset(call.tool for reference in alternatives(expected, "ignore") for call in reference.wanted)


def _references(expected: dict[str, Json], mode: ArgumentsMode, problems: list[CaseProblem]) -> Iterator[Reference]:
    if TOOLS in expected:
        yield _reference(expected[TOOLS], mode, problems, (TOOLS,))
    if ANY_OF not in expected:
        return
    written = expected[ANY_OF]
    if TOOLS in expected:
        problems.append(CaseProblem("is there beside expected.tools", (ANY_OF,), "give one of the two"))
    if type(written) is not list:
        problems.append(CaseProblem("must be a list of references", (ANY_OF,), "each is a list, as tools would be"))
        return
    if not written:
        problems.append(CaseProblem("is empty: no run is one of no alternatives", (ANY_OF,)))
    for number, alternative in enumerate(written):
        yield _reference(alternative, mode, problems, (ANY_OF, number))


def _reference(written: Json, mode: ArgumentsMode, problems: list[CaseProblem], at: Path) -> Reference:
    if type(written) is not list:
        problems.append(CaseProblem("must be a list of tools", at, f"a part of it is {FORMS}"))
        return Reference([])
    blocks = []
    for number, part in enumerate(written):
        place = (*at, number)
        if type(part) is dict and "parallel" in part:
            blocks.append(_parallel(part, mode, problems, place))
        else:
            call = _call(part, mode, problems, place, FORMS)
            blocks.append([] if call is None else [call])
    return Reference(blocks)


def _parallel(part: dict[str, Json], mode: ArgumentsMode, problems: list[CaseProblem], at: Path) -> list[WantedCall]:
    problems += [CaseProblem("is no key here: parallel stands alone", (*at, key)) for key in part if key != "parallel"]
    written = part["parallel"]
    if type(written) is not list or not written:
        problems.append(CaseProblem("must be a list of calls that is not empty", (*at, "parallel")))
        return []
    read = (
        _call(inner, mode, problems, (*at, "parallel", number), "a tool's name or {tool, arguments}")
        for number, inner in enumerate(written)
    )
    return [call for call in read if call is not None]


def _call(part: Json, mode: ArgumentsMode, problems: list[CaseProblem], at: Path, forms: str) -> WantedCall | None:
    if type(part) is str and part:
        return WantedCall(part, None, part)
    if type(part) is not dict or "tool" not in part:
        problems.append(CaseProblem(f"must be {forms}", at))
        return None
    strange = (key for key in part if key not in ("tool", "arguments"))
    problems += [CaseProblem("is no key here: the keys are tool and arguments", (*at, key)) for key in strange]
    tool, arguments = part["tool"], None
    if type(tool) is not str or not tool:
        problems.append(CaseProblem("must be a tool's name", (*at, "tool")))
        tool = ""
    if "arguments" in part:
        arguments = read_arguments(part["arguments"], mode, problems, (*at, "arguments"))
    return WantedCall(tool, arguments, part)
