"""``oloproof evaluators``."""

from __future__ import annotations

from collections.abc import Iterator

import click
from msgspec import UNSET, to_builtins

from oloproof.cli.common import json_option, print_json
from oloproof.errors import Problem, UsageError, did_you_mean
from oloproof.evaluators.elsewhere import elsewhere_hint
from oloproof.project.catalog import Entry, Key, catalog
from oloproof.reports.document import evaluators_document
from oloproof.reports.inert import inert


@click.command("evaluators")
@click.argument("name", required=False)
@json_option
def command(name: str | None, as_json: bool) -> None:
    """List the evaluators, ours and those of installed plug-ins, or show all of one: its keys, and an example.

    \b
    Example:
      oloproof evaluators agent_tool_errors
    """
    entries = catalog()
    if name is not None:
        entries = tuple(entry for entry in entries if entry.type == name) or _refuse(name, entries)
    if as_json:
        print_json(evaluators_document(to_builtins(entries)))
    else:
        for line in _whole(entries[0]) if name is not None else _listed(entries):
            print(line)


def _refuse(name: str, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    types = [entry.type for entry in entries]
    hint = elsewhere_hint(name) or did_you_mean(name, types, otherwise="the types are")
    raise UsageError(Problem("OLO684", f"there is no evaluator {inert(name)!r}", hint))


def _listed(entries: tuple[Entry, ...]) -> Iterator[str]:
    for entry in entries:
        of = f" ({inert(entry.package)})" if entry.package else ""
        yield f"{inert(entry.type)}{of}: {inert(entry.asks)}"
        yield f"  - {inert(entry.example)}"


def _whole(entry: Entry) -> Iterator[str]:
    yield inert(entry.type)
    yield ""
    yield from map(inert, entry.about.splitlines())
    yield ""
    yield "keys:"
    yield from (f"  {inert(key.key)}{_default(key)}: {key.about}" for key in entry.keys)
    yield ""
    yield f"example, counted as {inert(entry.criterion)}:"
    yield f"  - {inert(entry.example)}"


def _default(key: Key) -> str:
    if key.required:
        return " (required)"
    return "" if key.default is UNSET or key.default == {} else f" (default {str(key.default).lower()})"
