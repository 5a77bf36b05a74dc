"""Every way in which a policy asks for less than another version of it did.

What is told is whatever lets something pass now that did not pass before, rule by rule; whether other changes make up
for it is for a person to say. A rule is the same rule if it has the same id, or, where none has, if nothing but its id
differs.

Where an undecided rule blocks nothing, asking for more evidence is a relaxation too: what was a FAIL is undecided then.
So is asking for anything else of a rule that waits for a person, and would have blocked until then. And one rule that
passes is enough where others are undecided, or wait and do not block, so that a new rule is a new way to pass there.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from oloproof.errors import counted
from oloproof.gates.exit import blocks
from oloproof.model.decision import (
    Equivalence,
    IntervalThreshold,
    MaxNewFailures,
    NonInferiority,
    ObservedCount,
    Policy,
    Rule,
    State,
    kind_of,
)

_STATES: tuple[State, ...] = ("FAIL", "INSUFFICIENT_EVIDENCE", "MANUAL_REVIEW")
_MOST_CASES = 10


class Relaxation(Struct, frozen=True, kw_only=True):
    """One thing that is asked for less strictly, or no more.

    ``rule`` is None where it is about the whole policy. ``key`` is what the policy writes it with, None where it is
    about the whole rule. ``now`` and ``was`` are how it stands in either version. ``gone``: it stands in the base only.
    """

    rule: str | None
    key: str | None
    now: str
    was: str
    gone: bool = False


def relaxations(policy: Policy | None, base: Policy) -> tuple[Relaxation, ...]:
    """What ``policy`` (None: there is none any more) asks for less than ``base`` did: first what is about every rule,
    then rule by rule in the base's order."""
    if policy is None:
        count = len(base.rules)
        was = counted(count, "rule")
        return (Relaxation(rule=None, key=None, now="no policy", was=f"with {was}", gone=True),)
    return (*_of_policy(policy, base), *_of_rules(policy, base))


def _of_policy(policy: Policy, base: Policy) -> Iterator[Relaxation]:
    level, level_was = policy.confidence_level, base.confidence_level
    if level < level_was or (level > level_was and _lets_undecided_pass(policy)):
        yield Relaxation(rule=None, key="confidence_level", now=str(level), was=str(level_was))
    if policy.interval_method != base.interval_method:  # each is the wider one somewhere: 72 of 72 at 0.95 pass exactly
        yield Relaxation(rule=None, key="interval_method", now=policy.interval_method, was=base.interval_method)
    reviewed = any(rule.requires_manual_review for rule in (*policy.rules, *base.rules))
    for state in _STATES:
        if blocks(state, base) and not blocks(state, policy) and (reviewed or state != "MANUAL_REVIEW"):
            now = f"{state} {'is a warning' if state in policy.warn_on else 'does not block'}"
            yield Relaxation(rule=None, key="block_on", now=now, was="it blocked")
    accepted = [case for case in policy.accept_changed_cases if case not in base.accept_changed_cases]
    if accepted:
        more = f" and {len(accepted) - _MOST_CASES:,} more" if len(accepted) > _MOST_CASES else ""
        now = f"it accepts {', '.join(map(repr, accepted[:_MOST_CASES]))}{more}"
        yield Relaxation(rule=None, key="accept_changed_cases", now=now, was="it did not")
    evident, evident_was = ([] if each.early_stopping is None else each.early_stopping.rules for each in (policy, base))
    for rule in (rule for rule in evident if rule not in evident_was):
        now = f"evidence may settle {rule!r} before all cases ran"
        yield Relaxation(rule=None, key="early_stopping", now=now, was="it could not")
    for rule in (rule.id for rule in policy.rules if rule.id in evident_was and rule.id not in evident):
        now = f"all cases settle {rule!r} at the whole confidence_level"
        yield Relaxation(rule=None, key="early_stopping", now=now, was="a part of it was set aside for evidence")


def _lets_undecided_pass(policy: Policy) -> bool:
    return not blocks("INSUFFICIENT_EVIDENCE", policy)


