"""JSON Schemas: compiled without a network, their patterns on RE2."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

from oloproof.evaluators.base import ConfigError
from oloproof.evaluators.numbers import exact
from oloproof.evaluators.patterns import compile_pattern

LATEST: Final = "https://json-schema.org/draft/2020-12/schema"
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
UNBOUNDED: Final = (*_REFERENCES, "uniqueItems", "unevaluatedItems", "unevaluatedProperties")
"""Keywords with which checking a value can take more than time linear in its size."""


def compile_schema(written: dict[str, Any], *, refused: Collection[str] = ()) -> Any:
    """The compiled schema (``.iter_errors(value)``). ConfigError, on ``schema``, where it is none or one of its
    subschemas has a keyword that is ``refused``."""
    import jsonschema  # imported late: slow, and most suites have no schema
    from jsonschema_specifications import REGISTRY

    validators: Any = jsonschema.validators
    if not isinstance(written.get("$schema", ""), str):
        raise ConfigError("schema", "$schema must be a text")
    draft = validators.validator_for({"$schema": LATEST, **written}, default=None)
    if draft is None:
        raise ConfigError("schema", f"no known draft of JSON Schema: {written['$schema']!r}")
    try:
        draft.check_schema(written)
    except jsonschema.SchemaError as error:
        raise ConfigError("schema", f"no valid JSON Schema at {error.json_path}: {error.message[:200]}") from None
    patterns = _checked_patterns(written, draft, refused)

    def matches(_: Any, pattern: str, instance: Any, __: Any) -> Iterator[jsonschema.ValidationError]:
        if isinstance(instance, str) and patterns[pattern].search(instance) is None:
            yield jsonschema.ValidationError(f"the text does not match {pattern!r}")

    keywords = {"pattern": matches, "multipleOf": _is_multiple, "divisibleBy": _is_multiple}
    known = {keyword: check for keyword, check in keywords.items() if keyword in draft.VALIDATORS}
    # At each "$ref": "#", a schema that named its draft would bring back that draft's own validator and patterns.
    schema = {key: part for key, part in written.items() if key != "$schema"}
    return validators.extend(draft, known)(schema, registry=REGISTRY)


def _is_multiple(validator: Any, divisor: float, instance: Any, _: Any) -> Iterator[Any]:
    """By the decimals as written: 19.99 is a multiple of 0.01, which the nearest doubles are not."""
    from jsonschema import ValidationError

    if validator.is_type(instance, "number") and exact(instance) % exact(divisor):
        yield ValidationError(f"{instance!r} is not a multiple of {divisor}")


def _checked_patterns(schema: dict[str, Any], draft: Any, refused: Collection[str]) -> dict[str, Any]:
    """Every pattern of the schema, compiled. ConfigError where a subschema has what could not be evaluated."""
    from jsonschema_specifications import REGISTRY
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import specification_with

    patterns: dict[str, Any] = {}
    specification = specification_with(draft.META_SCHEMA["$schema"])
    seen = {id(published.contents) for published in REGISTRY.values()}
    pending = [(schema, REGISTRY.resolver_with_root(specification.create_resource(schema)))]
    while pending:
        part, resolver = pending.pop()
        if not isinstance(part, dict) or id(part) in seen:
            continue
        seen.add(id(part))
        if (keyword := next((word for word in refused if word in part), None)) is not None:
            raise ConfigError("schema", f"{keyword} is not supported here: its cost is not linear in the value")
        if "$schema" in part and part is not schema:
            raise ConfigError("schema", "$schema belongs at the top")
        if "patternProperties" in part:
            raise ConfigError("schema", "patternProperties is not supported; write an @evaluator function")
        if (pattern := part.get("pattern")) is not None:
            patterns[pattern] = compile_pattern("schema", pattern)
        for keyword in _REFERENCES:
            if keyword not in part:
                continue
            try:
                resolved = resolver.lookup(part[keyword])
            except Unresolvable:
                raise ConfigError("schema", f"{keyword} {part[keyword]!r} names nothing in this schema") from None
            pending.append((resolved.contents, resolved.resolver))
        resource = specification.create_resource(part)
        pending.extend((inner.contents, resolver.in_subresource(inner)) for inner in resource.subresources())
    return patterns
