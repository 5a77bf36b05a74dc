"""A comparison of two runs, drawn: what was fixed and broken and where, as tables and as a document."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN
from fractions import Fraction
from operator import attrgetter
from typing import Any, Literal

from msgspec import to_builtins

from oloproof.model.comparison import Comparison, Migration, QuantilePairs, Rerun
from oloproof.model.judgment import WORDS
from oloproof.model.run import Report
from oloproof.model.tally import Distribution, PairTable, Tally
from oloproof.reports.figures import NO_BOUND, NOTHING, quantity_text
from oloproof.reports.inert import inert
from oloproof.reports.pairs import (
    PairRow,
    SliceTest,
    pair_rows,
    slice_rows,
    slice_tests,
)
from oloproof.reports.points import LEGEND
from oloproof.reports.shapes import Table
from oloproof.stats import paired
from oloproof.stats.quantile import Counted
from oloproof.stats.rounding import percent_of

FORMAT = "oloproof.comparison/v1"
MOST_FLIPS = 20
MOST_ROWS = 50

_SETTLED = 12

Partings = Mapping[str, str]
"""By case id, where the two trajectories part, in words."""


def comparison_tables(report: Report, partings: Partings) -> Iterator[Table]:
    """The tables of a comparison, in the order in which they are read. ``report.comparison`` must be there."""
    comparison, level = _comparison(report), report.run.interval.level
    yield from criteria_tables(comparison, partings, level=level)
    if comparison.quantiles:
        yield Table(
            "quantities",
            ("metric", "baseline", "candidate", "difference", "cases"),
            tuple(_quantile_cells(each, level) for each in comparison.quantiles),
        )
    tests = slice_tests(comparison)
    found = list(slice_rows(comparison, sorted(tests, key=_suspicion), level=level))[:MOST_ROWS]
    if found:
        tested = sum(test.adjusted is not None for test in tests)
        title = f"slices by the {comparison.membership}'s values: {tested:,} of {len(tests):,} tested for worse"
        cells = ((r.group, r.id, r.difference, r.interval, r.counts, r.p_value, r.p_adjusted) for r in found)
        yield Table(title, ("slice", "criterion", "difference", "interval", "pairs", "p", "adjusted"), tuple(cells))
    if comparison.migrations:
        yield Table(
            "cases that moved between slices",
            ("slice", "from", "to", "cases", *(f"{inert(c.id)} before → after" for c in comparison.criteria)),
            tuple(_migration_cells(each) for each in comparison.migrations[:MOST_ROWS]),
        )


def criteria_tables(
    comparison: Comparison, partings: Partings, *, level: float, title: str = "criteria"
) -> Iterator[Table]:
    """How each criterion came out over all pairs, and the cases whose verdict changed."""
    columns = ("criterion", "difference", "interval", "pairs", "mid-p")
    rows = list(pair_rows(comparison, level=level))
    yield Table(
        f"{title} ({LEGEND})", columns, tuple((r.id, r.difference, r.interval, r.counts, r.p_value) for r in rows)
    )
    flips = [flip for row in rows for flip in _flips(row, partings)]
    if flips and partings:
        yield Table("cases that changed", ("criterion", "now", "case", "where the calls part"), tuple(flips))
    elif flips:
        yield Table("cases that changed", ("criterion", "now", "case"), tuple(flip[:3] for flip in flips))


def changes_in_words(comparison: Comparison) -> str:
    """``since the baseline run-1: 3 cases broken, 10 fixed``, a case once for each way in which it changed."""
    counts = [
        (len({case for criterion in comparison.criteria for case in cases(criterion)}), what)
        for what, cases in (
            ("broken", attrgetter("broken_cases")),
            ("fixed", attrgetter("fixed_cases")),
            ("without a verdict that had one", attrgetter("lost_cases")),
        )
    ]
    told = ", ".join(f"{count:,} {what}" for count, what in counts if count)
    return f"since the baseline {inert(comparison.baseline)}: {f'cases: {told}' if told else 'no case changed'}"


def changed_text(case: str, now: Literal["broken", "lost"], partings: Partings) -> str:
    """What became of a case that is worse than in the baseline, inert: "passed in the baseline and fails now"."""
    what = "passed in the baseline and fails" if now == "broken" else "had a verdict in the baseline and has none"
    parting = partings.get(case)
    return f"{what} now" if parting is None else f"{what} now; where the calls part: {inert(parting)}"


def _flips(row: PairRow, partings: Partings) -> Iterator[tuple[str, str, str, str]]:
    """The cases whose verdict changed or is lost, the worst first, and how many more there are."""
    for now, cases in (("broken", row.broken), ("missing, was known", row.lost), ("fixed", row.fixed)):
        for case in cases[:MOST_FLIPS]:
            yield row.id, now, case, inert(partings.get(case, NOTHING))
        if len(cases) > MOST_FLIPS:
            yield row.id, now, f"and {len(cases) - MOST_FLIPS:,} more: --json names them all", NOTHING


def comparison_notes(comparison: Comparison) -> Iterator[str]:
    """What has no pair, or no like, in lines."""
    for what, ids in (
        ("only in the candidate, so without a pair", comparison.only_in_candidate),
        ("only in the baseline, so a missing pair", comparison.only_in_baseline),
        ("changed since, so a missing pair", comparison.changed),
        ("accepted as gone or changed", comparison.accepted),
    ):
        if ids:
            more = f" and {len(ids) - MOST_FLIPS:,} more" if len(ids) > MOST_FLIPS else ""
            yield f"{len(ids):,} {what}: {', '.join(map(inert, ids[:MOST_FLIPS]))}{more}"
    if comparison.trials > 1:
        yield f"each case was tried {comparison.trials:,} times: it passes if every trial does, and fails if one fails"
    for rerun in comparison.reruns[:MOST_FLIPS]:
        yield f"{inert(rerun.case)} was broken and run again: {_reruns(comparison, rerun)}"
    if len(comparison.reruns) > MOST_FLIPS:
        yield f"and {len(comparison.reruns) - MOST_FLIPS:,} more were run again: --json names them all"
    yield from map(inert, comparison.uncompared)


def _reruns(comparison: Comparison, rerun: Rerun) -> str:
    """``right passed 2 of 3 times``."""
    broken = [at for at, each in enumerate(comparison.criteria) if rerun.case in each.broken_cases]
    return ", ".join(
        f"{inert(comparison.criteria[at].id)} passed {sum(codes[at] == 'p' for codes in rerun.codes)}"
        f" of {len(rerun.codes)} times"
        for at in broken
    )


def comparison_document(report: Report, *, decisions: list[dict[str, Any]], gate: dict[str, Any]) -> dict[str, Any]:
    """``oloproof.comparison/v1``, unrounded."""
    comparison, level = _comparison(report), report.run.interval.level
    names = [criterion.id for criterion in comparison.criteria]
    tests = slice_tests(comparison)
    per_group = len(names)
    slices = [
        {
            "slice": group.slice,
            "value": group.value,
            "membership": comparison.membership,
            "support": group.support,
            "criteria": [
                {"id": name, **_figures(test.table, level), "p": test.p, "p_adjusted": test.adjusted}
                for name, test in zip(names, tests[at * per_group : (at + 1) * per_group], strict=True)
            ],
        }
        for at, group in enumerate(comparison.slices)
    ]
    return {
        "format": FORMAT,
        "candidate": {"run": comparison.candidate},
        "baseline": {"run": comparison.baseline},
        **_pairs_document(comparison, level=level),
        "quantiles": [_quantile_document(each, level) for each in comparison.quantiles],
        "slices": slices,
        "slices_tested": sum(test.adjusted is not None for test in tests),
        "migrations": [_migration_document(each, names) for each in comparison.migrations],
        "decisions": decisions,
        "gate": gate,
    }


def baseline_document(comparison: Comparison, *, level: float) -> dict[str, Any]:
    """What a report says of its baseline: the pairs and the criteria of ``oloproof.comparison/v1``."""
    return {"run": comparison.baseline, **_pairs_document(comparison, level=level)}


def _pairs_document(comparison: Comparison, *, level: float) -> dict[str, Any]:
    names = [criterion.id for criterion in comparison.criteria]
    return {
        "pairs": comparison.pairs,
        "only_in_candidate": list(comparison.only_in_candidate),
        "only_in_baseline": list(comparison.only_in_baseline),
        "changed": list(comparison.changed),
        "accepted": list(comparison.accepted),
        "uncompared": list(comparison.uncompared),
        "trials": comparison.trials,
        "reruns": [
            {"case": rerun.case, "verdicts": [_verdicts(names, codes) for codes in rerun.codes]}
            for rerun in comparison.reruns
        ],
        "criteria": [
            {
                "id": criterion.id,
                **_figures(criterion.table, level),
                "p_value": paired.mcnemar(paired.Pairs(*criterion.table.cells)).mid_p,
                "fixed_cases": list(criterion.fixed_cases),
                "broken_cases": list(criterion.broken_cases),
                "lost_cases": list(criterion.lost_cases),
            }
            for criterion in comparison.criteria
        ],
    }


def _verdicts(names: list[str], codes: str) -> dict[str, str]:
    return {name: WORDS[letter] for name, letter in zip(names, codes, strict=True)}


def _comparison(report: Report) -> Comparison:
    if report.comparison is None:
        raise ValueError("the report compares nothing")
    return report.comparison


def _suspicion(test: SliceTest) -> tuple[float, float]:
    return (2.0 if test.adjusted is None else test.adjusted, test.p)


def _figures(table: PairTable, level: float) -> dict[str, Any]:
    pairs = paired.Pairs(*table.cells)
    lower, upper = paired.interval(pairs, level=level)
    return {
        "both_pass": table.both_pass,
        "fixed": table.fixed,
        "broken": table.broken,
        "both_fail": table.both_fail,
        "missing_pairs": table.missing,
        "excluded_pairs": table.excluded,
        "difference": table.difference,
        "lower": lower if pairs.n else None,
        "upper": upper if pairs.n else None,
        "method": "tango",
    }


def _sample(values: Distribution) -> paired.Sample:
    return paired.Sample(Counted(values.observed), Counted(values.floors))


def _difference(quantile: QuantilePairs, level: float) -> paired.QuantileDifference:
    q = Fraction(quantile.metric.quantile)
    return paired.quantile_difference(_sample(quantile.candidate), _sample(quantile.baseline), q=q, level=level)


def _quantile_cells(quantile: QuantilePairs, level: float) -> tuple[str, ...]:
    found = _difference(quantile, level)
    unit = quantile.metric.unit
    moved = f"{quantile.grew:,} grew · {quantile.shrank:,} shrank"
    return (
        inert(quantile.metric.id),
        _number(found.baseline.estimate, rounding=ROUND_HALF_EVEN),
        _number(found.candidate.estimate, rounding=ROUND_HALF_EVEN),
        f"[{_bound(found.lower, rounding=ROUND_FLOOR)}, {_bound(found.upper, rounding=ROUND_CEILING)}] {unit}",
        f"{moved} · {quantile.stayed:,} stayed · {quantile.unsettled:,} not known",
    )


def _quantile_document(quantile: QuantilePairs, level: float) -> dict[str, Any]:
    found = _difference(quantile, level)
    return {
        "id": quantile.metric.id,
        "unit": quantile.metric.unit,
        "candidate": found.candidate.estimate,
        "baseline": found.baseline.estimate,
        "lower": found.lower,
        "upper": found.upper,
        "grew": quantile.grew,
        "shrank": quantile.shrank,
        "stayed": quantile.stayed,
        "unsettled": quantile.unsettled,
    }


def _number(value: float | None, *, rounding: str) -> str:
    return NOTHING if value is None else quantity_text(value, rounding=rounding)


def _bound(difference: float | None, *, rounding: str) -> str:
    """A difference of two doubles, 0.3 − 0.1 for one, is settled before it is rounded outward: it lies beside its own
    digits."""
    if difference is None:
        return NO_BOUND
    settled = float(f"{difference:.{_SETTLED}g}") if math.isfinite(difference) else difference
    return quantity_text(round(settled, _SETTLED), rounding=rounding)


def pairs_text(report: Report) -> str:
    """``40 cases of the baseline; intervals by Tango's score, 95%``, and at what else the rules are decided."""
    pairs = f"{_comparison(report).pairs:,} cases of the baseline"
    return f"{pairs}; {pair_intervals_text(report)}"


