"""Two runs, pair by pair: what was fixed and what was broken, overall and by slice, and which cases moved.

A case of the baseline always counts. Where the candidate lacks it its verdict there is missing; where its input or its
reference changed the two verdicts answer different questions, and both are missing. So a change cannot hide the case
that it breaks by deleting it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, assert_never

from oloproof.metrics.grid import Codes, Grid, Group
from oloproof.metrics.quantities import distribution
from oloproof.model.comparison import (
    Comparison,
    CriterionPairs,
    Membership,
    Migration,
    QuantilePairs,
    Side,
    Sides,
    SlicePairs,
)
from oloproof.model.slice_values import UNPLACED
from oloproof.model.tally import Amount, AtLeast, Tally


def compare(
    candidate: Sides, baseline: Sides, *, membership: Membership = "candidate", accepted: Collection[str] = ()
) -> Comparison:
    """Pair the runs by case id and count.

    Criteria, slices and quantiles that only one of them has are ``uncompared``, and so are criteria that were judged
    otherwise (:func:`comparable`). ``accepted`` are ids of cases that may be gone or changed: they count in no pair
    then; where a criterion applies in one run only, in none of that criterion.
    """
    criteria = comparable(dict(_judged(candidate)), baseline)
    pick_new, pick_old = _picker(candidate.criteria, criteria), _picker(baseline.criteria, criteria)
    now = {side.case_id: side for side in candidate.cases}
    gone, changed, waved = [], [], []
    pairs: list[tuple[Side | None, Side, Codes]] = []
    for old in baseline.cases:
        new = now.get(old.case_id)
        other = new is not None and (new.question, new.reference) != (old.question, old.reference)
        if (new is None or other) and old.case_id in accepted:
            waved.append(old.case_id)
            continue
        was = pick_old(old.codes)
        if new is None:
            gone.append(old.case_id)
            codes = (was.translate(_MISSING), was)
        elif other:
            changed.append(old.case_id)
            codes = (_both_missing(pick_new(new.codes), was),) * 2
        else:
            codes = (pick_new(new.codes), was)
            if old.case_id in accepted and codes != (codes := _where_both_apply(codes)):
                waved.append(old.case_id)
        pairs.append((new, old, codes))
    known = {side.case_id for side in baseline.cases}
    grid = Grid([codes for _, _, codes in pairs], criteria=len(criteria))
    shared = _shared_slices(candidate, baseline, pairs)
    return Comparison(
        candidate=candidate.run,
        baseline=baseline.run,
        pairs=len(pairs),
        only_in_candidate=tuple(side.case_id for side in candidate.cases if side.case_id not in known),
        only_in_baseline=tuple(gone),
        changed=tuple(changed),
        accepted=tuple(waved),
        uncompared=_uncompared(candidate, baseline),
        membership=membership,
        criteria=_criteria(criteria, grid, [old.case_id for _, old, _ in pairs]),
        quantiles=_quantiles(candidate, baseline, pairs),
        slices=_slices(shared, grid, membership),
        trials=candidate.trials,
        migrations=_migrations(shared, pairs, len(criteria)),
        rejudged=_rejudged(candidate, baseline, criteria),
    )


def comparable(judged: Mapping[str, str], baseline: Sides) -> tuple[str, ...]:
    """The criteria of a run, each with what identifies by what it was judged, that ask in both runs the same: of the
    same name, and judged by the same as far as both say it."""
    was = dict(_judged(baseline))
    return tuple(name for name, by in judged.items() if name in was and (by == was[name] or not by or not was[name]))


def _rejudged(candidate: Sides, baseline: Sides, criteria: Collection[str]) -> tuple[str, ...]:
    """What functions judge whose code is another one, as far as both runs say of what they were made."""
    if not (candidate.judging_code and baseline.judging_code) or candidate.judging_code == baseline.judging_code:
        return ()
    return tuple(name for name in candidate.by_functions if name in criteria)


def _judged(sides: Sides) -> Iterable[tuple[str, str]]:
    return zip(sides.criteria, sides.judged_by or ("",) * len(sides.criteria), strict=True)


_MISSING = str.maketrans("pf", "mm")

Pairs = Sequence[tuple[Side | None, Side, Codes]]


def _picker(have: Sequence[str], want: Sequence[str]) -> Callable[[str], str]:
    """Takes the letters of the wanted criteria out of a run's codes."""
    if tuple(have) == tuple(want):
        return lambda codes: codes
    places = [have.index(name) for name in want]
    return lambda codes: "".join([codes[place] for place in places])


def _both_missing(one: str, other: str) -> str:
    """Both verdicts missing, but where the criterion applied to neither."""
    return "".join(["x" if pair == ("x", "x") else "m" for pair in zip(one, other, strict=True)])


def _where_both_apply(codes: Codes) -> Codes:
    """The letters of a pair without those of criteria that apply on one side only."""
    both = [("x", "x") if "x" in letters else letters for letters in zip(*codes, strict=True)]
    now, was = ("".join([letters[side] for letters in both]) for side in (0, 1))
    return now, was


def _criteria(names: Sequence[str], grid: Grid, ids: Sequence[str]) -> tuple[CriterionPairs, ...]:
    return tuple(
        CriterionPairs(
            name,
            table,
            fixed_cases=grid.chosen(ids, at, "fixed"),
            broken_cases=grid.chosen(ids, at, "broken"),
            lost_cases=(*grid.chosen(ids, at, "was_pass"), *grid.chosen(ids, at, "was_fail")),
        )
        for at, (name, table) in enumerate(zip(names, grid.tables(), strict=True))
    )


