"""What is taken out of a record before anybody sees it, and what is left in its place.

A secret leaves a *marker*, ``[redacted:email:1]``: the rule that found it, and a number that it has wherever it occurs
in the same attempt. Two markers are equal exactly where two secrets were, so that what compares parts of one record
with each other loses nothing. What compares with anything else (a text of the configuration, a reference) cannot know:
for it a text with a marker is :func:`veiled`, a value of which nothing is known but its clear parts.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from oloproof.model.case import Attempt, Case, State
from oloproof.model.trajectory import Step, Trajectory
from oloproof.model.values import TAG, Json

FIELD_RULE: Final = "field"
"""The rule of what is taken out whole, by its path."""

MARKER_RULE: Final = "marker"
"""The rule of a text that only looks like a marker: somebody wrote it."""

DEPTH_RULE: Final = "depth"
"""The rule of what is nested too deep to be looked through, and is not kept."""

MARKER: Final = re.compile(r"\[redacted:([a-z][a-z0-9-]*):([0-9]+)\]")
RULE_NAME: Final = r"^[a-z][a-z0-9-]{0,39}$"
ANY_DEPTH: Final = "**"
ANY_KEY: Final = "*"

SPARE_CHARS: Final = 16_384
"""How much more of a text than is kept of it is looked through for secrets, which may lie across the limit."""

Path = tuple[str, ...]


class OwnPattern(Struct, frozen=True, kw_only=True):
    """A rule of the user's: what ``pattern`` matches, or its first group where it has one, is taken out."""

    name: str
    pattern: str


class Redaction(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``redact:``. ``built_in`` names rules of ours, ``fields`` are paths to what is taken out whole. ``judged_as_is``
    are the criteria whose functions may judge a record of which something was taken out."""

    built_in: tuple[str, ...]
    patterns: tuple[OwnPattern, ...] = ()
    fields: tuple[Path, ...] = ()
    judged_as_is: tuple[str, ...] = ()


def marker(rule: str, number: int) -> str:
    """What is left of a secret."""
    return f"[redacted:{rule}:{number}]"


def has_marker(value: Json) -> bool:
    """Whether a text or a key in ``value`` holds a marker."""
    pending = [value]
    while pending:
        part = pending.pop()
        if type(part) is str:
            if MARKER.search(part):
                return True
        elif type(part) is dict:
            pending.extend(part)
            pending.extend(part.values())
        elif type(part) is list:
            pending.extend(part)
    return False


def clear_parts(text: str) -> list[str]:
    """What stands around the markers of a text."""
    return MARKER.split(text)[::3]


def veiled(value: Json) -> Json:
    """The value with a tag in the place of each text that holds a marker, and of each such key.

    A tag is a value of which nothing is known. What it lists are the clear parts, which certainly are in the text.
    """
    if type(value) is str:
        return {TAG: clear_parts(value)} if MARKER.search(value) else value
    if type(value) is list:
        return list(map(veiled, value))
    if type(value) is not dict:
        return value
    kept = {}
    lost = list(value[TAG]) if type(value.get(TAG)) is list else []
    for key, part in value.items():
        if key != TAG and MARKER.search(key):
            lost.append([clear_parts(key), veiled(part)])
        else:
            kept[key] = veiled(part) if key != TAG else part
    if lost:
        kept[TAG] = lost
    return kept


def veiled_case(case: Case) -> Case:
    """The case for whom compares it with those of other cases: equal markers of two cases are not equal secrets."""
    return replace(case, input=veiled(case.input), expected=veiled(case.expected), metadata=veiled(case.metadata))


def veiled_attempt(attempt: Attempt) -> Attempt:
    """The attempt for whom compares it with anything outside of it.

    A tool or an agent whose name holds a marker may be any tool or agent, which no step can say: there the record ends,
    as one that was cut off.
    """
    trajectory, state = attempt.trajectory, attempt.state
    return replace(
        attempt,
        output=veiled(attempt.output),
        trajectory=None if trajectory is None else _veiled_trajectory(trajectory),
        state=None if state is None else State(before=veiled(state.before), after=veiled(state.after)),
    )


def _veiled_trajectory(trajectory: Trajectory) -> Trajectory:
    steps = trajectory.steps
    end = next((place for place, step in enumerate(steps) if _is_nameless(step)), len(steps))
    checks = tuple(each for each in trajectory.constraints if not MARKER.search(each.name))
    if end < len(steps):
        # What was checked of the whole run was checked of steps that are not seen here: it stands. What ended it, too,
        # but a record that is cut off may end in any way.
        checks = tuple(each for each in checks if each.step_index is None or each.step_index <= end)
        trajectory = replace(trajectory, truncated=True, terminal_status="unknown", step_limit=None)
    shown = tuple([_veiled_step(step) for step in steps[:end]])
    return replace(trajectory, steps=shown, constraints=checks, checkpoints=())


def _is_nameless(step: Step) -> bool:
    return any(name is not None and MARKER.search(name) for name in (step.tool_name, step.agent, step.to_agent))


def _veiled_step(step: Step) -> Step:
    arguments, result, metadata = veiled(step.arguments), veiled(step.result), veiled(step.metadata)
    if arguments is step.arguments and result is step.result and metadata is step.metadata:
        return step
    return replace(step, arguments=arguments, result=result, metadata=metadata)


class Redacted(Struct, frozen=True, kw_only=True):
    """How much a rule took out of a run: different ``secrets``, counted anew in each attempt, in so many
    ``attempts``."""

    rule: str
    secrets: int
    attempts: int
