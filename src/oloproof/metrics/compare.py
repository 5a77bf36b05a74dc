"""Two runs, pair by pair: what was fixed and what was broken, overall and by slice, and which cases moved.

A case of the baseline always counts. Where the candidate lacks it its verdict there is missing; where its input or its
reference changed the two verdicts answer different questions, and both are missing. So a change cannot hide the case
that it breaks by deleting it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import assert_never

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
from oloproof.model.tally import UNPLACED, Amount, AtLeast, PairTable, Tally

Codes = tuple[str, str]
"""The letters of one pair, the candidate's and the baseline's, one a criterion."""

_FIELDS = PairTable.__struct_fields__
_CELLS = {
    letters: _FIELDS.index(field)
    for letters, field in {
        "pp": "both_pass",
        "pf": "fixed",
        "fp": "broken",
        "ff": "both_fail",
        "pm": "now_pass",
        "fm": "now_fail",
        "mp": "was_pass",
        "mf": "was_fail",
        "mm": "both_missing",
        "xx": "excluded",
    }.items()
}
"""Which count of a table a pair adds to, by the candidate's letter and the baseline's. A criterion that applies to one
side only (``x`` with another letter) applies to another question now: both verdicts are missing."""

_BOTH_MISSING = _CELLS["mm"]
_FIXED, _BROKEN, _WAS_PASS, _WAS_FAIL = (_CELLS[letters] for letters in ("pf", "fp", "mp", "mf"))
_TOLD = (_FIXED, _BROKEN, _WAS_PASS, _WAS_FAIL)
"""The counts whose cases are told by name."""


def compare(
    candidate: Sides, baseline: Sides, *, membership: Membership = "candidate", accepted: Collection[str] = ()
) -> Comparison:
    """Pair the runs by case id and count.

    Criteria, slices and quantiles that only one of them has are ``uncompared``. ``accepted`` are ids of cases that may
    be gone or changed: they count in no pair then.
    """
    criteria = tuple(name for name in candidate.criteria if name in baseline.criteria)
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
        pairs.append((new, old, codes))
    known = {side.case_id for side in baseline.cases}
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
        criteria=_criteria(criteria, pairs),
        quantiles=_quantiles(candidate, baseline, pairs),
        slices=_slices(candidate, baseline, pairs, len(criteria), membership),
        trials=candidate.trials,
        migrations=_migrations(candidate, baseline, pairs, len(criteria)),
    )


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


@lru_cache(maxsize=1 << 16)  # few combinations of letters occur, again and again
def _cells(codes: Codes) -> tuple[int, ...]:
    """Which count each criterion's table gets."""
    return tuple([_CELLS.get(now + was, _BOTH_MISSING) for now, was in zip(*codes, strict=True)])


def _tables(codes: Mapping[Codes, int], criteria: int) -> tuple[PairTable, ...]:
    """The pair table of each criterion, from how often each combination of letters occurred."""
    counts = [[0] * len(_FIELDS) for _ in range(criteria)]
    for letters, count in codes.items():
        for table, cell in zip(counts, _cells(letters), strict=True):
            table[cell] += count
    return tuple([PairTable(*table) for table in counts])


def _criteria(names: Sequence[str], pairs: Pairs) -> tuple[CriterionPairs, ...]:
    tables = _tables(Counter([codes for _, _, codes in pairs]), len(names))
    ids: list[dict[int, list[str]]] = [{cell: [] for cell in _TOLD} for _ in names]
    for _, old, codes in pairs:
        for told, cell in zip(ids, _cells(codes), strict=True):
            if cell in told:
                told[cell].append(old.case_id)
    return tuple(
        CriterionPairs(
            name,
            table,
            fixed_cases=tuple(told[_FIXED]),
            broken_cases=tuple(told[_BROKEN]),
            lost_cases=(*told[_WAS_PASS], *told[_WAS_FAIL]),
        )
        for name, table, told in zip(names, tables, ids, strict=True)
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
    return tuple(names)


# --- slices -----------------------------------------------------------------------------------------------------------


def _shared_slices(candidate: Sides, baseline: Sides) -> list[tuple[str, int, int]]:
    return [
        (name, index, baseline.slices.index(name))
        for index, name in enumerate(candidate.slices)
        if name in baseline.slices
    ]


def _slices(
    candidate: Sides, baseline: Sides, pairs: Pairs, criteria: int, membership: Membership
) -> tuple[SlicePairs, ...]:
    """The pairs of each slice value. A pair that no value places, because the sides differ or one is not there, is in
    the ``(unplaced)`` group."""
    groups: list[SlicePairs] = []
    letters = [codes for _, _, codes in pairs]
    for name, at_new, at_old in _shared_slices(candidate, baseline):
        placed = Counter(zip(_places(pairs, at_new, at_old, membership), letters, strict=True))
        values: defaultdict[str, dict[Codes, int]] = defaultdict(dict)
        for (place, codes), count in placed.items():
            values[place][codes] = count
        support = {value: sum(found.values()) for value, found in values.items()}
        ranked = sorted(values, key=lambda value: (value == UNPLACED, -support[value], value))
        groups += [SlicePairs(name, value, support[value], _tables(values[value], criteria)) for value in ranked]
    return tuple(groups)


def _places(pairs: Pairs, at_new: int, at_old: int, membership: Membership) -> list[str]:
    """Each pair's value of one slice."""
    match membership:
        case "candidate":
            return [UNPLACED if new is None else new.places[at_new] for new, _, _ in pairs]
        case "baseline":
            return [old.places[at_old] for _, old, _ in pairs]
        case "both":
            sides = [(None if new is None else new.places[at_new], old.places[at_old]) for new, old, _ in pairs]
            return [old if new == old else UNPLACED for new, old in sides]
        case _:
            assert_never(membership)


def _migrations(candidate: Sides, baseline: Sides, pairs: Pairs, criteria: int) -> tuple[Migration, ...]:
    """Where the cases went whose slice value is another one now, the largest moves of each slice first."""
    found: list[Migration] = []
    for name, at_new, at_old in _shared_slices(candidate, baseline):
        moves: defaultdict[tuple[str, str], Counter[Codes]] = defaultdict(Counter)
        for new, old, codes in pairs:
            if new is not None and new.places[at_new] != old.places[at_old]:
                moves[old.places[at_old], new.places[at_new]][codes] += 1
        ranked = sorted(moves, key=lambda move: (-moves[move].total(), move))
        found += [_migration(name, move, moves[move], criteria) for move in ranked]
    return tuple(found)


def _migration(name: str, move: tuple[str, str], codes: Counter[Codes], criteria: int) -> Migration:
    return Migration(
        name,
        *move,
        codes.total(),
        before=_tallies([(was, count) for (_, was), count in codes.items()], criteria),
        after=_tallies([(now, count) for (now, _), count in codes.items()], criteria),
    )


def _tallies(codes: Iterable[tuple[str, int]], criteria: int) -> tuple[Tally, ...]:
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
                distribution(new for new, _ in amounts),
                distribution(old for _, old in amounts),
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
