"""SARIF 2.1.0 for code scanning: each rule that does not pass, and each case that fails or has no verdict, where the
files of the repository say what it is about.

A message of SARIF has a syntax of its own: brackets make links and braces placeholders, unless they are escaped (§3.11
of the standard). Messages are never given as Markdown.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from oloproof._version import __version__
from oloproof.errors import ExitCode
from oloproof.model.places import Place, Places
from oloproof.reports.inert import inert
from oloproof.reports.remarks import CRITERION, RULE, Remark, remarks
from oloproof.reports.view import VerdictRow, View

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "%SRCROOT%"
"""What paths are relative to: the root of the repository, by the name that consumers know it by."""

_ESCAPES = str.maketrans({"\\": r"\\", "[": r"\[", "]": r"\]", "{": "{{", "}": "}}"})


def sarif(view: View, verdict_rows: Iterable[VerdictRow], places: Places) -> Iterator[str]:
    """The document in pieces. ``verdict_rows`` are those of the run that the view shows."""
    return _document(view, remarks(view, verdict_rows, places), category="")


def comparison_sarif(view: View, found: Iterable[Remark]) -> Iterator[str]:
    """The document in pieces, of what a comparison remarks. Its alerts are its own, and close no alert of a run."""
    return _document(view, found, category="comparison/")


def _document(view: View, found: Iterable[Remark], *, category: str) -> Iterator[str]:
    """The results come first, since which criteria they are about is known once they are written."""
    about = dict.fromkeys(RULE + row.rule for row in view.decisions)
    yield f'{{"$schema": "{SCHEMA}", "version": "2.1.0", "runs": [{{"results": ['
    separator = "\n"
    for remark in found:
        about.setdefault(remark.about)
        yield separator + json.dumps(_result(remark))
        separator = ",\n"
    rules = [{"id": name, "shortDescription": {"text": _message(_description(name))}} for name in about]
    run = {
        "tool": {"driver": {"name": "oloproof", "semanticVersion": __version__, "rules": rules}},
        "automationDetails": {"id": f"oloproof/{quote(view.project, safe='')}/{category}"},
        "invocations": [
            {
                "executionSuccessful": view.exit_code != ExitCode.BROKEN,
                "exitCode": view.exit_code,
                "exitCodeDescription": view.gate,
            }
        ],
        "originalUriBaseIds": {ROOT: {"description": {"text": "the root of the repository"}}},
        "columnKind": "unicodeCodePoints",
        "properties": {"run": view.run_id, "outcome": view.outcome},
    }
    yield f"\n],\n{json.dumps(run)[1:]}]}}\n"


def _description(about: str) -> str:
    if about.startswith(RULE):
        return f"The rule {about.removeprefix(RULE)} of the policy."
    if about.startswith(CRITERION):
        return f"The criterion {about.removeprefix(CRITERION)}, case by case."
    return "The verdict of the run."


def _result(remark: Remark) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": remark.about,
        "level": remark.level,
        "message": {"text": _message(remark.text)},
        "partialFingerprints": {"oloproof/v1": _fingerprint(remark)},
    }
    location = _location(remark)
    if location:
        result["locations"] = [location]
    if remark.rules:
        result["relatedLocations"] = [
            {"id": number, "message": {"text": _message(f"the rule {rule}")}, "physicalLocation": _physical(place)}
            for number, (rule, place) in enumerate(remark.rules, 1)
        ]
    return result


def _location(remark: Remark) -> dict[str, Any]:
    """The line in the repository, and in the run's own terms the case and its steps."""
    location: dict[str, Any] = {}
    if remark.place is not None:
        location["physicalLocation"] = _physical(remark.place)
    if remark.case:
        logical = [{"name": remark.case, "kind": "case"}]
        logical += [
            {"name": f"step {step}", "fullyQualifiedName": f"{remark.case}/step {step}", "kind": "step"}
            for step in remark.steps
        ]
        location["logicalLocations"] = logical
    return location


def _physical(place: Place) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": _path(place.file), "uriBaseId": ROOT}}
    if place.line:
        physical["region"] = {"startLine": place.line}
    return physical


def _path(path: str) -> str:
    """A path as a relative reference of a URI, whatever bytes its names hold."""
    return quote(path.encode("utf-8", "surrogateescape"), safe="/")


def _fingerprint(remark: Remark) -> str:
    """The same in every run that remarks the same on the same: 32 hexadecimal digits. Which reason an attempt gave, and
    on which line the case stands by now, is no part of it."""
    parts = json.dumps(remark.identity)
    return hashlib.sha256(parts.encode()).hexdigest()[:32]


def _message(text: str) -> str:
    return inert(text, 4_000).translate(_ESCAPES)
