"""What running a newly broken case again can do: withdraw it by passing every time, and nothing else."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from oloproof.gates.pairs import confirmation_of, on_pairs
from oloproof.model.decision import Confirmation, MaxNewFailures
from oloproof.model.tally import PairTable


def confirmation(again: list[str], confirm: int) -> Confirmation:
    """Of as many broken cases, each with the letters of its re-runs."""
    rule = MaxNewFailures(id="r", metric="m", max_new_failures=0, confirm=confirm)
    letters = {f"c{at}": each for at, each in enumerate(again)}
    found = confirmation_of(rule, list(letters), letters)
    assert found is not None
    return found


reruns = st.lists(st.text("pfm", max_size=4), max_size=8)


@given(reruns, st.integers(1, 4))
@settings(deadline=None, max_examples=100)
def test_a_case_is_withdrawn_only_by_as_many_passes_as_the_rule_asks_for(again: list[str], confirm: int) -> None:
    found = confirmation(again, confirm)
    first = [each[:confirm] for each in again]
    assert found.cleared == first.count("p" * confirm)
    assert found.persisted == sum("f" in each or not each for each in first)
    assert found.cleared + found.persisted + found.unknown == found.broken == len(again)


@given(reruns, st.integers(1, 4), st.integers(0, 4), st.integers(0, 3))
@settings(deadline=None, max_examples=100)
def test_the_rule_says_what_every_fill_of_a_missing_re_run_agrees_on(
    again: list[str], confirm: int, limit: int, lost: int
) -> None:
    rule = MaxNewFailures(id="r", metric="m", max_new_failures=limit, confirm=confirm)
    found = confirmation(again, confirm)
    table = PairTable(both_pass=5, broken=len(again), was_pass=lost)
    finding, (state, _) = on_pairs(rule, table, level=0.95, confirmation=found)
    ends = {count > limit for count in (found.persisted, found.persisted + found.unknown + lost)}
    assert state == ("INSUFFICIENT_EVIDENCE" if len(ends) == 2 else "FAIL" if ends.pop() else "PASS")
    assert finding.table == table  # what was seen first is told, too


@given(st.lists(st.text("pfm", min_size=4, max_size=4), max_size=8), st.integers(1, 3))
@settings(deadline=None, max_examples=60)
def test_asking_for_more_re_runs_never_withdraws_more(again: list[str], confirm: int) -> None:
    few, more = confirmation(again, confirm), confirmation(again, confirm + 1)
    assert more.cleared <= few.cleared
    assert more.persisted >= few.persisted


def test_a_rule_that_asks_for_none_has_none() -> None:
    rule = MaxNewFailures(id="r", metric="m", max_new_failures=0)
    assert confirmation_of(rule, ["c"], {"c": "ppp"}) is None
