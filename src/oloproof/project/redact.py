"""``redact:``: which secrets are taken out, and what is wrong with how that was written."""

from __future__ import annotations

from collections.abc import Collection

from oloproof.errors import did_you_mean, shown
from oloproof.model.redaction import DEPTH_RULE, FIELD_RULE, MARKER_RULE, OwnPattern, Redaction
from oloproof.project import codes
from oloproof.project.nodes import Fields, Items, Node
from oloproof.project.problems import Problems
from oloproof.project.spec import RedactSection
from oloproof.redaction import BUILT_IN, PatternError, own_pattern


def redaction_of(section: RedactSection, node: Node, problems: Problems, *, functions: Collection[str]) -> Redaction:
    """The rules as data. ``functions`` are the criteria that the evaluation worker judges."""
    assert isinstance(node, Fields)
    taken = {*BUILT_IN, DEPTH_RULE, FIELD_RULE, MARKER_RULE}
    for each, place in zip(section.patterns, _items(node, "patterns"), strict=True):
        assert isinstance(place, Fields)
        if each.name in taken:
            message = f"redact: there is a rule {shown(each.name)} already"
            problems.at(place.place("name"), codes.DUPLICATE_NAME, message, hint="name it otherwise")
        taken.add(each.name)
        try:
            own_pattern(each.pattern)
        except PatternError as error:
            message = f"redact: the pattern {shown(each.name)} cannot be used: {error}"
            problems.at(place.place("pattern"), codes.BAD_REDACTION, message, hint="RE2 has no lookaround")
    for criterion, place in zip(section.judged_as_is, _items(node, "judged_as_is"), strict=True):
        if criterion not in functions:
            hint = did_you_mean(criterion, sorted(functions), otherwise="they are") or "take it out"
            message = f"redact.judged_as_is: {shown(criterion)} is no criterion that a function judges"
            problems.at(place, codes.BAD_REDACTION, message, hint=hint)
    return Redaction(
        built_in=section.built_in,
        patterns=tuple([OwnPattern(name=each.name, pattern=each.pattern) for each in section.patterns]),
        fields=tuple([tuple(path.split(".")) for path in section.fields]),
        judged_as_is=section.judged_as_is,
    )


def _items(node: Fields, key: str) -> tuple[Node, ...]:
    entry = node.entry(key)
    return entry.value.items if entry is not None and isinstance(entry.value, Items) else ()