def pair_intervals_text(report: Report) -> str:
    """By what the intervals of differences are, and the rules on them where that is at another level."""
    shown, policy = report.run.interval.level, report.policy
    decided = shown if policy is None or not policy.pair_rules else policy.confidence_level
    rules = "" if decided == shown else f"; rules on pairs are decided at {percent_of(decided)}%"
    return f"intervals by Tango's score, {percent_of(shown)}%{rules}"


def _migration_cells(migration: Migration) -> tuple[str, ...]:
    moves = (
        f"{_rate(before)} → {_rate(after)}" for before, after in zip(migration.before, migration.after, strict=True)
    )
    return (inert(migration.slice), inert(migration.origin), inert(migration.target), f"{migration.cases:,}", *moves)


def _rate(tally: Tally) -> str:
    return f"{tally.passed:,} / {tally.observed:,}" if tally.observed else NOTHING


def _migration_document(migration: Migration, names: list[str]) -> dict[str, Any]:
    return {
        "slice": migration.slice,
        "from": migration.origin,
        "to": migration.target,
        "cases": migration.cases,
        "before": {name: to_builtins(tally) for name, tally in zip(names, migration.before, strict=True)},
        "after": {name: to_builtins(tally) for name, tally in zip(names, migration.after, strict=True)},
    }
