"""``json_schema``: which schemas it takes, and that the worker judges."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.evidence import of_output
from oloproof.evaluators import ConfigError
from oloproof.evaluators.json_schema import JsonSchema
from oloproof.evaluators.schemas import compile_schema
from oloproof.model.judgment import Judgment

LATEST = "https://json-schema.org/draft/2020-12/schema"
HUGE = 10**400


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
        ({"$schema": 7}, "$schema must be a text"),
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


@pytest.mark.parametrize(
    ("value", "divisor", "valid"),
    [
        (19.99, 0.01, True),
        (19.995, 0.01, False),
        (0.3, 0.1, True),
        (HUGE, 0.01, True),
        (HUGE, 3, False),
        (1e300, 1e-9, True),
        (9.0, 3, True),
        (True, 2, True),
        ("9.5", 2, True),
    ],
)
def test_multiples_are_those_of_the_decimals_as_written(value: Any, divisor: float, valid: bool):
    assert compile_schema({"multipleOf": divisor}).is_valid(value) == valid


def test_a_draft_asserts_no_keyword_that_it_does_not_know():
    third = {"$schema": "http://json-schema.org/draft-03/schema#"}
    assert compile_schema(third | {"multipleOf": 2}).is_valid(3)
    assert not compile_schema(third | {"divisibleBy": 0.01}).is_valid(0.015)
