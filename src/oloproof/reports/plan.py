"""A plan, drawn: what each rule could settle and how likely, as tables and as a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, assert_never

from msgspec import Struct

from oloproof.errors import counted
from oloproof.model.plan import (
    AnyPlan,
    Chances,
    CountedPlan,
    CountedRow,
    CountPlan,
    GateFlips,
    Needed,
    PairPlan,
    PairRow,
    QuantilePlan,
    RatePlan,
    SuitePlan,
)
from oloproof.model.run import Report
from oloproof.reports.figures import NOTHING
from oloproof.reports.inert import inert
from oloproof.reports.points import assumed_text
from oloproof.reports.settling import Settling, settling_document, settling_in_words, settling_of
from oloproof.reports.shapes import Table
from oloproof.reports.words import proven, subject
from oloproof.stats.rounding import percent_near, percent_of

FORMAT = "oloproof.plan/v1"

PEEKING = (
    "these numbers are for a fresh run: to add cases to this one because of what it showed, and to look again, is"
    " peeking, and errs more often than the level says"
)
ALIKE = "every case is taken to pass with the same chance; where each always does the same, verdicts flip less"
_BEYOND = "> 20,000"

_ALIKE = 1e-9
"""Curtailment changes no verdict, but the rounding of a sum."""


class Block(Struct, frozen=True):
    """Lines, and a table below them; None where there is none."""

    lines: tuple[str, ...]
    table: Table | None = None


def plan_blocks(plan: SuitePlan, report: Report | None) -> Iterator[Block]:
    """The plan in the order in which it is read. ``report`` is that of the run whose figures were taken for true."""
    level, flips = f"{percent_of(plan.level)}%", plan.gate is not None
    origin = "before any run" if plan.run is None else f"as run {inert(plan.run)} was observed"
    yield Block(
        (f"{inert(plan.project)}: {counted(plan.cases, 'case')}, {origin}; rules decide by {plan.method}, {level}",)
    )
    settling = {} if report is None else _settling_words(report)
    for rule in plan.rules:
        yield _rule_block(rule, level=plan.level, flips=flips, settling=settling.get(rule.rule, ""))
    if plan.gate is not None:
        columns = ("assumed", "a run is let through", "two runs differ")
        rows = tuple((inert(row.scenario), _between(row.allow), _between(row.flips)) for row in plan.gate)
        yield Block((), Table("the whole gate, of a system that does not change", columns, rows))
    yield Block((ALIKE, *((PEEKING,) if any(settling.values()) else ())))


def plan_document(plan: SuitePlan, report: Report | None) -> dict[str, Any]:
    """``oloproof.plan/v1``, unrounded."""
    numbers = {} if report is None else _settling_numbers(report)
    document: dict[str, Any] = {
        "format": FORMAT,
        "project": plan.project,
        "run": plan.run,
        "cases": plan.cases,
        "interval": {"method": plan.method, "level": plan.level},
        "rules": [_rule_document(rule, numbers.get(rule.rule)) for rule in plan.rules],
    }
    if plan.gate is not None:
        document["gate"] = [_gate_document(row) for row in plan.gate]
    return document


def chance_text(chance: float) -> str:
    """A probability to a tenth of a percent, 0 and 100 only where it is that."""
    if chance <= 0 or chance >= 1:
        return "0%" if chance <= 0 else "100%"
    return "< 0.1%" if chance < 0.001 else "> 99.9%" if chance > 0.999 else f"{chance:.1%}"


def _settling_words(report: Report) -> dict[str, str]:
    return {each.rule: settling_in_words(subject(report, each)) for each in report.decisions}


def _settling_numbers(report: Report) -> dict[str, Settling | None]:
    return {each.rule: settling_of(subject(report, each)) for each in report.decisions}


def _rule_block(rule: AnyPlan, *, level: float, flips: bool, settling: str) -> Block:
    lines = [f"{inert(rule.rule)}: {rule.outlook}"]
    match rule:
        case RatePlan(advice=advice) if advice:
            lines.append(advice)
        case CountPlan() if rule.n:
            lines.append(f"what a PASS without a failure proves: {proven(rule.n, level=level)}")
        case PairPlan(agreeing_needs=int() as needed):
            lines.append(f"if the runs agree on all pairs, a PASS takes {needed:,} of them")
        case _:
            pass
    if settling:
        lines.append(settling)
    table = _pair_table(rule, flips=flips) if isinstance(rule, PairPlan) else _counted_table(rule, flips=flips)
    return Block(tuple(lines), table)


def _counted_table(rule: CountedPlan, *, flips: bool) -> Table | None:
    if not rule.rows:
        return None
    truth = "in truth pass" if not isinstance(rule, QuantilePlan) else "in truth keep to the bound"
    powers = [needed.chance for needed in next((row.needed for row in rule.rows if row.needed), ())]
    early = ["stopping early"] if any(row.early for row in rule.rows) else []
    columns = ["assumed", truth, *_verdicts(flips=flips), *(f"cases for {power:.0%}" for power in powers), *early]
    rows = []
    for row in rule.rows:
        needed = [_needed_text(each) for each in row.needed] or [NOTHING] * len(powers)
        stopped = [_early_text(row)] if early else []
        rows.append((inert(row.scenario), _share(row.truth), *_chances(row.chances, flips=flips), *needed, *stopped))
    return Table(f"{inert(rule.rule)} at {counted(rule.n, 'case')}", tuple(columns), tuple(rows))


def _pair_table(rule: PairPlan, *, flips: bool) -> Table | None:
    if not rule.rows:
        return None
    powers = [chance for chance, _ in rule.rows[0].needed]
    columns = ["assumed", "pairs that differ", "difference", *_verdicts(flips=flips)]
    columns += [f"pairs for {power:.0%}" for power in powers]
    rows = []
    for row in rule.rows:
        needed = [NOTHING if pairs is None else f"about {pairs:,}" for _, pairs in row.needed]
        truth = (_share(row.discordant), assumed_text(row.difference))
        rows.append((inert(row.scenario), *truth, *_chances(row.chances, flips=flips), *needed))
    return Table(f"{inert(rule.rule)} at {counted(rule.n, 'pair')}", tuple(columns), tuple(rows))


def _verdicts(*, flips: bool) -> tuple[str, ...]:
    return ("PASS", "FAIL", "undecided", *(("flips",) if flips else ()))


def _chances(chances: Chances, *, flips: bool) -> tuple[str, ...]:
    verdicts = [chances.passes, chances.fails, chances.undecided]
    sure = sum(chance > 0 for chance in verdicts) == 1  # else a 1 is a sum rounded
    texts = ["> 99.9%" if chance >= 1 and not sure else chance_text(chance) for chance in verdicts]
    return (*texts, *((chance_text(chances.flips),) if flips else ()))


def _share(share: Fraction | float) -> str:
    return f"{percent_near(share)}%"


def _needed_text(needed: Needed) -> str:
    """``217, stable from 254``."""
    if needed.first is None:
        return _BEYOND
    if needed.first == needed.stable:
        return f"{needed.first:,}"
    return f"{needed.first:,}, stable from {_BEYOND if needed.stable is None else f'{needed.stable:,}'}"


def _early_text(row: CountedRow) -> str:
    """``165 cases; PASS 98.4%, FAIL < 0.1%``: the verdicts where they are not those of the full run."""
    early = row.early
    if early is None:
        return NOTHING
    cases = f"{round(early.cases):,} cases"
    same = abs(early.passes - row.chances.passes) < _ALIKE and abs(early.fails - row.chances.fails) < _ALIKE
    return cases if same else f"{cases}; PASS {chance_text(early.passes)}, FAIL {chance_text(early.fails)}"


def _between(bounds: tuple[float, float]) -> str:
    low, high = map(chance_text, bounds)
    return low if low == high else f"{low} to {high}"


def _rule_document(rule: AnyPlan, settling: Settling | None) -> dict[str, Any]:
    document: dict[str, Any] = {"rule": rule.rule, "metric": rule.metric, "kind": rule.kind, "cases": rule.n}
    document["outlook"] = rule.outlook
    if isinstance(rule, CountedPlan):
        document |= {"pass_from": rule.pass_from, "pass_to": rule.pass_to}
        document |= {"fail_to": rule.fail_to, "fail_from": rule.fail_from, "may_be_missing": rule.may_be_missing}
    match rule:
        case RatePlan():
            document |= {"false_pass": rule.false_pass, "false_fail": rule.false_fail, "nominal": rule.nominal}
            document["advice"] = rule.advice or None
        case CountPlan():
            document["proves"] = rule.proves
        case QuantilePlan():
            document["bound_needs"] = rule.bound_needs
        case PairPlan():
            document["agreeing_needs"] = rule.agreeing_needs
        case _ as never:
            assert_never(never)
    document["truths"] = list(_row_documents(rule.rows))
    document["settling"] = None if settling is None else settling_document(settling)
    return document


def _row_documents(rows: Iterable[CountedRow | PairRow]) -> Iterator[dict[str, Any]]:
    for row in rows:
        found = row.chances
        chances = {"pass": found.passes, "fail": found.fails, "undecided": found.undecided, "flips": found.flips}
        match row:
            case CountedRow():
                needed = [{"chance": each.chance, "first": each.first, "stable": each.stable} for each in row.needed]
                known = {"assumed": row.scenario, "truth": float(row.truth), **chances, "needed": needed}
                if row.early is not None:
                    early = row.early
                    known["stopping_early"] = {"pass": early.passes, "fail": early.fails, "cases": early.cases}
                yield known
            case PairRow():
                pairs = [{"chance": chance, "pairs": count} for chance, count in row.needed]
                truth = {"discordant": row.discordant, "difference": row.difference}
                yield {"assumed": row.scenario, **truth, **chances, "needed": pairs}
            case _ as never:
                assert_never(never)


def _gate_document(row: GateFlips) -> dict[str, Any]:
    return {"assumed": row.scenario, "allow": list(row.allow), "flips": list(row.flips)}
