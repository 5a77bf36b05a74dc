"""A comparison, worded: signed differences, what met which margin, what broke, where it gathers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import assert_never

from msgspec import Struct

from oloproof.model.comparison import Comparison, SlicePairs
from oloproof.model.decision import NoBaseline, PairFinding, PairReason
from oloproof.model.tally import PairTable
from oloproof.reports.figures import NOTHING
from oloproof.reports.inert import inert
from oloproof.reports.points import difference_text, interval_text, lower_points, margin_text, upper_points
from oloproof.stats import paired
from oloproof.stats.multiplicity import adjusted_in_family
from oloproof.stats.rounding import MOST_DIGITS


class PairRow(Struct, frozen=True, kw_only=True):
    """A criterion over all pairs: ``+12.5 pp``, ``[+3.0, +21.9] pp``, ``40 fixed · 20 broken · …``."""

    id: str
    difference: str
    interval: str
    counts: str
    p_value: str
    fixed: tuple[str, ...]
    broken: tuple[str, ...]
    lost: tuple[str, ...]


class SlicePairRow(Struct, frozen=True, kw_only=True):
    """The same over one slice value, with the p-value of "worse here", raw and adjusted over all slices tested."""

    group: str
    id: str
    difference: str
    interval: str
    counts: str
    p_value: str
    p_adjusted: str


class SliceTest(Struct, frozen=True, kw_only=True):
    """One criterion over one slice value. ``p`` is one-sided mid-p against "worse"; ``adjusted`` None: too few pairs
    differ for it ever to matter, so it left the family."""

    pairs: SlicePairs
    index: int
    p: float
    adjusted: float | None

    @property
    def table(self) -> PairTable:
        return self.pairs.tables[self.index]


def table_difference(table: PairTable) -> str:
    """The candidate's rate minus the baseline's over the pairs with both verdicts; a dash where there is none."""
    known = table.n - table.missing
    return difference_text(table.fixed - table.broken, known) if known else NOTHING


def counts_text(table: PairTable) -> str:
    """What became of the pairs."""
    parts = [f"{table.fixed:,} fixed", f"{table.broken:,} broken", f"{table.both_pass + table.both_fail:,} the same"]
    return " · ".join([*parts, f"{table.missing:,} missing", f"{table.excluded:,} excluded"])


def p_text(p: float) -> str:
    """A p-value, never rounded to 0."""
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def pair_rows(comparison: Comparison, *, level: float) -> Iterator[PairRow]:
    """The criteria, in their order."""
    for criterion in comparison.criteria:
        pairs = paired.Pairs(*criterion.table.cells)
        yield PairRow(
            id=inert(criterion.id),
            difference=table_difference(criterion.table),
            interval=interval_text(paired.interval(pairs, level=level)) if pairs.n else NOTHING,
            counts=counts_text(criterion.table),
            p_value=p_text(paired.mcnemar(pairs).mid_p),
            fixed=tuple(map(inert, criterion.fixed_cases)),
            broken=tuple(map(inert, criterion.broken_cases)),
            lost=tuple(map(inert, criterion.lost_cases)),
        )


def slice_tests(comparison: Comparison) -> tuple[SliceTest, ...]:
    """Every criterion over every slice value, tested for "worse here", adjusted over those that could ever matter.

    Benjamini & Hochberg (1995) over the family that Tarone's (1990) rule leaves: a slice whose smallest attainable p
    cannot be significant is not tested, and said so.
    """
    rows = [(group, index) for group in comparison.slices for index in range(len(group.tables))]
    tables = [group.tables[index] for group, index in rows]
    p = [paired.worse_mid_p(paired.Pairs(*table.cells)) for table in tables]
    adjusted = adjusted_in_family(p, [paired.smallest_worse_mid_p(table.fixed + table.broken) for table in tables])
    return tuple(
        SliceTest(pairs=group, index=index, p=value, adjusted=q)
        for (group, index), value, q in zip(rows, p, adjusted, strict=True)
    )


def slice_rows(comparison: Comparison, tests: Sequence[SliceTest], *, level: float) -> Iterator[SlicePairRow]:
    """The slices in which some pair differs, the most suspicious first where ``tests`` says so, else in their order."""
    names = [inert(criterion.id) for criterion in comparison.criteria]
    tables = [paired.Pairs(*test.table.cells) for test in tests]
    bounds = paired.intervals(tables, level=level)
    for test, interval in zip(tests, bounds, strict=True):
        table = test.table
        if not (table.fixed or table.broken or table.missing):
            continue
        yield SlicePairRow(
            group=f"{inert(test.pairs.slice)}={inert(test.pairs.value)}",
            id=names[test.index],
            difference=table_difference(table),
            interval=interval_text(interval),
            counts=counts_text(table),
            p_value=p_text(test.p),
            p_adjusted="not tested" if test.adjusted is None else p_text(test.adjusted),
        )


def pair_reason_in_words(finding: PairFinding | NoBaseline, reason: PairReason) -> str:
    """Why a rule that compares is decided as it is."""
    if isinstance(finding, NoBaseline):
        return "there is no baseline to compare with: `run --baseline BASELINE`"
    bounds = _bounds(finding, reason)
    broken = f"{finding.table.broken:,} newly broken{_confirmed(finding)}, {finding.limit or 0:,} allowed"
    match reason:
        case "difference_above_zero":
            return f"difference {bounds} lies above 0"
        case "difference_not_above_zero":
            return f"difference {bounds} does not rise above 0"
        case "difference_within_margin":
            return f"difference {bounds} stays within {_margin(finding)}"
        case "difference_beyond_margin":
            return f"difference {bounds} lies beyond {_margin(finding)}"
        case "difference_overlaps_margin":
            return f"difference {bounds} does not settle {_margin(finding)}"
        case "new_failures_exceed_limit" | "new_failures_within_limit":
            return broken
        case "missing_could_hide_new_failures":
            hidden = paired.could_be_new(_pairs(finding))
            if finding.confirmation is None or not finding.confirmation.unknown:
                return f"{broken}; pairs with a missing verdict could hide {hidden:,} more"
            return f"{broken}; a missing verdict or re-run could hide {hidden + finding.confirmation.unknown:,} more"
        case "no_baseline":
            return "there is no baseline to compare with"
        case _ as never:
            assert_never(never)


def _bounds(finding: PairFinding, reason: PairReason) -> str:
    """The interval, with the decimals that it takes to see on which side of the margin it lies."""
    bounds = finding.lower, finding.upper
    margin, is_two_sided = Decimal(str(finding.margin or 0)) * 100, finding.kind == "equivalence"

    def is_seen(digits: int) -> bool:
        lower, upper = Decimal(lower_points(bounds[0], digits=digits)), Decimal(upper_points(bounds[1], digits=digits))
        match reason:
            case "difference_above_zero":
                return lower > 0
            case "difference_within_margin":
                return lower >= -margin and (upper <= margin or not is_two_sided)
            case "difference_beyond_margin":
                return upper < -margin or (lower > margin and is_two_sided)
            case _:
                return True

    return interval_text(bounds, digits=next(filter(is_seen, range(1, MOST_DIGITS + 1)), 1))


def _confirmed(finding: PairFinding) -> str:
    """`` (1 confirmed, 4 passed 3 more times)``."""
    found = finding.confirmation
    if found is None or not found.broken:
        return ""
    if not found.rerun:
        return " and not run again, as `run --baseline` does"
    often = "once more" if found.times == 1 else f"{found.times:,} more times"
    unknown = f", {found.unknown:,} with a re-run missing" if found.unknown else ""
    return f" ({found.persisted:,} confirmed, {found.cleared:,} passed {often}{unknown})"


def _margin(finding: PairFinding) -> str:
    if finding.margin is None:
        return "whether it lies above 0"
    return margin_text(finding.margin, two_sided=finding.kind == "equivalence")


def _pairs(finding: PairFinding) -> paired.Pairs:
    return paired.Pairs(*finding.table.cells)
