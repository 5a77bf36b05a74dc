"""What ``json_schema`` says of an output."""

from __future__ import annotations

import json
from typing import Any

import pytest

from oloproof.record import Verdict
from oloproof.runner.schemas import check

ORDER = {
    "type": "object",
    "properties": {"id": {"$ref": "#/$defs/id"}, "lines": {"items": {"$ref": "#"}}},
    "required": ["id"],
    "$defs": {"id": {"type": "string", "pattern": "^o-[0-9]+$"}},
}


def checked(schema: dict[str, Any], output: Any, *path: str) -> Verdict:
    return check(output, schema=json.dumps(schema), path=list(path))


@pytest.mark.parametrize("draft", [None, "http://json-schema.org/draft-07/schema#"])
def test_valid(draft: str | None):
    schema = ORDER if draft is None else {"$schema": draft, **ORDER}
    assert checked(schema, {"id": "o-1", "lines": [{"id": "o-2"}]}).passed
    assert not checked(schema, {"id": "o-1", "lines": [{"id": "o"}]}).passed


def test_the_first_error_is_the_evidence():
    verdict = checked(ORDER, {"order": {"id": 7}}, "order")
    assert verdict == Verdict(False, "$.id: 7 is not of type 'string'", expected={"type": "string"}, found=7)


def test_an_absent_field_fails():
    assert checked(ORDER, {}, "order") == Verdict(False, "field_absent")


@pytest.mark.parametrize("draft", [None, "http://json-schema.org/draft-07/schema#"])
def test_patterns_take_linear_time_at_every_depth(draft: str | None):
    schema: dict[str, Any] = {"pattern": "^(a+)+$", "items": {"$ref": "#"}}
    if draft is not None:
        schema["$schema"] = draft
    assert not checked(schema, ["a" * 50_000 + "b"]).passed
    assert checked(schema, ["aaa"]).passed


def test_a_published_draft_may_be_named():
    schema = {"$ref": "https://json-schema.org/draft/2020-12/schema"}
    assert checked(schema, {"type": "string"}).passed
    assert not checked(schema, {"type": "strong"}).passed


def test_a_hostile_value_gives_a_small_verdict():
    assert len(str(checked({"type": "object"}, "x" * 1_000_000))) < 10_000


def test_a_property_may_have_the_name_of_a_keyword():
    schema = {"properties": {"pattern": {"type": "string"}, "$ref": {"type": "string"}, "patternProperties": {}}}
    assert checked(schema, {"pattern": "("}).passed
