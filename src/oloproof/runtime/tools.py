"""Tools: functions with a closed schema of their arguments, and the facts that the gates decide on."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from oloproof.model.values import has_unrepresentable, snapshot
from oloproof.runtime.decision import amount, is_json
from oloproof.runtime.errors import SchemaError

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_SCOPE: Final = re.compile(r"[^\s\x00-\x1f\x7f]{1,200}")
_REFUSED: Final = ("$ref", "$dynamicRef", "$recursiveRef", "patternProperties", "$id", "$schema")
_NO_ARGUMENTS: Final = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
_MOST_ERRORS: Final = 3


class ToolEffect(StrEnum):
    """What a tool does to the world: reads it, writes what is ours, or acts on what is not."""

    READ = "read"
    WRITE = "write"
    EXTERNAL = "external"


@dataclass(frozen=True, eq=False)
class Tool:
    """One callable tool and the facts the gates decide on.

    ``name``: 1 to 64 characters, ``[A-Za-z_][A-Za-z0-9_-]*``. ``function`` is called with the validated arguments as
    keyword arguments and must return a JSON value; anything else is reported as ``tool_result_not_json``.
    ``parameters``: the JSON Schema (2020-12) of the arguments, whose root is a closed object; references and
    ``patternProperties`` are not supported; None is a tool without arguments. ``scopes`` are what a policy must grant.
    ``cost`` is what one call costs, in the caller's unit. ``idempotent``: whether a call may be repeated with the same
    effect; None is True for a read tool and False otherwise. ``timeout_s`` bounds one call, None does not; a call that
    is past it is abandoned and its thread goes on. ``hands_to`` names the agent that is in control once a call has
    succeeded, None for a tool that hands nothing over; it says so in a recorded trajectory, and what the next steps are
    is the planner's to decide as before.

    Errors: TypeError where a field has the wrong type; ValueError for a malformed name or scope, or a cost that is
    negative or not finite; SchemaError where ``parameters`` is outside the supported schemas or does not fit the
    function's signature.

    >>> from oloproof.runtime import Tool
    >>> def add(a, b=0):
    ...     return a + b
    >>> tool = Tool(
    ...     "add",
    ...     add,
    ...     parameters={
    ...         "type": "object",
    ...         "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    ...         "required": ["a"],
    ...         "additionalProperties": False,
    ...     },
    ... )
    >>> tool.effect.value, tool.idempotent
    ('read', True)
    """

    name: str
    function: Callable[..., Any]
    description: str = ""
    parameters: Mapping[str, Any] | None = None
    effect: ToolEffect = ToolEffect.READ
    scopes: Set[str] = frozenset()
    cost: float = 1.0
    idempotent: bool | None = None
    timeout_s: float | None = None
    hands_to: str | None = None
    validator: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for value, kind, what in ((self.name, str, "name"), (self.description, str, "description")):
            if not isinstance(value, kind):
                raise TypeError(f"{what} is of type {type(value).__name__}, not {kind.__name__}")
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"the tool's name is {self.name!r:.80}, not 1 to 64 of [A-Za-z_][A-Za-z0-9_-]*")
        if not callable(self.function):
            raise TypeError(f"tool {self.name!r}: its function is {self.function!r:.80}, which cannot be called")
        if not isinstance(self.effect, str):
            raise TypeError(f"tool {self.name!r}: its effect is of type {type(self.effect).__name__}, not a ToolEffect")
        object.__setattr__(self, "effect", ToolEffect(self.effect))
        object.__setattr__(self, "scopes", scopes_of(self.scopes, f"tool {self.name!r}: scopes"))
        object.__setattr__(self, "cost", amount(self.cost, f"tool {self.name!r}: cost"))
        if self.idempotent is not None and type(self.idempotent) is not bool:
            raise TypeError(f"tool {self.name!r}: idempotent is {self.idempotent!r:.80}, not True, False or None")
        if self.idempotent is None:
            object.__setattr__(self, "idempotent", self.effect is ToolEffect.READ)
        if self.timeout_s is not None and amount(self.timeout_s, f"tool {self.name!r}: timeout_s") == 0:
            raise ValueError(f"tool {self.name!r}: timeout_s is 0")
        if self.hands_to is not None and not (isinstance(self.hands_to, str) and self.hands_to):
            raise TypeError(f"tool {self.name!r}: hands_to is {self.hands_to!r:.80}, no agent's name")
        schema = _closed_schema(self.name, self.parameters)
        _fit(self.name, self.function, schema)
        object.__setattr__(self, "parameters", schema)
        object.__setattr__(self, "validator", _validator(self.name, schema))

    def describe(self) -> dict[str, Any]:
        """What a planner needs to call this tool, as JSON."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": snapshot(self.parameters),
            "effect": self.effect.value,
            "scopes": sorted(self.scopes),
            "cost": self.cost,
        }

    def wrong_arguments(self, arguments: dict[str, Any]) -> str | None:
        """What is wrong with some arguments, a snapshot; None when nothing is."""
        if has_unrepresentable(arguments):
            return "they hold what JSON cannot carry"
        said = []
        for error in self.validator.iter_errors(arguments):
            said.append(f"{error.json_path}: {error.message[:200]}")
            if len(said) == _MOST_ERRORS:
                break
        return "; ".join(said) or None


