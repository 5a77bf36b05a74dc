"""What is counted of cases that were tried more than once, or belong together."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from oloproof.metrics import Repeated, by_case
from oloproof.model.comparison import Side, Sides
from oloproof.model.measured import PassK, Quantile, Rate
from oloproof.model.project import PassKSpec, QuantileSpec, SliceSpec
from oloproof.model.slice_values import UNPLACED
from oloproof.model.tally import AtLeast, Clusters, Distribution, Tally
from oloproof.stats.trials import Trials, counted

pairs = st.lists(st.text("pfm", min_size=2, max_size=2), max_size=8)
STEPS = QuantileSpec(id="steps", source="agent_steps", quantile="0.5")
BOTH = PassKSpec(id="both", type="pass_hat_k", criterion="a", k=2)
FIRST_TOOL = SliceSpec(kind="first_tool", name="first_tool")


def measured(*sides: Side, clusters: Mapping[str, str] | None = None, **asked):
    numbers: dict[str, int] = {}
    attempts = []
    for side in sides:
        numbers[side.case_id] = numbers.get(side.case_id, 0) + 1
        attempts.append((numbers[side.case_id], side))
    criteria = "ab"[: len(sides[0].codes)]
    specs = (asked.get(key, ()) for key in ("quantiles", "pass_k", "slices"))
    return Repeated(criteria, *specs, 1, clusters or {}).measured(attempts)


def of_codes(*cases: str) -> list[Side]:
    """An attempt for each letter of each case under one criterion."""
    return [Side(f"c{number}", letter) for number, case in enumerate(cases) for letter in case]


def test_the_trials_of_a_case_stand_together() -> None:
    found = measured(*of_codes("ppp", "ppf", "ppp", "pmm", "xxx"))
    (rate,) = found.metrics
    counted_cases = ((((2, 1, 0),), 1), (((3, 0, 0),), 2), (((1, 0, 2),), 1))
    assert rate == Rate("a", Tally(2, 1, 1, 1), Clusters(tuple(sorted(counted_cases))))
    assert rate.judged == Tally(9, 1, 2, 1)
    assert found.cases == 5


def test_in_whatever_order_they_come() -> None:
    sides = of_codes("ppp", "ppf", "fmf")
    assert measured(*sides).metrics == measured(*sorted(sides, key=lambda side: side.codes)).metrics


def test_cases_of_a_cluster_stand_together() -> None:
    found = measured(*of_codes("p", "f", "p"), clusters={"c0": "x", "c1": "x", "c2": "y"})
    (rate,) = found.metrics
    assert isinstance(rate, Rate)
    assert rate.clusters == Clusters(((((0, 1, 0), (1, 0, 0)), 1), (((1, 0, 0),), 1)))


def test_one_trial_of_cases_of_their_own_is_a_plain_rate() -> None:
    assert measured(*of_codes("p", "f"), clusters={"c0": "x"}).metrics == (Rate("a", Tally(1, 1)),)


def test_the_largest_of_a_quantity_counts_and_at_least_that_where_one_is_unknown() -> None:
    amounts = [("c0", 3.0), ("c0", 5.0), ("c1", 2.0), ("c1", AtLeast(7)), ("c2", AtLeast(1)), ("c2", 4.0)]
    found = measured(*(Side(name, "p", (), (amount,)) for name, amount in amounts), quantiles=[STEPS])
    quantile = found.metrics[1]
    assert isinstance(quantile, Quantile)
    assert quantile.distribution == Distribution(((5.0, 1),), ((4.0, 1), (7, 1)))


def test_a_slice_holds_the_trials_that_are_there() -> None:
    places = [("c0", "p", "look"), ("c0", "f", "search"), ("c0", "p", "look"), ("c1", "p", "look")]
    found = measured(*(Side(name, code, (place,)) for name, code, place in places), slices=[FIRST_TOOL])
    rows = {group.value: (group.support, group.metrics[0].judged) for group in found.slices}  # type: ignore[union-attr]
    assert rows == {"look": (2, Tally(3)), "search": (1, Tally(0, 1))}


def test_of_k_trials() -> None:
    found = measured(*of_codes("pp", "pm", "xx"), pass_k=[BOTH])
    both = found.metrics[1]
    assert isinstance(both, PassK)
    assert (both.observed, both.missing, both.excluded) == (1, 1, 1)


def test_flaky_cases_are_told_with_the_first_trial_of_either_kind() -> None:
    found = measured(*of_codes("pfp", "ppp", "mff", "ffp"))
    assert [(each.case, each.passed, each.failed, each.passing, each.failing) for each in found.flaky] == [
        ("c3", 1, 2, 3, 1),
        ("c0", 2, 1, 1, 2),
    ]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text("pfm", min_size=1, max_size=4), min_size=1, max_size=12))
def test_the_tally_is_what_every_fill_agrees_on(suite: list[str]) -> None:
    (rate,) = measured(*of_codes(*suite, "pp")).metrics
    assert isinstance(rate, Rate)
    cases = [Trials(case.count("p"), case.count("f"), case.count("m")) for case in (*suite, "pp")]
    assert (rate.tally.passed, rate.tally.failed, rate.tally.missing) == counted(cases)
    assert rate.clusters is not None
    assert rate.clusters.trials == Tally(*(sum(case[word] for case in cases) for word in range(3)))


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.text("pfm", min_size=2, max_size=2), max_size=8),
    st.lists(st.text("pfm", min_size=2, max_size=2), max_size=8),
)
def test_clusters_of_shards_add(one: list[str], other: list[str]) -> None:
    def of(cases: list[str], start: int) -> Clusters:
        sides = [Side(f"c{start + at}", letter) for at, case in enumerate(cases) for letter in case]
        (rate,) = measured(*sides, Side("extra" + str(start), "p"), Side("extra" + str(start), "p")).metrics
        assert isinstance(rate, Rate)
        assert rate.clusters is not None
        return rate.clusters

    together = of([*one, *other, "pp"], 0)
    assert of(one, 0) + of(other, 100) == together


def test_a_case_is_paired_once() -> None:
    sides = (
        Side("c1", "ppx", ("look", "a"), (3.0,)),
        Side("c1", "pfx", ("search", "a"), (5.0,)),
        Side("c2", "pmx", ("look", "b"), (AtLeast(2),)),
        Side("c2", "mpx", ("look", "b"), (1.0,)),
    )
    run = Sides(run="r", project="p", system="s", criteria=("a", "b", "c"), cases=sides, trials=2)
    assert by_case(run).cases == (
        Side("c1", "pfx", (UNPLACED, "a"), (5.0,)),
        Side("c2", "mmx", ("look", "b"), (AtLeast(2),)),
    )
    once = Sides(run="r", project="p", system="s", criteria=("a", "b", "c"), cases=sides[:1])
    assert by_case(once) is once
