"""JSON Schemas, checked in the evaluation worker: an output on which that takes for ever meets the time-out there."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from msgspec import UNSET
from msgspec.json import decode

from oloproof.evaluators.base import excerpt
from oloproof.evaluators.schemas import compile_schema
from oloproof.model.reading import final_answer
from oloproof.model.trajectory import Trajectory
from oloproof.model.values import lookup
from oloproof.record.marks import Verdict


def check(output: Any, *, schema: str, path: list[str]) -> Verdict:
    """Whether the value at ``path`` of the output is valid under ``schema``, which is JSON text (``json_schema``)."""
    validator = _compiled(schema)
    found = lookup(output, path)
    if found is UNSET:
        return Verdict(False, "field_absent")
    error = next(validator.iter_errors(found), None)
    if error is None:
        return Verdict(True, found=excerpt(found))
    return Verdict(
        False,
        excerpt(f"{error.json_path}: {error.message}"),
        expected=excerpt({error.validator: error.validator_value}),
        found=excerpt(error.instance),
    )


def check_final(trajectory: Trajectory, *, schema: str, path: list[str]) -> Verdict:
    """:func:`check` of what the trajectory's last final step says (``source: final``)."""
    return check(final_answer(trajectory), schema=schema, path=path)


@lru_cache
def _compiled(schema: str) -> Any:
    validator = compile_schema(decode(schema))
    next(validator.iter_errors(None), None)  # what checking imports is imported now
    return validator
