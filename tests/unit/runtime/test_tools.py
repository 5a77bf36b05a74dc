"""What makes a tool, and what does not."""

from __future__ import annotations

import doctest
from typing import Any

import pytest

from fakes.runtime import Counted, closed
from oloproof.model.values import snapshot
from oloproof.runtime import SchemaError, Tool, Toolset, tools


def takes_text(text: str) -> str:
    return text


def test_the_example_of_the_docstring_holds() -> None:
    assert doctest.testmod(tools).failed == 0


def test_a_tool_is_described_as_json_for_a_planner() -> None:
    tool = Tool("t", takes_text, "says it", closed(text={"type": "string"}), "write", {"b", "a"}, 2)  # type: ignore[arg-type]
    assert tool.describe() == {
        "name": "t",
        "description": "says it",
        "parameters": closed(text={"type": "string"}),
        "effect": "write",
        "scopes": ["a", "b"],
        "cost": 2.0,
    }


@pytest.mark.parametrize(
    ("effect", "given", "idempotent"), [("read", None, True), ("write", None, False), ("external", True, True)]
)
def test_a_read_tool_may_be_repeated_unless_it_says_otherwise(effect: Any, given: Any, idempotent: bool) -> None:
    assert Counted().tool(effect=effect, idempotent=given).idempotent is idempotent


@pytest.mark.parametrize("name", ["", "1a", "a b", "a" * 65, "a\n", "ä"])
def test_a_malformed_name(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        Tool(name, lambda: None)


def test_the_longest_name() -> None:
    assert Tool("_" + "a-" * 31 + "b", lambda: None).name


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"cost": -1}, ValueError),
        ({"cost": float("nan")}, ValueError),
        ({"cost": float("inf")}, ValueError),
        ({"cost": "1"}, TypeError),
        ({"cost": True}, TypeError),
        ({"scopes": "docs:read"}, TypeError),
        ({"scopes": [""]}, ValueError),
        ({"scopes": ["a b"]}, ValueError),
        ({"scopes": [1]}, TypeError),
        ({"effect": "delete"}, ValueError),
        ({"effect": 1}, TypeError),
        ({"idempotent": 1}, TypeError),
        ({"description": None}, TypeError),
        ({"timeout_s": 0}, ValueError),
        ({"hands_to": ""}, TypeError),
        ({"hands_to": 1}, TypeError),
        ({"parameters": [("type", "object")]}, TypeError),
    ],
)
def test_a_field_of_the_wrong_type_or_value(fields: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        Tool("t", lambda: None, **fields)


def test_a_name_or_function_of_the_wrong_type() -> None:
    with pytest.raises(TypeError):
        Tool(1, lambda: None)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Tool("t", "function")  # type: ignore[arg-type]


TEXT = {"text": {"type": "string"}}


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"type": "object", "properties": TEXT, "required": ["text"]},
        {"type": "object", "properties": TEXT, "required": ["text"], "additionalProperties": True},
        {"type": ["object"], "properties": TEXT, "required": ["text"], "additionalProperties": False},
        {**closed(**TEXT), "properties": {"text": {"type": "strnig"}}},
        {**closed(**TEXT), "properties": {"text": {"$ref": "#/x"}}},
        {**closed(**TEXT), "patternProperties": {}},
        {**closed(**TEXT), "properties": {"text": {"pattern": "(?=x)"}}},
        {**closed(**TEXT), "required": []},
        closed(**TEXT, more={}),
        {**closed(**TEXT), "minProperties": float("nan")},
    ],
)
def test_parameters_that_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match="OLO750"):
        Tool("t", takes_text, parameters=parameters)


def test_a_property_that_is_called_like_a_keyword_is_a_property() -> None:
    schema = closed(**{"$ref": {"type": "string"}})
    assert Tool("t", lambda **given: 1, parameters=schema).wrong_arguments({"$ref": "x"}) is None


def only_by_position(text: str, /) -> None: ...


def with_default(text: str = "", *rest: str, **more: str) -> None: ...


def test_the_signature_must_take_what_the_schema_allows() -> None:
    with pytest.raises(SchemaError, match="no keyword"):
        Tool("t", lambda: None, parameters=closed(**TEXT))
    with pytest.raises(SchemaError, match="text"):
        Tool("t", only_by_position, parameters=closed(**TEXT))
    with pytest.raises(SchemaError, match="does not require"):
        Tool("t", takes_text)
    with pytest.raises(SchemaError, match="signature"):
        Tool("t", max)
    assert Tool("t", with_default, parameters=closed(**TEXT, other={})).name


def test_arguments_are_checked_and_a_pattern_takes_linear_time() -> None:
    tool = Tool("t", takes_text, parameters=closed(text={"type": "string", "pattern": "^(a+)+$"}))
    assert tool.wrong_arguments({"text": "aaa"}) is None
    assert "does not match" in (tool.wrong_arguments({"text": "a" * 5000 + "b"}) or "")
    assert "required" in (tool.wrong_arguments({}) or "")
    assert "unexpected" in (tool.wrong_arguments({"text": "a", "more": 1}) or "")
    assert tool.wrong_arguments(snapshot({"text": float("nan")})) is not None


def test_later_changes_to_the_schema_change_nothing() -> None:
    schema = closed(text={"type": "string"})
    tool = Tool("t", takes_text, parameters=schema)
    schema["properties"]["text"]["type"] = "integer"
    tool.describe()["parameters"]["properties"].clear()
    assert tool.wrong_arguments({"text": "a"}) is None
    assert tool.describe()["parameters"]["properties"] == {"text": {"type": "string"}}


def test_a_toolset_knows_each_name_once() -> None:
    tool = Counted().tool()
    assert list(Toolset([tool])) == ["tool"]
    with pytest.raises(ValueError, match="two tools"):
        Toolset([tool, tool])
    with pytest.raises(TypeError):
        Toolset([takes_text])  # type: ignore[list-item]
