"""``early_stopping:`` of the policy, checked against its rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from oloproof.errors import did_you_mean, shown
from oloproof.model.decision import IntervalThreshold, Rule
from oloproof.model.stopping import EarlyStopping
from oloproof.project import codes, shape
from oloproof.project.nodes import Fields, Items, Node
from oloproof.project.problems import Problems
from oloproof.project.spec import EarlyStoppingSection


def read_early_stopping(
    node: Node, rules: Mapping[str, Rule] | None, problems: Problems, kinds: Mapping[str, str]
) -> EarlyStopping | None:
    """What the mapping says; None when it has problems, which are noted. ``rules`` are the policy's, by id, None where
    some could not be read and nothing can be said about them; ``kinds`` those of the metrics, by name."""
    section = shape.struct(node, EarlyStoppingSection, problems, what="early_stopping")
    if section is None:
        return None
    before = len(problems.found)
    named = node.entry("rules") if isinstance(node, Fields) else None
    if section.method == "hybrid" and not section.rules:
        hint = "rules: [answer-floor]"
        problems.at(node, problems.codes.missing_key, "hybrid needs the rules that evidence may settle", hint=hint)
    if section.method == "curtailment" and named is not None:
        message = "curtailment takes no rules: each of them is settled once it is certain"
        problems.at(named.value, codes.CONFLICTING_KEYS, message, hint="leave rules out, or write method: hybrid")
    elif rules is not None and named is not None and isinstance(named.value, Items):
        for item, name in zip(named.value.items, section.rules, strict=True):
            for message, hint in _wrong_with(name, rules, kinds):
                problems.at(item, codes.BAD_RULE, message, hint=hint)
    if len(problems.found) > before:
        return None
    return EarlyStopping(method=section.method, rules=section.rules)


def _wrong_with(name: str, rules: Mapping[str, Rule], kinds: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Why evidence cannot settle this rule: it is about one bound of a pass rate."""
    rule = rules.get(name)
    if rule is None:
        yield f"early_stopping names no rule {shown(name)}", did_you_mean(name, rules, otherwise="the rules are")
    elif not isinstance(rule, IntervalThreshold) or kinds.get(rule.metric, "rate") != "rate":
        hint = "name a rule of kind interval_threshold on a criterion; the others are settled once they are certain"
        yield f"evidence cannot settle {shown(name)}, which is no bound of a pass rate", hint
    elif rule.min is not None and rule.max is not None:
        yield f"evidence settles one bound, and {shown(name)} has two", "write two rules, one with min and one with max"