class Toolset(Mapping[str, Tool]):
    """Tools by name. Errors: TypeError for what is no tool, ValueError where two have one name."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if not isinstance(tool, Tool):
                raise TypeError(f"a toolset holds tools, not {type(tool).__name__}")
            if tool.name in self._tools:
                raise ValueError(f"two tools are called {tool.name!r}")
            self._tools[tool.name] = tool

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def describe(self) -> list[dict[str, Any]]:
        """Names, descriptions, JSON Schemas, effects, scopes and costs, ready for a model's tool-calling interface."""
        return [tool.describe() for tool in self._tools.values()]


def scopes_of(given: object, what: str) -> frozenset[str]:
    """Scopes as a set. Errors: TypeError for one text or what is no text, ValueError for a malformed scope."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"{what} is of type {type(given).__name__}, not a set of texts")
    scopes = frozenset(given)
    for scope in scopes:
        if not isinstance(scope, str):
            raise TypeError(f"{what}: {scope!r:.80} is no text")
        if not _SCOPE.fullmatch(scope):
            raise ValueError(f"{what}: {scope!r:.80} is empty, too long, or has white space in it")
    return scopes


def _closed_schema(name: str, given: object) -> dict[str, Any]:
    """The schema, copied. Errors: TypeError, SchemaError where its root is no closed object."""
    if given is None:
        return dict(_NO_ARGUMENTS)
    if not isinstance(given, Mapping):
        raise TypeError(f"tool {name!r}: parameters is of type {type(given).__name__}, not a mapping")
    schema: dict[str, Any] = snapshot(given)
    if not is_json(schema):
        raise SchemaError(f"tool {name!r}: parameters holds what JSON cannot carry")
    if schema.get("type") != "object" or schema.get("additionalProperties") is not False:
        raise SchemaError(
            f'tool {name!r}: the root of parameters must be a closed object: "type": "object", '
            '"additionalProperties": false'
        )
    pending: list[Any] = [schema]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            if (keyword := next((word for word in _REFUSED if word in part), None)) is not None:
                raise SchemaError(f"tool {name!r}: {keyword} is not supported in parameters")
            pending += [inner for key, inner in part.items() if key not in ("properties", "enum", "const", "default")]
            properties = part.get("properties")
            pending += properties.values() if isinstance(properties, dict) else ()
        elif isinstance(part, list):
            pending += part
    return schema


def _validator(name: str, schema: dict[str, Any]) -> Any:
    import jsonschema  # imported late: slow
    import re2

    validators: Any = jsonschema.validators
    draft = jsonschema.Draft202012Validator
    try:
        draft.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise SchemaError(f"tool {name!r}: no valid schema at {error.json_path}: {error.message[:200]}") from None
    compiled: dict[str, Any] = {}

    def matches(_: Any, pattern: str, instance: Any, __: Any) -> Iterator[jsonschema.ValidationError]:
        if isinstance(instance, str) and compiled[pattern].search(instance) is None:
            yield jsonschema.ValidationError(f"the text does not match {pattern!r}")

    for pattern in _patterns(schema):
        try:
            compiled[pattern] = re2.compile(pattern)
        except re2.error as error:
            raise SchemaError(f"tool {name!r}: the pattern {pattern!r:.80} is none of RE2: {error}") from None
    return validators.extend(draft, {"pattern": matches})(schema)


def _patterns(schema: Any) -> Iterator[str]:
    """Whatever may be a pattern of the schema; one too many costs nothing."""
    if isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        for part in schema.values():
            yield from _patterns(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _patterns(part)


def _fit(name: str, function: Callable[..., Any], schema: dict[str, Any]) -> None:
    """Errors: SchemaError where some arguments that the schema allows cannot be passed to the function."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise SchemaError(f"tool {name!r}: its function does not tell its signature; wrap it in a def") from None
    keywords = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list):
        return  # no valid schema: its compiler says so
    for key in properties:
        if key not in keywords and not takes_any:
            raise SchemaError(f"tool {name!r}: its function takes no keyword {key!r}")
    for p in parameters:
        needed = p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        if needed and (p.kind is p.POSITIONAL_ONLY or p.name not in required):
            raise SchemaError(f"tool {name!r}: its function needs {p.name!r}, which the schema does not require")
