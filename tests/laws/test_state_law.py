"""A recorded state stands for every state that it may have been: any JSON value in the place of what JSON lost."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from oloproof.evaluators.state import StateMatches, StateUnchanged
from oloproof.model.case import Attempt, Case, State
from oloproof.model.evidence import Evidence
from oloproof.model.values import TAG

LOST = {TAG: "float nan"}
plain = st.sampled_from((0, 1, 1.0, True, None, "x"))


def values(*, lossy: bool) -> st.SearchStrategy[Any]:
    leaves = plain | st.just(LOST) if lossy else plain
    return st.recursive(
        leaves,
        lambda parts: st.lists(parts, max_size=2) | st.dictionaries(st.sampled_from("ab"), parts, max_size=2),
        max_leaves=4,
    )


def fills(value: Any, meant: Any, mark: str) -> Iterator[Any]:
    """The value with what may have been lost in it: what is expected at that place, and something of its own."""
    if value == LOST:
        yield from {repr(each): each for each in (*fills(meant, mark, mark), mark)}.values()
    elif isinstance(value, dict):
        parts = [fills(part, meant.get(key) if isinstance(meant, dict) else 0, mark) for key, part in value.items()]
        yield from (dict(zip(value, filled, strict=True)) for filled in itertools.product(*parts))
    elif isinstance(value, list):
        wanted = meant if isinstance(meant, list) and len(meant) == len(value) else [0] * len(value)
        parts = [fills(part, want, mark) for part, want in zip(value, wanted, strict=True)]
        yield from map(list, itertools.product(*parts))
    else:
        yield value


def same(found: Any, wanted: Any, *, subset: bool = False) -> bool:
    """Equality as the pages define it, in the plainest words."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        keys_fit = wanted.keys() <= found.keys() if subset else wanted.keys() == found.keys()
        return keys_fit and all(same(found[key], wanted[key], subset=subset) for key in wanted)
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    return isinstance(found, bool) == isinstance(wanted, bool) and found == wanted


def shared(fates: Iterator[bool]) -> str:
    seen = set(fates)
    return "missing" if len(seen) == 2 else "pass" if seen == {True} else "fail"


def judged(evaluator: Any, recorded: State, **expected: Any) -> Any:
    return evaluator.judge(Evidence(Case(id="c", expected=expected), Attempt(case_id="c", state=recorded)))


@given(found=values(lossy=True), wanted=values(lossy=False), subset=st.booleans())
@settings(max_examples=200, deadline=None)
def test_a_state_matches_as_all_that_it_may_have_been_do(found: Any, wanted: Any, subset: bool) -> None:
    judgment = judged(StateMatches(mode="subset" if subset else "exact"), State(after=found), state=wanted)
    assert judgment.verdict == shared(same(fill, wanted, subset=subset) for fill in fills(found, wanted, "?"))
    assert judgment.reason == ("state_not_recorded" if judgment.verdict == "missing" else None)


@given(before=values(lossy=True), after=values(lossy=True))
@settings(max_examples=200, deadline=None)
def test_a_state_is_unchanged_as_all_that_it_may_have_been_are(before: Any, after: Any) -> None:
    judgment = judged(StateUnchanged(), State(before=before, after=after))
    # Where both were lost, the first gets a value of its own, and the second the same or another.
    fates = (same(a, b) for a in fills(before, after, "?") for b in fills(after, a, "!"))
    assert judgment.verdict == shared(fates)


@given(value=values(lossy=False))
@settings(max_examples=50, deadline=None)
def test_a_state_matches_itself_in_both_modes_and_at_every_key(value: Any) -> None:
    for mode in ("exact", "subset"):
        assert judged(StateMatches(mode=mode), State(after=value), state=value).verdict == "pass"
    if isinstance(value, dict):
        for key in value:
            assert judged(StateMatches(path=key), State(after=value), state=value).verdict == "pass"
