"""Evidence in a line: a case and an attempt at it, built from what a test is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from oloproof.model.case import Attempt, AttemptError, Case, ErrorKind
from oloproof.model.evidence import Evaluator, Evidence
from oloproof.model.judgment import Judgment
from oloproof.model.trajectory import ConstraintCheck, Step, Trajectory


def case(expected: dict[str, Any] | None = None, **metadata: Any) -> Case:
    return Case(id="c1", expected=expected or {}, metadata=metadata)


def of_output(
    output: Any = UNSET,
    expected: dict[str, Any] | None = None,
    *,
    error: ErrorKind | None = None,
    verdicts: Mapping[str, Judgment] | None = None,
    **metadata: Any,
) -> Evidence:
    attempt = Attempt(case_id="c1", output=output, error=_error(error))
    return Evidence(case(expected, **metadata), attempt, verdicts)


def of_steps(
    steps: Sequence[Step] = (),
    expected: dict[str, Any] | None = None,
    *,
    truncated: bool = False,
    checks: Sequence[ConstraintCheck] = (),
    error: ErrorKind | None = None,
) -> Evidence:
    """Steps are numbered here, from 1."""
    numbered = tuple(msgspec.structs.replace(step, index=number) for number, step in enumerate(steps, 1))
    trajectory = Trajectory(steps=numbered, truncated=truncated, constraints=tuple(checks))
    return Evidence(case(expected), Attempt(case_id="c1", trajectory=trajectory, error=_error(error)))


def calls(text: str) -> list[Step]:
    """``"a a b"``: a call of each tool, without arguments. ``"a/1 b/1"``: both of turn 1."""
    steps = []
    for word in text.split():
        tool, _, turn = word.partition("/")
        steps.append(Step(index=0, kind="tool_call", tool_name=tool, arguments={}, turn=int(turn) if turn else None))
    return steps


def call(tool: str, arguments: Any, agent: str | None = None) -> Step:
    return Step(index=0, kind="tool_call", tool_name=tool, arguments=arguments, agent=agent)


def problems(evaluator: Evaluator, tested: Case) -> str | None:
    """What is wrong with the case's reference, a line each."""
    return "\n".join(map(str, evaluator.case_problems(tested))) or None


def _error(kind: ErrorKind | None) -> AttemptError | None:
    return None if kind is None else AttemptError(kind=kind, message="it broke")
