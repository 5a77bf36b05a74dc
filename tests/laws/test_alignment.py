"""The alignment that is shown: every call and every declared call once, what fits paired, at least cost."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.evidence import of_steps
from fakes.references import PATTERNS, steps_with_arguments
from oloproof.evaluators.alignment import alignment
from oloproof.evaluators.sequence import ToolSequence
from oloproof.model.alignment import Alignment
from oloproof.model.trajectory import Step

CALL = st.sampled_from(["a", "b", *({"tool": "a", "arguments": pattern} for pattern in PATTERNS)])
REFERENCE = st.lists(CALL, max_size=4)
FREE = ("any_order", "superset", "subset")


def drawn(steps: list[Step], expected: Any, mode: Any, *, truncated: bool = False) -> tuple[str, Alignment | None]:
    evidence = of_steps(steps, expected, truncated=truncated)
    judgment = ToolSequence(mode=mode).judge(evidence)
    return judgment.verdict, alignment(evidence.case, evidence.attempt.trajectory, judgment)


@given(steps_with_arguments(4), REFERENCE, st.sampled_from(("exact", "in_order", *FREE)), st.booleans())
@settings(max_examples=150, deadline=None)
def test_every_call_is_there_once_and_order_is_kept_where_it_counts(
    steps: list[Step], tools: list[Any], mode: str, truncated: bool
):
    verdict, aligned = drawn(steps, {"tools": tools}, mode, truncated=truncated)
    assert (aligned is None) == (verdict == "pass")
    if aligned is None:
        return
    found = [row.step for row in aligned.rows if row.step is not None]
    declared = [row.declared for row in aligned.rows if row.declared is not msgspec.UNSET]
    assert sorted(found) == list(range(1, len(steps) + 1))
    assert (
        declared == tools
        if mode not in ("exact", "in_order")
        else sorted(map(str, declared)) == sorted(map(str, tools))
    )
    if all(step.turn is None for step in steps) and aligned.ordered:
        assert found == sorted(found)
        assert declared == tools
    assert all(bool(row.differences) == (row.status == "changed") for row in aligned.rows)


@given(steps_with_arguments(4), REFERENCE, st.sampled_from(FREE))
@settings(max_examples=100, deadline=None)
def test_no_other_pairing_of_free_calls_fits_more(steps: list[Step], tools: list[Any], mode: str):
    _, aligned = drawn(steps, {"tools": tools}, mode)
    if aligned is None:
        return
    alone = {"tools": [None]}
    fits = [[drawn([step], alone | {"tools": [tool]}, "exact")[0] != "fail" for tool in tools] for step in steps]
    size = max(len(steps), len(tools))
    best = max(
        sum(fits[call][wanted] for call, wanted in enumerate(order) if call < len(steps) and wanted < len(tools))
        for order in itertools.permutations(range(size))
    )
    assert sum(row.status in ("matched", "unknown") for row in aligned.rows) == best


@given(steps_with_arguments(4), REFERENCE)
@settings(max_examples=100, deadline=None)
def test_a_reference_of_names_alone_has_what_is_missing_and_extra(steps: list[Step], tools: list[Any]):
    names = [tool if isinstance(tool, str) else tool["tool"] for tool in tools]
    called = [step.tool_name for step in steps]
    _, aligned = drawn(steps, {"tools": names}, "any_order")
    if aligned is None:
        return
    statuses = Counter(row.status for row in aligned.rows)
    missing, extra = Counter(names) - Counter(called), Counter(called) - Counter(names)
    assert statuses == +Counter(matched=len(names) - missing.total(), missing=missing.total(), extra=extra.total())
