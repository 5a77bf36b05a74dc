"""The evaluators as a person looks them up: what each asks, its keys, and an example that runs."""

from __future__ import annotations

import inspect
from typing import Any

from msgspec import UNSET, Struct

from oloproof.evaluators import EVALUATORS
from oloproof.evaluators.examples import EXAMPLES
from oloproof.plugins import Plugin, installed
from oloproof.project.measures import read_measures
from oloproof.project.nodes import Fields
from oloproof.project.problems import Problems
from oloproof.project.schema import COMMON_KEYS, json_schema
from oloproof.project.yaml_nodes import parse_yaml


class Key(Struct, frozen=True, kw_only=True):
    """A key of an evaluator. ``default`` UNSET: it must be given, or what it means when left out is told elsewhere."""

    key: str
    required: bool
    default: Any = UNSET
    about: str


class Entry(Struct, frozen=True, kw_only=True):
    """An evaluator. ``about`` is its whole description, ``criterion`` what the example is counted under. ``package`` is
    the plug-in's, "" for ours."""

    type: str
    about: str
    keys: tuple[Key, ...]
    criterion: str
    example: str
    package: str = ""

    @property
    def asks(self) -> str:
        """The first sentence."""
        return self.about.partition("\n\n")[0].partition(". ")[0].replace("\n", " ").rstrip(".:")


def catalog() -> tuple[Entry, ...]:
    """Ours in the order of the reference, then the plug-ins by name. Errors: UsageError for a broken plug-in."""
    plugins = installed("evaluators", EVALUATORS)
    parts = json_schema("oloproof", plugins=tuple(plugins))["$defs"]
    ours = [
        Entry(
            type=name,
            about=inspect.cleandoc(cls.__doc__ or "").replace("``", "`"),
            keys=_keys(parts[cls.__name__]),
            criterion=_criterion(EXAMPLES[name]),
            example=EXAMPLES[name],
        )
        for name, cls in EVALUATORS.items()
    ]
    return (*ours, *(_plugged_in(plugin, parts["PluginEvaluatorEntry"]) for plugin in plugins.values()))


def _plugged_in(plugin: Plugin, schema: dict[str, Any]) -> Entry:
    return Entry(
        type=plugin.name,
        about=f"The function {plugin.target} of {plugin.package}.",
        keys=_keys(schema),
        criterion=plugin.name,
        example=f"{{type: {plugin.name}}}",
        package=plugin.package,
    )


def _keys(schema: dict[str, Any]) -> tuple[Key, ...]:
    """The keys beside ``type``, the evaluator's own first."""
    required, parts = schema.get("required", ()), schema["properties"]
    own = [key for key in parts if key not in ("type", *COMMON_KEYS)]
    return tuple(
        Key(
            key=key,
            required=key in required,
            default=parts[key].get("default", UNSET),
            about=parts[key]["description"],
        )
        for key in (*own, *COMMON_KEYS)
    )


def _criterion(example: str) -> str:
    """What the loader makes of an example."""
    problems = Problems("an example")
    written = parse_yaml(f"evaluators: [{example}]".encode(), problems)
    assert isinstance(written, Fields)
    measures = read_measures(written, problems)
    problems.raise_any()
    return measures.evaluators[0].criterion
