"""``json_schema``."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.evidence import of_output
from oloproof.evaluators import ConfigError
from oloproof.evaluators.json_schema import JsonSchema
from oloproof.model.judgment import Judgment

ORDER = {
    "type": "object",
    "properties": {"id": {"$ref": "#/$defs/id"}, "lines": {"items": {"$ref": "#"}}},
    "required": ["id"],
    "$defs": {"id": {"type": "string", "pattern": "^o-[0-9]+$"}},
}


@pytest.mark.parametrize("draft", [None, "http://json-schema.org/draft-07/schema#"])
def test_valid(draft: str | None):
    schema = ORDER if draft is None else {"$schema": draft, **ORDER}
    evaluator = JsonSchema(schema=schema)
    assert evaluator.judge(of_output({"id": "o-1", "lines": [{"id": "o-2"}]})).verdict == "pass"
    assert evaluator.judge(of_output({"id": "o-1", "lines": [{"id": "o"}]})).verdict == "fail"


def test_the_first_error_is_the_evidence():
    judgment = JsonSchema(schema=ORDER, field="order").judge(of_output({"order": {"id": 7}}))
    assert judgment == Judgment("fail", expected={"type": "string"}, found=7, detail="$.id: 7 is not of type 'string'")


@pytest.mark.parametrize("draft", [None, "http://json-schema.org/draft-07/schema#"])
def test_patterns_take_linear_time_at_every_depth(draft: str | None):
    schema: dict[str, Any] = {"pattern": "^(a+)+$", "items": {"$ref": "#"}}
    if draft is not None:
        schema["$schema"] = draft
    evaluator = JsonSchema(schema=schema)
    assert evaluator.judge(of_output(["a" * 50_000 + "b"])).verdict == "fail"
    assert evaluator.judge(of_output(["aaa"])).verdict == "pass"


def test_a_published_draft_may_be_named():
    evaluator = JsonSchema(schema={"$ref": "https://json-schema.org/draft/2020-12/schema"})
    assert evaluator.judge(of_output({"type": "string"})).verdict == "pass"
    assert evaluator.judge(of_output({"type": "strong"})).verdict == "fail"


def test_a_hostile_value_gives_a_small_judgment():
    judgment = JsonSchema(schema={"type": "object"}).judge(of_output("x" * 1_000_000))
    assert len(str(judgment)) < 10_000


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "strong"}, "no valid JSON Schema at $.type: 'strong' is not valid"),
        ({"$schema": "http://example.com/mine"}, "no known draft of JSON Schema: 'http://example.com/mine'"),
        ({"items": {"$ref": "#/$defs/absent"}}, "$ref '#/$defs/absent' names nothing in this schema"),
        ({"$ref": "http://127.0.0.1:9/schema"}, "$ref 'http://127.0.0.1:9/schema' names nothing in this schema"),
        ({"items": {"pattern": "(?=a)"}}, "RE2 cannot compile '(?=a)'"),
        ({"patternProperties": {"a": {}}}, "patternProperties is not supported"),
        (
            {"$defs": {"a": {"$id": "http://a/", "$schema": "http://json-schema.org/draft-07/schema#"}}},
            "$schema belongs at the top",
        ),
    ],
)
def test_schemas_that_are_refused(schema: dict[str, Any], message: str):
    with pytest.raises(ConfigError) as raised:
        JsonSchema(schema=schema)
    assert raised.value.field == "schema"
    assert raised.value.message.startswith(message)


def test_a_property_may_have_the_name_of_a_keyword():
    schema = {"properties": {"pattern": {"type": "string"}, "$ref": {"type": "string"}, "patternProperties": {}}}
    assert JsonSchema(schema=schema).judge(of_output({"pattern": "("})).verdict == "pass"
