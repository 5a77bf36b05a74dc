"""The formats by name. A format's module is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from oloproof.exporters.format import Exporter

FORMATS: Final = ("atif", "jsonl", "otlp")


def exporter(name: str) -> Exporter:
    """The format of that name, one of :data:`FORMATS`."""
    found: Exporter = import_module(f"oloproof.exporters.{name}").EXPORTER
    return found
