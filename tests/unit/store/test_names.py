from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from oloproof.errors import UsageError
from oloproof.store import names

IDS = ["20261129T080000-aaa", "20261130T101502-k3f9", "20261130T101503-x9"]


def test_ids_sort_by_time_in_utc_wherever_they_were_made() -> None:
    noon = datetime(2026, 11, 30, 12, 15, 2, tzinfo=timezone(timedelta(hours=2)))
    assert names.new_run_id(noon, "k3f9") == "20261130T101502-k3f9"
    later = names.new_run_id(noon.astimezone(UTC) + timedelta(seconds=1), "a")
    assert names.new_run_id(noon, "z") < later


@pytest.mark.parametrize(
    ("name", "means"),
    [
        ("latest", IDS[2]),
        ("latest~0", IDS[2]),
        ("latest~2", IDS[0]),
        ("20261130T101502-k3f9", IDS[1]),
        ("k3f9", IDS[1]),
        ("1129", IDS[0]),
    ],
)
def test_a_name_means_a_run(name: str, means: str) -> None:
    assert names.resolve(name, IDS) == means


def test_a_whole_id_wins_over_being_part_of_another() -> None:
    assert names.resolve("a", ["a", "ab"]) == "a"


@pytest.mark.parametrize(
    ("name", "ids", "code", "message", "hint"),
    [
        (
            "20261130",
            IDS,
            "OLO612",
            "'20261130' is part of 2 run ids",
            "name one: 20261130T101503-x9, 20261130T101502-k3f9",
        ),
        ("zzz", IDS[:1], "OLO611", "no run is called 'zzz'", "the newest are: 20261129T080000-aaa"),
        ("", IDS[:1], "OLO611", "no run is called ''", "the newest are: 20261129T080000-aaa"),
        ("latest~3", IDS, "OLO611", "latest~3 goes back too far: 3 runs stored", "the oldest is 20261129T080000-aaa"),
        (
            "latest~1",
            IDS[:1],
            "OLO611",
            "latest~1 goes back too far: 1 run stored",
            "the oldest is 20261129T080000-aaa",
        ),
        ("latest", [], "OLO611", "no run is called 'latest': none has been stored yet", "`oloproof run` makes one"),
        ("latest~-1", IDS[:1], "OLO611", "no run is called 'latest~-1'", "the newest are: 20261129T080000-aaa"),
    ],
)
def test_a_name_that_means_none_or_several_is_refused(
    name: str, ids: list[str], code: str, message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        names.resolve(name, ids)
    (problem,) = caught.value.problems
    assert (problem.code, problem.message, problem.hint) == (code, message, hint)


def test_only_the_newest_ten_candidates_are_shown() -> None:
    with pytest.raises(UsageError) as caught:
        names.resolve("x", [f"x{number:02}" for number in range(30)])
    hint = caught.value.problems[0].hint
    assert hint.startswith("name one: x29, x28")
    assert hint.endswith("x20, …")
