"""The events of a run as lines of JSON, and the schema of such a line."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from oloproof.model.events import CaseFinished, CaseStarted, Event, RuleSettled, RunFinished, RunStarted

_KINDS = (RunStarted, CaseStarted, CaseFinished, RuleSettled, RunFinished)


def event_line(event: Event) -> bytes:
    """One line, with its end: ASCII, so that whatever an agent said is written out and nothing can break the line.
    Where it stands in the log of a job, it is no command: ``##[…]`` is one, and a ``#`` may be spelled out."""
    line = json.dumps(msgspec.to_builtins(event), allow_nan=False)
    return line.replace("##", r"#\u0023").encode("ascii") + b"\n"


def events_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a line of ``oloproof.events/v1``. Fields may be added to an event, and events
    to the stream."""
    _, parts = msgspec.json.schema_components(_KINDS, ref_template="#/$defs/{name}")
    for name, part in parts.items():
        if name in {kind.__name__ for kind in _KINDS}:
            part["required"] = list(part["properties"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "an event of a run",
        "anyOf": [{"$ref": f"#/$defs/{kind.__name__}"} for kind in _KINDS],
        "$defs": dict(sorted(parts.items())),
    }