def _of_rules(policy: Policy, base: Policy) -> Iterator[Relaxation]:
    rules = {rule.id: rule for rule in policy.rules}
    undecided = _lets_undecided_pass(policy)
    for was in base.rules:
        now = rules.get(was.id)
        if now is not None:
            less = tuple(_of_rule(now, was))
            yield from less
            if undecided and was.requires_manual_review and blocks("MANUAL_REVIEW", base):
                yield from _of_review(now, was, {each.key for each in less})
            elif undecided and not isinstance(now, ObservedCount | MaxNewFailures):  # these fail on whatever there is
                yield from _of_evidence(now, was)
        elif not any(replace(rule, id=was.id) == was for rule in policy.rules):
            yield Relaxation(rule=was.id, key=None, now="no such rule", was=f"of kind {kind_of(was)}", gone=True)
    ids = {rule.id for rule in base.rules}
    waiting = not blocks("MANUAL_REVIEW", policy) and any(rule.requires_manual_review for rule in base.rules)
    for new in policy.rules if undecided or waiting else ():
        if new.id not in ids and not any(replace(new, id=was.id) == was for was in base.rules):
            others = "are undecided" if undecided else "wait for a review"
            now_text, was_text = f"a PASS of it alone is enough where the others {others}", "there was no such rule"
            yield Relaxation(rule=new.id, key=None, now=now_text, was=was_text)


def _of_review(now: Rule, was: Rule, told: set[str | None]) -> Iterator[Relaxation]:
    """Whatever else of a rule that waits for a person is another now: it may be undecided then, and wait no more."""
    if type(now) is not type(was):
        return
    for key in now.__struct_fields__:
        value, before = getattr(now, key), getattr(was, key)
        if key not in told and value != before and key != "id":
            yield Relaxation(rule=now.id, key=key, now=_said(value), was=_said(before))


def _of_evidence(now: Rule, was: Rule) -> Iterator[Relaxation]:
    """What a rule asks for more before it may fail."""
    if now.min_cases > was.min_cases:
        yield Relaxation(rule=now.id, key="min_cases", now=str(now.min_cases), was=str(was.min_cases))
    if now.max_missing is not None and (
        was.max_missing is None or Fraction(now.max_missing) < Fraction(was.max_missing)
    ):
        yield Relaxation(rule=now.id, key="max_missing", now=now.max_missing, was=_said(was.max_missing))


def _of_rule(now: Rule, was: Rule) -> Iterator[Relaxation]:
    """What a rule asks for less; of one that decides in another way, that it does."""
    if now.metric != was.metric:
        yield Relaxation(rule=now.id, key="metric", now=now.metric, was=was.metric)
    if type(now) is not type(was):
        yield Relaxation(rule=now.id, key="kind", now=kind_of(now), was=kind_of(was))
    else:
        yield from _of_bounds(now, was)
    if now.min_cases < was.min_cases:
        yield Relaxation(rule=now.id, key="min_cases", now=str(now.min_cases), was=str(was.min_cases))
    yield from _at_most(now.id, "max_missing", now.max_missing, was.max_missing)
    if was.requires_manual_review and not now.requires_manual_review:
        yield Relaxation(rule=now.id, key="requires_manual_review", now="false", was="true")


def _of_bounds(now: Rule, was: Rule) -> Iterator[Relaxation]:
    match now, was:
        case IntervalThreshold(), IntervalThreshold():
            if was.min is not None and (now.min is None or Fraction(now.min) < Fraction(was.min)):
                yield Relaxation(rule=now.id, key="min", now=_said(now.min), was=was.min)
            yield from _at_most(now.id, "max", now.max, was.max)
        case ObservedCount(), ObservedCount():
            yield from _at_most(now.id, "max_failures", str(now.max_failures), str(was.max_failures))
        case NonInferiority() | Equivalence(), NonInferiority() | Equivalence():
            yield from _at_most(now.id, "margin", now.margin, was.margin)
        case MaxNewFailures(), MaxNewFailures():
            yield from _at_most(now.id, "max_new_failures", str(now.max_new_failures), str(was.max_new_failures))
            # To be run again is a second chance, and the fewer times, the better a chance.
            if now.confirm and (not was.confirm or now.confirm < was.confirm):
                yield Relaxation(rule=now.id, key="confirm", now=str(now.confirm), was=str(was.confirm or "none"))
        case _:
            return


def _at_most(rule: str, key: str, now: str | None, was: str | None) -> Iterator[Relaxation]:
    """A limit that is higher, or there no more."""
    if was is not None and (now is None or Fraction(now) > Fraction(was)):
        yield Relaxation(rule=rule, key=key, now=_said(now), was=was)


def _said(value: str | float | None) -> str:
    return "none" if value is None else str(value)
