"""JSON Schema of what a case may declare, for editors; the dataset's own check says more."""

from __future__ import annotations

from typing import Any

from oloproof.evaluators.arguments import MATCHERS, WORDS

Schema = dict[str, Any]

_NAME: Schema = {"type": "string", "minLength": 1, "description": "A call of the tool, with whatever arguments."}
_ARGUMENTS: Schema = {
    "type": "object",
    "description": "Arguments by name or dotted path, each a value or a matcher.",
    "additionalProperties": {"$ref": "#/$defs/Argument"},
}
_MATCHER_KEYS: dict[str, Schema] = {
    "any": {"const": True, "description": "Any value, as long as there is one."},
    "absent": {"const": True, "description": "No such argument."},
    "regex": {"type": "string", "description": "A text in which the pattern (RE2) matches somewhere."},
    "approx": {"type": "number", "description": "A number within the tolerance of this one."},
    "tolerance": {"type": "number", "minimum": 0, "description": "The largest distance that matches."},
    "one_of": {
        "type": "array",
        "minItems": 1,
        "items": {"$ref": "#/$defs/Argument"},
        "description": "One of these values or matchers.",
    },
    "schema": {"type": "object", "description": "A value that is valid under the JSON Schema."},
    "equals": {"description": "This value, whatever it looks like."},
}


def reference_parts() -> dict[str, Schema]:
    """The definitions ``Reference`` (what ``expected.tools`` is), ``Argument``, and those that they need."""
    call = {"$ref": "#/$defs/DeclaredCall"}
    return {
        "Reference": {
            "type": "array",
            "description": "The declared calls, in order. [] declares that no tool is called.",
            "items": {"anyOf": [_NAME, call, {"$ref": "#/$defs/ParallelCalls"}]},
        },
        "DeclaredCall": _closed({"tool": _NAME, "arguments": _ARGUMENTS}, required=["tool"]),
        "ParallelCalls": _closed(
            {
                "parallel": {
                    "type": "array",
                    "minItems": 1,
                    "items": {"anyOf": [_NAME, call]},
                    "description": "Calls whose order among one another is free.",
                }
            }
        ),
        "Argument": {"anyOf": [*map(_matcher, sorted(MATCHERS, key=sorted)), _LITERAL]},
    }


def expected_schema() -> Schema:
    """What a case may expect; keys of its own may stand beside these."""
    route = {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}}
    properties = {
        "tools": {"$ref": "#/$defs/Reference"},
        "any_of": {
            "type": "array",
            "minItems": 1,
            "items": {"$ref": "#/$defs/Reference"},
            "description": "References, one of which must fit; in place of tools.",
        },
        "route": route | {"description": "The agents in control, in order."},
        "state": {"description": "What the state must be after the run."},
    }
    return {
        "type": "object",
        "description": "What evaluators compare with; the system never sees it.",
        "properties": properties,
        "not": {"required": ["tools", "any_of"]},
    }


def _matcher(keys: frozenset[str]) -> Schema:
    return _closed({key: _MATCHER_KEYS[key] for key in sorted(keys)})


def _closed(properties: dict[str, Schema], *, required: list[str] | None = None) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
        "additionalProperties": False,
    }


_LITERAL: Schema = {
    "description": "A literal value.",
    "not": {
        "anyOf": [
            {"const": "any"},
            {"type": "object", "anyOf": [{"required": [word]} for word in sorted(WORDS)]},
        ]
    },
}
