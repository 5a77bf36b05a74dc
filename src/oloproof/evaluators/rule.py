"""A sentence about the calls of a run: ``agent_rule``."""

from __future__ import annotations

import hashlib
import re
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta

from oloproof.evaluators.base import UNNAMED_AGENTS, ConfigError, Name, TrajectoryEvaluator, excerpt
from oloproof.model.evidence import Evidence
from oloproof.model.judgment import Judgment
from oloproof.model.reading import Reading

if TYPE_CHECKING:
    from oloproof.evaluators.temporal.rule import Rule

LONGEST_NAME: Final = 80
_SIGNS: Final = {"!=": " ne ", "<=": " le ", ">=": " ge ", "=": " is ", "<": " lt ", ">": " gt "}


class AgentRule(TrajectoryEvaluator, frozen=True, kw_only=True, dict=True, tag_field="type", tag="agent_rule"):
    """The sentence ``rule`` holds of the run: ``lookup_order before issue_refund``, ``never delete_customer``.

    It is about the tool calls in recorded order; messages and results are no calls. A truncated record passes once the
    rule holds however the run goes on, and fails once it is broken however it goes on. What was not recorded may be
    anything: where the rule depends on it, it is missing (``arguments_not_recorded``, ``errors_not_recorded``), and a
    rule that names agents is missing of a record that does not (``unnamed_agents``). Default criterion:
    ``agent_rule_`` and the words of the rule.
    """

    rule: Annotated[Name, Meta(description="The sentence: lookup_order before issue_refund.")]

    def __post_init__(self) -> None:
        _ = self.compiled
        TrajectoryEvaluator.__post_init__(self)

    @cached_property
    def compiled(self) -> Rule:
        """The rule as it is run. ConfigError where the text is none, or says nothing."""
        from oloproof.evaluators.temporal.errors import RuleError
        from oloproof.evaluators.temporal.rule import Rule  # imported late: a parser, and most suites have no rule

        try:
            return Rule(self.rule)
        except RuleError as error:
            lines = [error.message, error.excerpt, *filter(None, [error.hint])]
            raise ConfigError("rule", "\n".join(lines), code=error.code, position=error.position) from None

    @cached_property
    def passed(self) -> Judgment:
        """The verdict on most records."""
        return Judgment("pass", None, (), self.rule)

    def default_criterion(self) -> str:
        return f"agent_rule_{_name_of(self.rule)}"

    @property
    def reads_results(self) -> bool:
        return self.compiled.reads_results

    def tools_named(self) -> tuple[str, ...]:
        return self.compiled.tools

    def fired(self, reading: Reading) -> bool:
        """Whether the record gave the rule something to say: what it waits for occurred, if it waits for anything."""
        return self.compiled.fired(reading)

    @property
    def waits(self) -> bool:
        """Whether there are runs of which the rule says nothing."""
        return self.compiled.waits

    @property
    def trigger(self) -> str:
        """What the rule waits for, in words."""
        return self.compiled.trigger

    def judge_reading(self, reading: Reading, evidence: Evidence) -> Judgment:
        rule = self.compiled
        if rule.names_agents and not reading.agents_named:
            return UNNAMED_AGENTS
        found = rule.watch(reading)
        if found.fate == "open":
            return Judgment("missing", found.reason, (), self.rule)
        if found.fate == "pass" and found.position is None:
            return self.passed
        steps = () if found.position is None else (reading.calls[found.position].index,)
        if found.fate == "pass":
            return Judgment("pass", None, steps, self.rule)
        blame = rule.blame(reading, found.position)
        if blame is None:
            return Judgment("fail", None, steps, self.rule)
        blamed = tuple([reading.calls[at].index for at in sorted(set(blame.positions))])
        return Judgment("fail", None, blamed or steps, self.rule, excerpt(blame.found))


def _name_of(text: str) -> str:
    """The words of a rule as one word. Long ones end in a digest of the rest."""
    for sign, words in _SIGNS.items():
        text = text.replace(sign, words)
    name = re.sub(r"\W+", "_", text).strip("_")
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[:LONGEST_NAME]}_{hashlib.sha256(text.encode()).hexdigest()[:6]}"
