"""The policy: ``release.yaml``, or the same written into ``oloproof.yaml``, checked against what is measured."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, get_args

from msgspec import Struct

from oloproof.errors import UsageError, did_you_mean, shown
from oloproof.model.decision import (
    Equivalence,
    IntervalThreshold,
    MaxNewFailures,
    NonInferiority,
    ObservedCount,
    Policy,
    Rule,
    Superiority,
)
from oloproof.project import codes, shape
from oloproof.project.early_stopping import read_early_stopping
from oloproof.project.nodes import Entry, Fields, Items, Node, Scalar, describe
from oloproof.project.problems import Problems, read_bytes
from oloproof.project.spec import (
    BlockingState,
    EquivalenceEntry,
    IntervalThresholdEntry,
    MaxNewFailuresEntry,
    NonInferiorityEntry,
    ObservedCountEntry,
    PolicyFile,
    PolicySection,
    SuperiorityEntry,
)
from oloproof.project.yaml_nodes import parse_yaml

DEFAULT_POLICY = "release.yaml"

MetricKind = Literal["rate", "quantile", "pass_k"]

RULE_KINDS: Mapping[str, tuple[type[Struct], type[Rule]]] = {
    "interval_threshold": (IntervalThresholdEntry, IntervalThreshold),
    "observed_count": (ObservedCountEntry, ObservedCount),
    "superiority": (SuperiorityEntry, Superiority),
    "non_inferiority": (NonInferiorityEntry, NonInferiority),
    "equivalence": (EquivalenceEntry, Equivalence),
    "max_new_failures": (MaxNewFailuresEntry, MaxNewFailures),
}
"""What each kind of rule is written as, and what it becomes."""

_MAX_EXPONENT = 300
_MAX_DIGITS = 30
"""Significant digits of a bound: some more than any double has, and few enough to count with."""


class Measurable(Struct, frozen=True):
    """The metrics that a rule may name. ``complete`` is False when some could not be read and have no known name;
    ``recorded`` says that no case can be run again."""

    kinds: Mapping[str, MetricKind]
    complete: bool = True
    recorded: bool = False


def read_policy(path: Path, problems: Problems, measurable: Measurable) -> Policy | None:
    """The policy in a file, its rules checked against what is measured; None where it has problems, which are noted."""
    try:
        data = read_bytes(path, what="the policy", codes=problems.codes)
    except UsageError as error:
        problems.found.extend(error.problems)
        return None
    node = parse_yaml(data, problems)
    return None if node is None else policy_of(node, problems, measurable, section=PolicyFile)


def policy_of(
    node: Node, problems: Problems, measurable: Measurable, *, section: type[PolicySection] = PolicySection
) -> Policy | None:
    """The policy that a mapping says, None when it has problems, which are noted."""
    before = len(problems.found)
    written = shape.mapping(node, problems, what="the policy")
    if written is None:
        return None
    values, _ = shape.keys(written, section, problems, what="the policy", raw=("rules", "early_stopping"))
    values.pop("version", None)
    rules = _rules(values.pop("rules"), problems, measurable) if "rules" in values else []
    if "early_stopping" in values:
        known = {rule.id: rule for rule in rules} if len(problems.found) == before else None
        values["early_stopping"] = read_early_stopping(values["early_stopping"], known, problems, measurable.kinds)
    _check_states(written, values, problems)
    if len(problems.found) > before:
        return None
    return Policy(rules=tuple(rules), **values)


def _check_states(written: Fields, values: Mapping[str, object], problems: Problems) -> None:
    blocking = written.entry("block_on")
    if blocking is not None and "block_on" in values and "FAIL" not in _states(values, "block_on"):
        problems.at(blocking.value, codes.BAD_RULE, "block_on must contain FAIL", hint="add FAIL to the list")
    warning = written.entry("warn_on")
    if warning is None:
        return
    blocked = _states(values, "block_on") if blocking is not None else get_args(BlockingState)
    for state in _states(values, "warn_on"):
        if state in blocked:
            message = f"{state} is in both block_on and warn_on"
            hint = "name it in one of them; block_on holds all three states unless it is written"
            problems.at(warning.value, codes.BAD_RULE, message, hint=hint)


def _states(values: Mapping[str, object], key: str) -> tuple[str, ...]:
    states = values.get(key, ())
    return states if isinstance(states, tuple) else ()


def _rules(node: Node, problems: Problems, measurable: Measurable) -> list[Rule]:
    items = shape.items(node, problems, what="rules")
    if isinstance(node, Items) and not items:
        problems.at(node, problems.codes.bad_value, "rules must not be empty", hint="to gate nothing: policy: none")
    rules = []
    lines: dict[str, int] = {}
    for item in items:
        rule = _rule(item, problems, measurable)
        name = item.entry("id") if isinstance(item, Fields) else None
        if name is not None and isinstance(name.value, Scalar) and isinstance(name.value.value, str):
            _unique(name, name.value.value, lines, problems)
        if rule is not None:
            rules.append(rule)
    return rules


def _unique(entry: Entry, name: str, lines: dict[str, int], problems: Problems) -> None:
    if name in lines:
        message = f"two rules have the id {shown(name)}, the first on line {lines[name]}"
        problems.at(entry.value, codes.DUPLICATE_NAME, message, hint="give each rule an id of its own")
    lines.setdefault(name, entry.line)


def _rule(node: Node, problems: Problems, measurable: Measurable) -> Rule | None:
    written = shape.mapping(node, problems, what="a rule")
    kind = None if written is None else _kind(written, problems)
    if written is None or kind is None:
        return None
    if written.entry("kind") is None:  # told by _kind, or the default
        said = Entry("kind", Scalar(kind, kind, written.line, written.column), written.line, written.column)
        written = Fields((*written.entries, said), written.line, written.column)
    entry, rule = RULE_KINDS[kind]
    values, valid = shape.keys(written, entry, problems, what=f"a rule of kind {kind}")
    metric_kind = _check_metric(written, kind, problems, measurable)
    is_share = metric_kind in ("rate", "pass_k")
    decimals: dict[str, Any] = {
        key: _decimal(written, key, problems, share=key in ("max_missing", "margin") or is_share)
        for key in ("min", "max", "max_missing", "margin")
        if key in values
    }
    valid = valid and None not in decimals.values()
    if values.get("confirm") and measurable.recorded:
        message = "confirm runs broken cases again, and the system is recorded"
        problems.at(written.place("confirm"), codes.CONFIRMS_NOTHING, message, hint="leave confirm out")
    if kind == "interval_threshold":
        valid = _check_bounds(written, decimals, problems) and valid
    if not valid or (metric_kind is None and measurable.complete):
        return None
    values.pop("kind", None)
    return rule(**(values | decimals))


def _kind(written: Fields, problems: Problems) -> str | None:
    entry = written.entry("kind")
    if entry is None:
        if written.entry("max_failures") is None:
            return "interval_threshold"
        hint = "write kind: observed_count"
        problems.at(written, problems.codes.missing_key, "a rule with max_failures needs the key 'kind'", hint=hint)
        return "observed_count"
    named = entry.value.value if isinstance(entry.value, Scalar) else None
    if not isinstance(named, str):
        problems.at(entry.value, problems.codes.wrong_type, f"kind must be a string, found {describe(entry.value)}")
        return None
    if named not in RULE_KINDS:
        hint = did_you_mean(named, RULE_KINDS, otherwise="the kinds are")
        problems.at(entry.value, codes.UNKNOWN_TYPE, f"unknown rule kind {shown(named)}", hint=hint)
        return None
    return named


def _check_metric(written: Fields, kind: str, problems: Problems, measurable: Measurable) -> MetricKind | None:
    entry = written.entry("metric")
    named = entry.value.value if entry is not None and isinstance(entry.value, Scalar) else None
    if entry is None or not isinstance(named, str) or not named:
        return None
    found = measurable.kinds.get(named)
    if found is None and measurable.complete:
        identity = written.entry("id")
        name = identity.value.text if identity is not None and isinstance(identity.value, Scalar) else "?"
        hint = did_you_mean(named, measurable.kinds, otherwise="the metrics are")
        message = f"rule {shown(name)} names no metric {shown(named)}"
        problems.at(entry.value, codes.UNKNOWN_METRIC, message, hint=hint)
    if found in ("quantile", "pass_k") and kind != "interval_threshold":
        about = "counts failed cases" if kind == "observed_count" else "compares pass rates"
        what = "a quantile" if found == "quantile" else "about k trials"
        message = f"{kind} {about}, and {shown(named)} is {what}"
        problems.at(entry.value, codes.BAD_RULE, message, hint="give it min or max, or name a criterion")
    return found


def _check_bounds(written: Fields, decimals: Mapping[str, str | None], problems: Problems) -> bool:
    low, high = decimals.get("min"), decimals.get("max")
    if written.entry("min") is None and written.entry("max") is None:
        message = "a rule of kind interval_threshold needs min, max or both"
        problems.at(written, problems.codes.missing_key, message)
        return False
    if low is not None and high is not None and Fraction(low) > Fraction(high):
        problems.at(written, codes.BAD_RULE, f"min {low} is above max {high}: nothing can pass")
        return False
    return True


def _decimal(written: Fields, key: str, problems: Problems, *, share: bool) -> str | None:
    """The decimal as it was written; None (and a problem) when it is out of range or absurdly long."""
    entry = written.entry(key)
    assert entry is not None
    assert isinstance(entry.value, Scalar)
    number = entry.value.value
    assert isinstance(number, int | float)
    text = decimal_text(entry.value, problems, what=key)
    if share and text is not None and not 0 <= Fraction(text) <= 1:
        hint = f"write {number / 100:g} for {number:g} %" if 1 < number <= 100 else ""
        message = f"{key} must be a share between 0 and 1, found {entry.value.text}"
        problems.at(entry.value, problems.codes.bad_value, message, hint=hint)
        return None
    return text


def decimal_text(node: Scalar, problems: Problems, *, what: str) -> str | None:
    """A number's decimal as written (``0.70``), fit for ``Fraction``; None (and a problem) when it is absurdly long."""
    text = str(node.value) if isinstance(node.value, int) else node.text
    digits, _, exponent = text.lower().lstrip("+-").partition("e")
    significant = digits.replace(".", "").strip("0")
    if len(text) > _MAX_EXPONENT or len(significant) > _MAX_DIGITS or abs(int(exponent or 0)) > _MAX_EXPONENT:
        problems.at(node, problems.codes.bad_value, f"{what} has too many digits", hint="round it")
        return None
    return text