def _uncompared(candidate: Sides, baseline: Sides) -> tuple[str, ...]:
    """What only one of the runs knows, in words."""
    names = []
    for what, new, old in (
        ("criterion", candidate.criteria, baseline.criteria),
        ("slice", candidate.slices, baseline.slices),
        ("metric", [each.id for each in candidate.quantiles], [each.id for each in baseline.quantiles]),
    ):
        names += [f"{what} '{name}' is new" for name in new if name not in old]
        names += [f"{what} '{name}' is gone" for name in old if name not in new]
    same = comparable(dict(_judged(candidate)), baseline)
    shared = (name for name in candidate.criteria if name in baseline.criteria)
    names += [f"criterion '{name}' is judged otherwise now" for name in shared if name not in same]
    return tuple(names)


# --- slices -----------------------------------------------------------------------------------------------------------


class _Slice(NamedTuple):
    """A slice that both runs have, and the value of each pair in either, the candidate's None where it lacks the
    case."""

    name: str
    now: Sequence[str | None]
    was: Sequence[str]


def _shared_slices(candidate: Sides, baseline: Sides, pairs: Pairs) -> list[_Slice]:
    lacking = (None,) * len(candidate.slices)
    now = list(zip(*[lacking if new is None else new.places for new, _, _ in pairs], strict=True))
    was = list(zip(*[old.places for _, old, _ in pairs], strict=True))
    return [
        _Slice(name, now[at], was[baseline.slices.index(name)])
        for at, name in enumerate(candidate.slices if pairs else ())
        if name in baseline.slices
    ]


def _slices(shared: Sequence[_Slice], grid: Grid, membership: Membership) -> tuple[SlicePairs, ...]:
    """The pairs of each slice value. A pair that no value places, because the sides differ or one is not there, is in
    the ``(unplaced)`` group."""
    groups: list[SlicePairs] = []
    for each in shared:
        found = sorted(grid.grouped(_places(each, membership)), key=_rank)
        groups += [SlicePairs(each.name, *group) for group in found]
    return tuple(groups)


def _rank(group: Group) -> tuple[bool, int, str]:
    return (group.value == UNPLACED, -group.support, group.value)


def _places(each: _Slice, membership: Membership) -> Sequence[str]:
    """Each pair's value of one slice."""
    match membership:
        case "candidate":
            return [UNPLACED if now is None else now for now in each.now]
        case "baseline":
            return each.was
        case "both":
            return [was if now == was else UNPLACED for now, was in zip(each.now, each.was, strict=True)]
        case _:
            assert_never(membership)


def _migrations(shared: Sequence[_Slice], pairs: Pairs, criteria: int) -> tuple[Migration, ...]:
    """Where the cases went whose slice value is another one now, the largest moves of each slice first."""
    found: list[Migration] = []
    for name, now, was in shared:
        if now == was:  # most slices are of the dataset
            continue
        moves: defaultdict[tuple[str, str], Counter[Codes]] = defaultdict(Counter)
        for target, origin, (_, _, codes) in zip(now, was, pairs, strict=True):
            if target is not None and target != origin:
                moves[origin, target][codes] += 1
        ranked = sorted(moves, key=lambda move: (-moves[move].total(), move))
        found += [_migration(name, move, moves[move], criteria) for move in ranked]
    return tuple(found)


def _migration(name: str, move: tuple[str, str], codes: Counter[Codes], criteria: int) -> Migration:
    return Migration(
        name,
        *move,
        codes.total(),
        before=tallies([(was, count) for (_, was), count in codes.items()], criteria=criteria),
        after=tallies([(now, count) for (now, _), count in codes.items()], criteria=criteria),
    )


def tallies(codes: Iterable[tuple[str, int]], *, criteria: int) -> tuple[Tally, ...]:
    """A tally a criterion, of codes each of which so many cases have."""
    counts: list[Counter[str]] = [Counter() for _ in range(criteria)]
    for letters, count in codes:
        for counter, letter in zip(counts, letters, strict=True):
            counter[letter] += count
    return tuple(Tally(c["p"], c["f"], c["m"], c["x"]) for c in counts)


# --- quantities -------------------------------------------------------------------------------------------------------


def _quantiles(candidate: Sides, baseline: Sides, pairs: Pairs) -> tuple[QuantilePairs, ...]:
    """Each quantile metric that both runs have. A case that the candidate lacks could have cost anything."""
    found = []
    for at_new, metric in enumerate(candidate.quantiles):
        if metric not in baseline.quantiles:
            continue
        at_old = baseline.quantiles.index(metric)
        amounts = [(new.amounts[at_new] if new else AtLeast(0), old.amounts[at_old]) for new, old, _ in pairs]
        moves = Counter(_move(*pair) for pair in amounts)
        found.append(
            QuantilePairs(
                metric,
                distribution((new, 1) for new, _ in amounts),
                distribution((old, 1) for _, old in amounts),
                **moves,
            )
        )
    return tuple(found)


def _move(new: Amount, old: Amount) -> str:
    """How a case's quantity moved. A floor above the other side's value has settled it."""
    match new, old:
        case AtLeast(floor=floor), float() | int():
            return "grew" if floor > old else "unsettled"
        case float() | int(), AtLeast(floor=floor):
            return "shrank" if floor > new else "unsettled"
        case float() | int(), float() | int():
            return "stayed" if new == old else "grew" if new > old else "shrank"
        case _:
            return "unsettled"
