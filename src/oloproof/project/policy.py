"""The policy: ``release.yaml``, or the same written into ``oloproof.yaml``, checked against what is measured."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from msgspec import Struct

from oloproof.errors import UsageError, did_you_mean
from oloproof.model.decision import IntervalThreshold, ObservedCount, Policy, Rule
from oloproof.project import codes, shape
from oloproof.project.nodes import Entry, Fields, Items, Node, Scalar, told
from oloproof.project.problems import Problems, read_bytes, shown
from oloproof.project.spec import (
    BlockingState,
    IntervalThresholdEntry,
    ObservedCountEntry,
    PolicyFile,
    PolicySection,
)
from oloproof.project.yaml_nodes import parse_yaml

MetricKind = Literal["rate", "quantile"]

LOW_CONFIDENCE = 0.9
RULE_KINDS: Mapping[str, type[Struct]] = {
    "interval_threshold": IntervalThresholdEntry,
    "observed_count": ObservedCountEntry,
}
_MAX_EXPONENT = 300


class Measurable(Struct, frozen=True):
    """The metrics that a rule may name. ``complete`` is False when some could not be read and have no known name."""

    kinds: Mapping[str, MetricKind]
    complete: bool = True


def load_policy(path: Path, *, metrics: Mapping[str, MetricKind]) -> Policy:
    """The policy in a file, its rules checked against ``metrics`` (name to kind).

    Raises a UsageError with every problem of the file. What is legal and still worth saying is in
    :func:`policy_warnings`.
    """
    problems = Problems(str(path))
    policy = read_policy(path, problems, Measurable(metrics))
    problems.raise_any()
    assert policy is not None
    return policy


def read_policy(path: Path, problems: Problems, measurable: Measurable) -> Policy | None:
    """As :func:`load_policy`, with the problems noted; None when there are any."""
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
    values, _ = shape.keys(written, section, problems, what="the policy", raw=("rules",))
    values.pop("version", None)
    rules = _rules(values.pop("rules"), problems, measurable) if "rules" in values else []
    _check_states(written, values, problems)
    if len(problems.found) > before:
        return None
    return Policy(rules=tuple(rules), **values)


def policy_warnings(policy: Policy) -> tuple[str, ...]:
    """What the policy allows and its author should know: a low level, a state that nobody would be told of."""
    warnings = []
    if policy.confidence_level < LOW_CONFIDENCE:
        level = f"{policy.confidence_level:.4g}"
        warnings.append(f"confidence_level {level} is below {LOW_CONFIDENCE}: rules pass and fail on weak evidence")
    listed = {*policy.block_on, *policy.warn_on}
    warnings.extend(
        f"the policy neither blocks nor warns on {state}" for state in get_args(BlockingState) if state not in listed
    )
    return tuple(warnings)


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
    values, valid = shape.keys(written, RULE_KINDS[kind], problems, what=f"a rule of kind {kind}")
    metric_kind = _check_metric(written, kind, problems, measurable)
    decimals: dict[str, Any] = {
        key: _decimal(written, key, problems, share=key == "max_missing" or metric_kind == "rate")
        for key in ("min", "max", "max_missing")
        if key in values
    }
    valid = valid and None not in decimals.values()
    if kind == "interval_threshold":
        valid = _check_bounds(written, values, problems) and valid
    if not valid or (metric_kind is None and measurable.complete):
        return None
    values.pop("kind", None)
    rule = ObservedCount if kind == "observed_count" else IntervalThreshold
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
        problems.at(entry.value, problems.codes.wrong_type, f"kind must be a string, found {told(entry.value)}")
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
    if found == "quantile" and kind == "observed_count":
        message = f"observed_count counts failed cases, and {shown(named)} is a quantile"
        problems.at(entry.value, codes.BAD_RULE, message, hint="give it min or max, or name a criterion")
    return found


def _check_bounds(written: Fields, values: Mapping[str, object], problems: Problems) -> bool:
    low, high = values.get("min"), values.get("max")
    if written.entry("min") is None and written.entry("max") is None:
        message = "a rule of kind interval_threshold needs min, max or both"
        problems.at(written, problems.codes.missing_key, message)
        return False
    if isinstance(low, int | float) and isinstance(high, int | float) and low > high:
        problems.at(written, codes.BAD_RULE, f"min {low:g} is above max {high:g}: nothing can pass")
        return False
    return True


def _decimal(written: Fields, key: str, problems: Problems, *, share: bool) -> str | None:
    """The decimal as it was written; None (and a problem) when it is out of range or absurdly long."""
    entry = written.entry(key)
    assert entry is not None
    assert isinstance(entry.value, Scalar)
    number, text = entry.value.value, entry.value.text
    assert isinstance(number, int | float)
    if share and not 0 <= number <= 1:
        hint = f"write {number / 100:g} for {number:g} %" if 1 < number <= 100 else ""
        message = f"{key} must be a share between 0 and 1, found {text}"
        problems.at(entry.value, problems.codes.bad_value, message, hint=hint)
        return None
    return decimal_text(entry.value, problems, what=key)


def decimal_text(node: Scalar, problems: Problems, *, what: str) -> str | None:
    """A number's decimal as written (``0.70``), fit for ``Fraction``; None (and a problem) when it is absurdly long."""
    if isinstance(node.value, int):
        return str(node.value)
    exponent = re.search(r"[eE]([-+]?[0-9]+)$", node.text)
    if len(node.text) > _MAX_EXPONENT or (exponent is not None and abs(int(exponent[1])) > _MAX_EXPONENT):
        problems.at(node, problems.codes.bad_value, f"{what} has too many digits", hint="round it")
        return None
    return node.text
