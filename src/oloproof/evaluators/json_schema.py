"""The output has a shape: ``json_schema``."""

from __future__ import annotations

from typing import Annotated, Any, Final

from msgspec import Meta
from msgspec.json import encode

from oloproof.evaluators.output import OutputEvaluator
from oloproof.evaluators.schemas import compile_schema
from oloproof.model.values import Json

WORKER_CHECK: Final = {"output": "oloproof.runner.schemas:check", "final": "oloproof.runner.schemas:check_final"}


class JsonSchema(OutputEvaluator, frozen=True, kw_only=True, dict=True, tag_field="type", tag="json_schema"):
    """The value at ``field`` (default: the whole output) is valid under the JSON Schema ``schema``.

    The draft is the one that ``$schema`` names, 2020-12 where it names none. References stay inside the schema or name
    a published draft: nothing is ever fetched. Patterns run on RE2; ``patternProperties`` is refused, since its
    patterns would not. What a schema costs is up to the output (``uniqueItems`` compares every pair), so it is checked
    apart, under the time-out of a case, after which it is missing (``evaluator_error``). The evidence is the first
    error: where it is, what was expected there and what was found.
    """

    schema: Annotated[dict[str, Any], Meta(description="The JSON Schema.")]

    def __post_init__(self) -> None:
        OutputEvaluator.__post_init__(self)
        compile_schema(self.schema)

    @property
    def worker_function(self) -> tuple[str, dict[str, Json]]:
        return WORKER_CHECK[self.source], {"schema": encode(self.schema).decode(), "path": list(self.path)}
