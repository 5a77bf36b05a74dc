"""Plug-ins: what installed packages add under a name, found by their entry points.

Packages are asked only where a name is not one of oloproof's own, once, and nothing of theirs is imported for it: the
process that CI waits for runs no code but ours. What a name stands for is decided by where it may run:

- ``oloproof.evaluators``: a function, ``module:function``, that the evaluation worker imports like one of the user's.
- ``oloproof.importers``: an ``Importer``, for ``oloproof import`` alone; ``judge`` reads what that wrote.
- ``oloproof.reports``: a function from a report's document to text, for ``oloproof inspect`` alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, Literal

from msgspec import Struct

from oloproof.errors import BrokenError, Problem, UsageError, did_you_mean

Group = Literal["evaluators", "importers", "reports"]

NO_PLUGIN = "OLO680"
PLUGIN_FAILED = "OLO683"
WHOSE_FAULT = "it is the package's own fault: upgrade it, or tell its authors"

TARGET: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


class Plugin(Struct, frozen=True):
    """A name, what it stands for (``module:attribute``), and the installed package that says so (``acme 1.0``)."""

    name: str
    target: str
    package: str

    def __str__(self) -> str:
        return f"plug-in {self.name!r} of {self.package}"


def installed(group: Group, ours: Collection[str]) -> Mapping[str, Plugin]:
    """The plug-ins of a group by name. ``ours`` are the names that are taken.

    Errors: UsageError with every plug-in whose name is taken, also by another one, or whose target is none.
    """
    found: dict[str, Plugin] = {}
    problems: list[Problem] = []
    for plugin in _entry_points(group):
        if plugin.name in ours:
            message = f"{plugin}: oloproof has {plugin.name!r} itself"
            problems.append(Problem("OLO681", message, "uninstall the package, or have it choose another name"))
        elif plugin.name in found:
            message = f"{found[plugin.name]} and that of {plugin.package} have one name"
            problems.append(Problem("OLO681", message, "uninstall one of the two packages"))
        elif not TARGET.fullmatch(plugin.target):
            message = f"{plugin}: {plugin.target!r} is not module:attribute"
            problems.append(Problem(NO_PLUGIN, message, f"its package names it in the entry points oloproof.{group}"))
        found.setdefault(plugin.name, plugin)
    if problems:
        raise UsageError(problems)
    return MappingProxyType(found)


def loaded(group: Group, name: str, ours: Collection[str]) -> tuple[Plugin, Any]:
    """The plug-in of that name and what it stands for, imported here. Not for processes that decide.

    Errors: UsageError where there is none of that name, BrokenError where it fails to load.
    """
    plugins = installed(group, ours)
    plugin = plugins.get(name)
    if plugin is None:
        hint = did_you_mean(name, [*ours, *plugins], otherwise="installed are") or "none is installed"
        raise UsageError(Problem(NO_PLUGIN, f"no package installs {name!r} as one of oloproof.{group}", hint))
    module, _, path = plugin.target.partition(":")
    try:
        value: Any = import_module(module)
        for part in path.split("."):
            value = getattr(value, part)
    except BaseException as error:
        raise failed(plugin, "failed to load", error) from error
    return plugin, value


def failed(plugin: Plugin, how: str, error: BaseException) -> BrokenError:
    """The error for a plug-in whose code raised."""
    return BrokenError(f"{plugin} {how}: {type(error).__name__}: {error}", code=PLUGIN_FAILED, hint=WHOSE_FAULT)


@cache
def _entry_points(group: Group) -> tuple[Plugin, ...]:
    """As the packages say it, by name and package. A scan reads a file of every installed package: tens of
    milliseconds where there are hundreds."""
    from importlib.metadata import entry_points

    plugins = [
        Plugin(point.name, point.value.strip(), "an unnamed package" if point.dist is None else _named(point.dist))
        for point in entry_points(group=f"oloproof.{group}")
    ]
    return tuple(sorted(plugins, key=lambda plugin: (plugin.name, plugin.package)))


def _named(distribution: Any) -> str:
    return f"{distribution.name} {distribution.version}"
