"""The output equals the reference: ``exact_match``, and ``numeric`` within a tolerance."""

from __future__ import annotations

import math
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from oloproof.evaluators.base import ConfigError, excerpt, word
from oloproof.evaluators.numbers import is_number, within
from oloproof.evaluators.output import ReferenceEvaluator
from oloproof.model.judgment import Judgment
from oloproof.model.values import Json, equal


class ExactMatch(ReferenceEvaluator, frozen=True, kw_only=True, dict=True, tag_field="type", tag="exact_match"):
    """The value at ``field`` (default: the whole output) equals the reference as JSON.

    Objects compare without key order, arrays with it, numbers by value (1 equals 1.0), booleans never equal numbers,
    text by code point. The reference is ``expected_field`` or the literal ``value``. An output without the field
    fails (``field_absent``), also where the reference is null. A case without the reference is excluded.
    """

    def compare(self, found: Json, reference: Json) -> Judgment:
        return Judgment(word(equal(found, reference)), expected=excerpt(reference), found=excerpt(found))


class Numeric(ReferenceEvaluator, frozen=True, kw_only=True, dict=True, tag_field="type", tag="numeric"):
    """The number at ``field`` (default: the whole output) is within ``tolerance`` (default 0) of the reference.

    The distance is taken between the decimals as written, so 1.1 is within 0.1 of 1. Text and booleans are no numbers:
    an output that is none fails (``not_a_number``), a reference that is none is a problem of the case.
    """

    value: Annotated[int | float | UnsetType, Meta(description="The number itself, the same for every case.")] = UNSET
    tolerance: Annotated[float, Meta(ge=0, description="The largest distance that passes.")] = 0.0

    def __post_init__(self) -> None:
        ReferenceEvaluator.__post_init__(self)
        if not math.isfinite(self.tolerance):
            raise ConfigError("tolerance", "the tolerance must be finite")

    def value_problem(self, reference: Json) -> str | None:
        return None if is_number(reference) else "must be a number"

    def compare(self, found: Json, reference: Json) -> Judgment:
        if not is_number(found):
            return Judgment("fail", "not_a_number", expected=reference, found=excerpt(found))
        near = within(found, reference, self.tolerance)
        return Judgment(word(near), expected=reference, found=found)
