"""Annotations of a pull request on GitHub: workflow commands, one a line, that point into the dataset and the policy.

GitHub shows ten of a kind for a step, so that is how many there are; the last one counts the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from oloproof.reports.remarks import Level, Remark

MOST = 10
_KINDS: dict[Level, str] = {"error": "error", "warning": "warning", "note": "notice"}
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def workflow_commands(remarks: Iterable[Remark], *, inspect: str) -> Iterator[str]:
    """Commands in the order of the remarks, the kinds one after the other, each with its newline. ``inspect`` is the
    command that shows everything."""
    shown: dict[Level, list[Remark]] = {level: [] for level in _KINDS}
    total = dict.fromkeys(_KINDS, 0)
    for remark in remarks:
        total[remark.level] += 1
        if len(shown[remark.level]) < MOST:
            shown[remark.level].append(remark)
    for level, kind in _KINDS.items():
        rest = total[level] - MOST
        kept = shown[level] if rest <= 0 else shown[level][: MOST - 1]
        yield from (_annotation(kind, remark) for remark in kept)
        if rest > 0:
            yield f"::{kind} title=oloproof::{_data(f'and {total[level] - len(kept):,} more, in {inspect}')}\n"


def _annotation(kind: str, remark: Remark) -> str:
    properties = {"title": f"oloproof {remark.about}"}
    if remark.place is not None:
        properties["file"] = remark.place.file
        if remark.place.line:
            properties["line"] = str(remark.place.line)
    written = ",".join(f"{name}={value.translate(_PROPERTY)}" for name, value in properties.items())
    return f"::{kind} {written}::{_data(remark.text)}\n"


def _data(text: str) -> str:
    return text.translate(_DATA)
