"""``json_schema``: which schemas it takes, and that the worker judges."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.evidence import of_output
from oloproof.evaluators import ConfigError
from oloproof.evaluators.json_schema import JsonSchema
from oloproof.model.judgment import Judgment

LATEST = "https://json-schema.org/draft/2020-12/schema"


def test_the_worker_checks_and_its_verdict_counts():
    evaluator = JsonSchema(schema={"type": "object"}, field="order.lines")
    bound = {"schema": '{"type":"object"}', "path": ["order", "lines"]}
    assert evaluator.worker_function == ("oloproof.runner.schemas:check", bound)
    verdict = Judgment("fail", "$: 7 is not of type 'object'")
    assert evaluator.judge(of_output({}, verdicts={"json_schema": verdict})) == verdict
    assert evaluator.judge(of_output({})).reason == "evaluator_error"


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "strong"}, "no valid JSON Schema at $.type: 'strong' is not valid"),
        ({"$schema": "http://example.com/mine"}, "no known draft of JSON Schema: 'http://example.com/mine'"),
        ({"items": {"$ref": "#/$defs/absent"}}, "$ref '#/$defs/absent' names nothing in this schema"),
        ({"$ref": "http://127.0.0.1:9/schema"}, "$ref 'http://127.0.0.1:9/schema' names nothing in this schema"),
        ({"items": {"$dynamicRef": "http://a/s"}}, "$dynamicRef 'http://a/s' names nothing in this schema"),
        ({"items": {"$dynamicRef": "#absent"}}, "$dynamicRef '#absent' names nothing in this schema"),
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


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": LATEST},
        {"$dynamicRef": f"{LATEST}#meta"},
        {"$defs": {"a": {"$dynamicAnchor": "node"}}, "items": {"$dynamicRef": "#node"}},
        {"$schema": "https://json-schema.org/draft/2019-09/schema", "items": {"$recursiveRef": "#"}},
    ],
)
def test_references_that_are_taken(schema: dict[str, Any]):
    assert JsonSchema(schema=schema).schema == schema
