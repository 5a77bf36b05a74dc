from __future__ import annotations

from msgspec.structs import replace

from oloproof.metrics.compare import compare
from oloproof.model.comparison import Migration, QuantileId, Side, Sides
from oloproof.model.slice_values import UNPLACED
from oloproof.model.tally import AtLeast, PairTable, Tally

STEPS = QuantileId("steps", "agent_steps", "0.5", "steps")


def sides(*cases: Side, run: str = "new", **changes: object) -> Sides:
    kept: dict[str, object] = {"criteria": ("right",), "project": "p", "system": "s"}
    return Sides(run=run, cases=cases, **(kept | changes))


def codes(**letters: str) -> tuple[Side, ...]:
    return tuple(Side(case_id, letter) for case_id, letter in letters.items())


def table(now: Sides, was: Sides, **options: object) -> PairTable:
    return compare(now, was, **options).criteria[0].table


def test_criteria_that_functions_of_other_code_judge_are_named_where_both_sides_know_it() -> None:
    cases, names = codes(a="ppp"), {"criteria": ("right", "mine", "new"), "by_functions": ("mine", "new")}
    was = sides(*codes(a="pp"), run="old", criteria=("right", "mine"), judging_code="a")
    rejudged = {code: compare(sides(*cases, judging_code=code, **names), was).rejudged for code in ("a", "b", "")}
    assert rejudged == {"a": (), "b": ("mine",), "": ()}
    assert compare(sides(*cases, judging_code="b", **names), replace(was, judging_code="")).rejudged == ()


def test_every_pair_of_words_has_its_cell() -> None:
    letters = {f"{new}{old}": (new, old) for new in "pfmx" for old in "pfmx"}
    now = sides(*codes(**{name: new for name, (new, _) in letters.items()}))
    was = sides(*codes(**{name: old for name, (_, old) in letters.items()}), run="old")
    found = compare(now, was).criteria[0]
    assert found.table == PairTable(
        both_pass=1,
        fixed=1,
        broken=1,
        both_fail=1,
        now_pass=1,
        now_fail=1,
        was_pass=1,
        was_fail=1,
        both_missing=7,  # one of its own, and six of which one side alone is excluded
        excluded=1,
    )
    assert (found.fixed_cases, found.broken_cases) == (("pf",), ("fp",))


def test_a_case_that_the_candidate_lacks_is_a_missing_pair() -> None:
    found = compare(sides(*codes(a="p")), sides(*codes(a="p", b="p", c="f", d="x"), run="old"))
    assert found.criteria[0].table == PairTable(both_pass=1, was_pass=1, was_fail=1, excluded=1)
    assert found.only_in_baseline == ("b", "c", "d")
    assert found.criteria[0].lost_cases == ("b", "c")


def test_a_changed_question_or_reference_makes_both_verdicts_missing() -> None:
    was = sides(Side("a", "p", question="1"), Side("b", "p", reference="1"), Side("c", "x", question="1"), run="old")
    now = sides(Side("a", "p", question="2"), Side("b", "f", reference="2"), Side("c", "x", question="2"))
    found = compare(now, was)
    assert found.criteria[0].table == PairTable(both_missing=2, excluded=1)
    assert (found.changed, found.criteria[0].broken_cases) == (("a", "b", "c"), ())


def test_accepted_cases_count_in_no_pair_but_only_where_they_are_gone_or_changed() -> None:
    was = sides(Side("a", "p"), Side("b", "p", question="1"), Side("c", "p"), run="old")
    now = sides(Side("b", "f", question="2"), Side("c", "f"))
    found = compare(now, was, accepted={"a", "b", "c"})
    assert (found.accepted, found.criteria[0].table) == (("a", "b"), PairTable(broken=1))


