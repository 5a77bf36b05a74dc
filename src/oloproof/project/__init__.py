"""What users write (oloproof.yaml, release.yaml, datasets), read whole and checked before anything runs."""

from __future__ import annotations

from oloproof.project.above import hint_above
from oloproof.project.config import load
from oloproof.project.dataset import Cases, check_cases, read_cases
from oloproof.project.places import place_in_line
from oloproof.project.schema import json_schema

__all__ = ["Cases", "check_cases", "hint_above", "json_schema", "load", "place_in_line", "read_cases"]
