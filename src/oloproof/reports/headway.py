"""How far a run has come, in words: one line where lines are kept, several where they are drawn over each other."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from oloproof.model.headway import Headway, RuleSoFar
from oloproof.reports.figures import time_text
from oloproof.reports.inert import inert

MOST_RULES = 8
"""Rules that are shown; whoever has more sees those that failed and those that are open first."""

_ORDER = {"FAIL": 0, None: 1, "MANUAL_REVIEW": 2, "INSUFFICIENT_EVIDENCE": 3, "PASS": 4}


def headway_line(headway: Headway, *, noun: str, elapsed_s: float) -> str:
    """All of it in one line, for a log."""
    parts = [f"{headway.done:,} of {'?' if headway.total is None else f'{headway.total:,}'} {noun}"]
    if headway.finished or headway.in_flight:
        parts.append(counts(headway))
    if left := time_left(headway, elapsed_s=elapsed_s):
        parts.append(left)
    failed = [inert(rule.rule) for rule in headway.rules if rule.state == "FAIL"]
    if failed:
        parts.append(f"FAIL: {', '.join(failed[:MOST_RULES])}{', …' if len(failed) > MOST_RULES else ''}")
    return "; ".join(parts)


def counts(headway: Headway) -> str:
    """What the attempts came to, and how many are going on."""
    words = [f"{headway.passed:,} passed", f"{headway.failed:,} failed", f"{headway.missing:,} missing"]
    words += [f"{headway.excluded:,} excluded"] if headway.excluded else []
    return " · ".join([*words, f"{headway.in_flight:,} in flight"])


def time_left(headway: Headway, *, elapsed_s: float) -> str:
    """About how long the rest takes, "" where that cannot be told or there is no rest."""
    left_s = headway.left_s(elapsed_s)
    return "" if not left_s else f"about {time_text(ceil(left_s))} left"


def rule_lines(headway: Headway) -> Iterator[tuple[str, str, str]]:
    """A rule each: its name, its state so far, and the verdicts that it has. The rest is one line."""
    rules = sorted(headway.rules, key=lambda rule: _ORDER[rule.state])
    width = max((len(inert(rule.rule)) for rule in rules[:MOST_RULES]), default=0)
    for rule in rules[:MOST_RULES]:
        yield inert(rule.rule).ljust(width), rule.state or "open", _verdicts(rule)
    more = len(rules) - MOST_RULES
    if more > 0:
        yield f"… and {more:,} more {'rule' if more == 1 else 'rules'}", "", ""


def _verdicts(rule: RuleSoFar) -> str:
    if not (rule.passed or rule.failed or rule.missing):
        return ""
    missing = f" · {rule.missing:,} missing" if rule.missing else ""
    return f"{rule.passed:,} passed · {rule.failed:,} failed{missing}"