def test_an_accepted_case_to_which_a_criterion_applies_no_more_counts_under_the_others() -> None:
    was = sides(Side("a", "pp"), Side("b", "pf"), criteria=("right", "quick"), run="old")
    now = sides(Side("a", "xf"), Side("b", "pf"), criteria=("right", "quick"))
    found = compare(now, was, accepted={"a", "b"})
    assert found.accepted == ("a",)
    assert [each.table for each in found.criteria] == [
        PairTable(both_pass=1, excluded=1),
        PairTable(broken=1, both_fail=1),
    ]
    assert compare(now, was).criteria[0].table == PairTable(both_pass=1, both_missing=1)


def test_new_cases_are_listed_and_pair_with_nothing() -> None:
    found = compare(sides(*codes(a="p", z="f")), sides(*codes(a="p"), run="old"))
    assert (found.only_in_candidate, found.pairs) == (("z",), 1)


def test_criteria_are_matched_by_name_and_the_rest_is_told() -> None:
    now = sides(Side("a", "pf"), criteria=("right", "quick"), slices=("s",))
    was = sides(Side("a", "xpf"), criteria=("old", "quick", "right"), run="old", quantiles=(STEPS,))
    found = compare(now, was)
    assert [(each.id, each.table.cells[:4]) for each in found.criteria] == [
        ("right", (0, 1, 0, 0)),
        ("quick", (0, 0, 1, 0)),
    ]
    assert found.uncompared == ("criterion 'old' is gone", "slice 's' is new", "metric 'steps' is gone")


def test_slices_follow_the_membership_asked_for() -> None:
    was = sides(Side("a", "p", ("x",)), Side("b", "p", ("x",)), Side("gone", "p", ("x",)), run="old", slices=("s",))
    now = sides(Side("a", "f", ("x",)), Side("b", "p", ("y",)), slices=("s",))

    def groups(membership: str) -> dict[str, tuple[int, PairTable]]:
        return {each.value: (each.support, each.tables[0]) for each in compare(now, was, membership=membership).slices}

    lost = PairTable(was_pass=1)
    assert groups("candidate") == {
        "x": (1, PairTable(broken=1)),
        "y": (1, PairTable(both_pass=1)),
        UNPLACED: (1, lost),
    }
    assert groups("baseline") == {"x": (3, PairTable(broken=1, both_pass=1, was_pass=1))}
    assert groups("both") == {"x": (1, PairTable(broken=1)), UNPLACED: (2, PairTable(both_pass=1, was_pass=1))}


def test_migrations_say_how_the_cases_did_before_and_after() -> None:
    was = sides(*(Side(name, "p", ("look",)) for name in "abc"), run="old", slices=("first",))
    now = sides(Side("a", "f", ("search",)), Side("b", "p", ("search",)), Side("c", "p", ("look",)), slices=("first",))
    assert compare(now, was).migrations == (Migration("first", "look", "search", 2, (Tally(2),), (Tally(1, 1),)),)


def test_quantities_grow_shrink_and_stay() -> None:
    new = {"grew": 3, "shrank": 1, "stayed": 2, "over": AtLeast(9), "open": AtLeast(1), "under": 1}
    old = {"grew": 2, "shrank": 2, "stayed": 2, "over": 5, "open": 5, "under": AtLeast(4), "gone": 2}
    now = sides(*(Side(name, "p", (), (value,)) for name, value in new.items()), quantiles=(STEPS,))
    was = sides(*(Side(name, "p", (), (value,)) for name, value in old.items()), quantiles=(STEPS,), run="old")
    (found,) = compare(now, was).quantiles
    assert (found.grew, found.shrank, found.stayed, found.unsettled) == (2, 2, 1, 2)
    assert found.candidate.floors == ((0, 1), (1, 1), (9, 1))
    assert (found.candidate.n, found.baseline.n) == (7, 7)


def test_a_quantile_of_another_meaning_is_not_compared() -> None:
    other = replace(STEPS, quantile="0.9")
    now = sides(Side("a", "p", (), (1,)), quantiles=(other,))
    assert compare(now, sides(Side("a", "p", (), (1,)), quantiles=(STEPS,), run="old")).quantiles == ()
