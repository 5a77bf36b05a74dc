"""The formats by name, and which of them a file is. A format's module is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Final, get_args

from oloproof.errors import Problem, UsageError
from oloproof.importers import codes
from oloproof.importers.format import Confidence, Importer
from oloproof.importers.head import Head
from oloproof.importers.source import Source
from oloproof.model.project import TraceFormat

AUTO: Final = "auto"

FORMATS: Final[tuple[str, ...]] = tuple(name for name in get_args(TraceFormat) if name != AUTO)


def importer(name: str) -> Importer:
    """The format of that name, one of :data:`FORMATS`: ``IMPORTER`` in the module of
    :mod:`oloproof.importers.formats` that is called like it."""
    found: Importer = import_module(f"oloproof.importers.formats.{name.replace('-', '_')}").IMPORTER
    return found


def recognised(head: Head) -> Importer:
    """The format of a file, by its beginning. UsageError when it is empty, no format claims it, or several with equal
    right."""
    if not head.data.strip():
        raise UsageError(Problem(codes.NOT_JSON, "the file is empty", file=head.file))
    claims: list[tuple[int, Importer]] = []
    for name in FORMATS:
        candidate = importer(name)
        confidence = _claim(candidate, head)
        if confidence is not None:
            claims.append((confidence, candidate))
    if not claims:
        hint = f"say which format it is: {', '.join(FORMATS)}"
        raise UsageError(Problem("OLO691", "it looks like none of the formats that can be imported", hint, head.file))
    surest = max(confidence for confidence, _ in claims)
    best = [candidate for confidence, candidate in claims if confidence == surest]
    if len(best) > 1:
        names = " or ".join(candidate.name for candidate in best)
        raise UsageError(Problem("OLO692", f"it may be {names}", "say which format it is", head.file))
    return best[0]


def _claim(candidate: Importer, head: Head) -> Confidence | None:
    """How sure a format is; of values that are nested too deeply to be looked into, none is."""
    try:
        return candidate.sniff(head)
    except RecursionError:
        return None


def by_format(sources: Sequence[Source], name: str | Importer) -> list[tuple[Importer, list[Source]]]:
    """The files with the importer that reads them, those of one format together, in the order of their first file.

    ``name`` is a format, an importer, or :data:`AUTO`. UsageError with every file that :func:`recognised` cannot place.
    """
    if isinstance(name, Importer):
        return [(name, list(sources))]
    if name != AUTO:
        return [(importer(name), list(sources))]
    groups: dict[str, tuple[Importer, list[Source]]] = {}
    problems: list[Problem] = []
    for source in sources:
        try:
            found = recognised(Head(source.head(), source.name))
        except UsageError as error:
            problems.extend(error.problems)
        else:
            groups.setdefault(found.name, (found, []))[1].append(source)
    if problems:
        raise UsageError(problems)
    return list(groups.values())
