"""Two runs over the same cases, pair by pair: counted, never averaged, and nothing left out without a word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from oloproof.model.tally import Amount, Distribution, PairTable, Tally

Membership = Literal["candidate", "baseline", "both"]
"""Whose slice value places a pair, where the two runs may differ."""


class Side(Struct, frozen=True, array_like=True, gc=False):
    """One case of one run, as far as a comparison looks at it.

    ``codes`` holds one letter a criterion (p, f, m, x), ``places`` a value a slice and ``amounts`` a quantity a
    quantile, each in the run's order. ``question`` and ``reference`` identify the input and what was expected.
    """

    case_id: str
    codes: str
    places: tuple[str, ...] = ()
    amounts: tuple[Amount, ...] = ()
    question: str = ""
    reference: str = ""


class QuantileId(Struct, frozen=True):
    """What a quantile metric is, apart from its values. ``quantile`` is the decimal as written."""

    id: str
    source: str
    quantile: str
    unit: str


class Sides(Struct, frozen=True, kw_only=True):
    """A run as a comparison sees it: what was judged, and every case of it once, however many ``trials`` it had.

    ``judged_by`` identifies what judged each of ``criteria``, () where that is not known. ``by_functions`` are those
    that functions of the user's judged, as far as that was noted, and ``judging_code`` identifies what those were made
    of, "" where that is not known.
    """

    run: str
    project: str
    system: str
    criteria: tuple[str, ...]
    judged_by: tuple[str, ...] = ()
    by_functions: tuple[str, ...] = ()
    judging_code: str = ""
    slices: tuple[str, ...] = ()
    quantiles: tuple[QuantileId, ...] = ()
    cases: tuple[Side, ...]
    trials: int = 1


_COUNTED = {"p": "passed", "f": "failed", "m": "missing", "x": "excluded"}


def counted_verdicts(criteria: Sequence[str], cases: Sequence[Side]) -> dict[str, dict[str, int]]:
    """By criterion, how many cases passed, failed, are missing and are excluded."""
    found = {}
    for index, name in enumerate(criteria):
        letters = Counter(side.codes[index : index + 1] for side in cases)
        found[name] = {word: letters[letter] for letter, word in _COUNTED.items()}
    return found


class CriterionPairs(Struct, frozen=True):
    """A criterion over all pairs, with the ids behind what was fixed, what was broken, and what was lost: known in the
    baseline and missing now."""

    id: str
    table: PairTable
    fixed_cases: tuple[str, ...] = ()
    broken_cases: tuple[str, ...] = ()
    lost_cases: tuple[str, ...] = ()


class QuantilePairs(Struct, frozen=True):
    """A quantity over all pairs. ``unsettled`` pairs have no value, or only a floor, on one side or both."""

    metric: QuantileId
    candidate: Distribution
    baseline: Distribution
    grew: int = 0
    shrank: int = 0
    stayed: int = 0
    unsettled: int = 0


class SlicePairs(Struct, frozen=True):
    """The pairs of one value of one slice; ``tables`` are in the comparison's order of criteria."""

    slice: str
    value: str
    support: int
    tables: tuple[PairTable, ...]


class Migration(Struct, frozen=True):
    """Cases that moved from one value of a slice to another, and how they did there, a tally a criterion."""

    slice: str
    origin: str
    target: str
    cases: int
    before: tuple[Tally, ...]
    after: tuple[Tally, ...]


class Rerun(Struct, frozen=True):
    """A case that a rule asked to be run again, with one letter a criterion for each time, in the comparison's order of
    criteria."""

    case: str
    codes: tuple[str, ...]


class Comparison(Struct, frozen=True, kw_only=True):
    """Everything that was counted of two runs.

    ``changed`` are the cases whose input or reference is another one now. They, and those ``only_in_baseline``, count
    as missing pairs unless they are ``accepted``, and so do those to which a criterion applies in one run only. Those
    ``only_in_candidate`` have no pair. ``rejudged`` are criteria that functions of the user's judge, where those are
    made of other code than in the baseline: what differs may be their doing.
    """

    candidate: str
    baseline: str
    pairs: int
    only_in_candidate: tuple[str, ...]
    only_in_baseline: tuple[str, ...]
    changed: tuple[str, ...]
    accepted: tuple[str, ...]
    uncompared: tuple[str, ...]
    membership: Membership
    criteria: tuple[CriterionPairs, ...]
    quantiles: tuple[QuantilePairs, ...] = ()
    slices: tuple[SlicePairs, ...] = ()
    migrations: tuple[Migration, ...] = ()
    trials: int = 1
    reruns: tuple[Rerun, ...] = ()
    rejudged: tuple[str, ...] = ()
