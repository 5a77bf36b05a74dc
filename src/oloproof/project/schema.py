"""JSON Schema of the two YAML files and of a dataset's rows, from the types that the loader checks against.

Editors complete and check with it; the loader says more, since a schema knows no metric names and no files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from oloproof.evaluators import EVALUATORS
from oloproof.metrics.slices import BOUNDED, PLAIN
from oloproof.model.project import METADATA_PREFIX
from oloproof.project.policy import RULE_KINDS
from oloproof.project.reference_schema import expected_schema, reference_parts
from oloproof.project.spec import (
    SYSTEM_KINDS,
    ConfigFile,
    PassKEntry,
    PluginEvaluatorEntry,
    PolicyFile,
    PolicySection,
    QuantileEntry,
    Row,
    UserEvaluatorEntry,
)

Schema = dict[str, Any]

ROOTS = {"oloproof": ("oloproof.yaml", ConfigFile), "release": ("release.yaml", PolicyFile), "dataset": ("a case", Row)}
_PARTS = (
    *(ConfigFile, PolicyFile, PolicySection),
    *(entry for entry, _ in RULE_KINDS.values()),
    *(QuantileEntry, PassKEntry, UserEvaluatorEntry, PluginEvaluatorEntry, Row, *EVALUATORS.values()),
)
COMMON_KEYS = ("criterion", "only", "on_system_error")
"""The keys of every evaluator, ``type`` apart."""


def json_schema(which: str, *, plugins: Sequence[str] = ()) -> Schema:
    """The schema (draft 2020-12) of ``oloproof`` or ``release``.yaml, or of a row of a ``dataset``. ``plugins`` are
    evaluators that are installed beside ours."""
    title, root = ROOTS[which]
    _, definitions = msgspec.json.schema_components(_PARTS, ref_template="#/$defs/{name}")
    parts: dict[str, Schema] = {name: _tidy(part) for name, part in definitions.items()} | reference_parts()
    _choices(parts, plugins)
    top = {"$schema": "https://json-schema.org/draft/2020-12/schema", **parts[root.__name__], "title": title}
    reachable = _reachable(parts, top)
    return {**top, "$defs": {name: part for name, part in sorted(parts.items()) if name in reachable}}


def _choices(parts: dict[str, Schema], plugins: Sequence[str]) -> None:
    """Write out the choices that the types leave to the loader."""
    config = parts["ConfigFile"]["properties"]
    evaluators = [*(cls.__name__ for cls in EVALUATORS.values()), "UserEvaluatorEntry"]
    if plugins:
        evaluators.append("PluginEvaluatorEntry")
        parts["PluginEvaluatorEntry"]["properties"]["type"] = {"enum": list(plugins)}
    config["evaluators"] |= {"type": "array", "items": {"anyOf": [_ref(name) for name in evaluators]}}
    config["metrics"] |= {"type": "array", "items": {"anyOf": [_ref("QuantileEntry"), _ref("PassKEntry")]}}
    config["slices"] |= {"type": "array", "items": {"anyOf": _slices()}}
    config["policy"] |= {"anyOf": [{"type": "string", "minLength": 1}, _ref("PolicySection")]}
    parts["SystemSection"]["oneOf"] = [{"required": [kind]} for kind in SYSTEM_KINDS]
    parts["IntervalThresholdEntry"]["anyOf"] = [{"required": ["min"]}, {"required": ["max"]}]
    for policy in ("PolicyFile", "PolicySection"):
        properties = parts[policy]["properties"]
        rules = [_ref(entry.__name__) for entry, _ in RULE_KINDS.values()]
        properties["rules"] |= {"type": "array", "minItems": 1, "items": {"anyOf": rules}}
        properties["block_on"]["contains"] = {"const": "FAIL"}
    common = parts["UserEvaluatorEntry"]["properties"]
    for cls in EVALUATORS.values():
        properties = parts[cls.__name__]["properties"]
        properties |= {key: common[key] for key in COMMON_KEYS}
        if "arguments" in properties:
            properties["arguments"]["additionalProperties"] = _ref("Argument")
    parts["Row"]["properties"]["expected"] = expected_schema()


def _slices() -> list[Schema]:
    return [
        {"enum": list(PLAIN)},
        {"type": "string", "pattern": f"^{METADATA_PREFIX.replace('.', '[.]')}."},
        {"type": "string", "pattern": f"^({'|'.join(BOUNDED)}):"},
    ]


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _tidy(schema: Any) -> Any:
    """Without null, which no key takes, and with single backticks in descriptions."""
    if isinstance(schema, list):
        return [_tidy(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    tidy = {key: _tidy(value) for key, value in schema.items() if not (key == "default" and value in (None, ""))}
    if isinstance(tidy.get("description"), str):
        tidy["description"] = " ".join(tidy["description"].replace("``", "`").split())
    choices = [choice for choice in tidy.pop("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) == 1:
        return {**choices[0], **tidy}
    return {**tidy, "anyOf": choices} if choices else tidy


def _reachable(parts: dict[str, Schema], start: Schema) -> set[str]:
    found: set[str] = set()
    waiting: list[Any] = [start]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting.extend(part)
        elif isinstance(part, dict):
            waiting.extend(part.values())
            name = str(part.get("$ref", "")).removeprefix("#/$defs/")
            if name and name not in found:
                found.add(name)
                waiting.append(parts[name])
    return found
