"""``oloproof schema``."""

from __future__ import annotations

import click

from oloproof.cli.common import print_json
from oloproof.evaluators import EVALUATORS
from oloproof.plugins import installed
from oloproof.project import json_schema
from oloproof.reports.events import events_schema


@click.command("schema")
@click.argument("file", type=click.Choice(["oloproof", "release", "dataset", "events"]), default="oloproof")
def command(file: str) -> None:
    """Print the JSON Schema of oloproof.yaml (default), release.yaml or a dataset's rows, for completion in an editor,
    or of a line of `run --json-events`.

    \b
    Example:
      oloproof schema release > release.schema.json
    """
    if file == "events":
        print_json(events_schema())
        return
    plugins = tuple(installed("evaluators", EVALUATORS)) if file == "oloproof" else ()
    print_json(json_schema(file, plugins=plugins))
