from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from fakes import stored
from oloproof.errors import BrokenError, UsageError
from oloproof.importers.recordings import decode, encode
from oloproof.model.case import Case
from oloproof.model.decision import Approval, IntervalThreshold, ObservedCount, Policy
from oloproof.model.judgment import PASS
from oloproof.model.measured import Measured
from oloproof.model.recording import Recording
from oloproof.model.run import CaseRecord
from oloproof.store import AttemptVerdicts, SourceRef, Store, codec, file_digest, stored_case

RUN = stored.run()
POLICY = Policy(
    rules=(
        IntervalThreshold(id="floor", metric="answer_correct", min="0.70"),
        ObservedCount(id="none", metric="agent_no_tool_loop", max_failures=0),
    )
)


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path / ".oloproof") as store:
        yield store


def told(error: UsageError) -> tuple[str, str, str]:
    (problem,) = error.problems
    return problem.code, problem.message, problem.hint


def test_nothing_is_made_before_something_is_kept(tmp_path: Path) -> None:
    Store.open(tmp_path / ".oloproof").close()
    assert list(tmp_path.iterdir()) == []


def test_a_store_keeps_itself_out_of_version_control(store: Store) -> None:
    store.begin(stored.run())
    assert (store.directory / ".gitignore").read_text() == "*\n"


def test_a_gitignore_of_the_users_stays(tmp_path: Path) -> None:
    tmp_path.joinpath(".gitignore").write_text("mine\n")
    Store.open(tmp_path).begin(stored.run())
    assert tmp_path.joinpath(".gitignore").read_text() == "mine\n"


def test_nothing_is_made_where_nothing_may_be(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        Store.open(tmp_path / ".oloproof", create=False)
    assert told(caught.value) == ("OLO610", "no run has been stored here", "`oloproof run` makes one")
    assert os.listdir(tmp_path) == []


def test_a_run_comes_back_as_it_was_finished(store: Store) -> None:
    store.begin(RUN)
    assert store.find("latest") == RUN
    store.append(RUN.id, [stored.row(number) for number in range(3)])
    finished = replace(RUN, status="complete", cases=3, digest="00")
    store.finish(finished, stored.measured(3), POLICY, warnings=("three cases",), log="loaded\n")
    directory = store.directory
    store.close()
    with Store.open(directory, create=False) as again:
        assert again.find("latest") == finished
        assert again.aggregates(RUN.id) == stored.measured(3)
        assert again.policy(RUN.id) == POLICY
        assert again.warnings(RUN.id) == ("three cases",)
        assert again.log(RUN.id) == "loaded\n"
        assert [detail.case for detail in stored.records(again, RUN.id)] == [stored.case(number) for number in range(3)]


def test_closing_leaves_one_database_file(tmp_path: Path) -> None:
    with Store.open(tmp_path / ".oloproof") as store:
        store.begin(RUN)
    assert sorted(os.listdir(tmp_path)) == [".oloproof"]
    assert sorted(os.listdir(tmp_path / ".oloproof")) == [".gitignore", "oloproof.db"]


def test_an_ungated_run_has_no_policy(store: Store) -> None:
    store.begin(RUN)
    store.finish(RUN, stored.measured(0), None)
    assert store.policy(RUN.id) is None
    assert store.warnings(RUN.id) == ()
    assert store.log(RUN.id) == ""


def test_a_run_that_concluded_nothing_says_so(store: Store) -> None:
    store.begin(RUN)
    store.set_status(RUN.id, "broken", log="half way\n")
    assert store.find("latest").status == "broken"
    assert store.log(RUN.id) == "half way\n"
    with pytest.raises(BrokenError, match="ended before its results were counted") as caught:
        store.aggregates(RUN.id)
    assert caught.value.problems[0].code == "OLO510"


def test_latest_is_the_newest_started_whatever_its_id(store: Store) -> None:
    store.begin(stored.run("b"))
    store.begin(stored.run("a"))
    store.finish(stored.run("b"), stored.measured(0), None)
    assert store.find("latest").id == "a"
    assert store.find("latest~1").id == "b"


def test_runs_are_listed_newest_first(store: Store) -> None:
    for name, project in (("r1", "shop"), ("r2", "desk"), ("r3", "shop")):
        store.begin(stored.run(name, project=project))
    assert [run.id for run in store.runs()] == ["r3", "r2", "r1"]
    assert [run.id for run in store.runs(limit=2)] == ["r3", "r2"]
    assert [run.id for run in store.runs("shop")] == ["r3", "r1"]
    assert store.find("latest", project="desk").id == "r2"


def test_an_id_is_taken_once(store: Store) -> None:
    store.begin(RUN)
    with pytest.raises(BrokenError) as caught:
        store.begin(RUN)
    assert caught.value.problems[0].code == "OLO509"


def test_verdicts_come_in_the_order_of_the_run(store: Store) -> None:
    store.begin(RUN)
    store.append(RUN.id, [stored.row(5, ordinal=0), stored.row(5, ordinal=1, trial=2)])
    store.append(RUN.id, [stored.row(1, ordinal=2, judgments=[PASS, PASS, stored.MISSING])])
    assert list(store.verdicts(RUN.id)) == [
        AttemptVerdicts("case_00005", 1, "pfx"),
        AttemptVerdicts("case_00005", 2, "pfx"),
        AttemptVerdicts("case_00001", 1, "ppm"),
    ]


def test_what_fails_a_criterion_is_found_in_the_order_of_the_run(store: Store) -> None:
    store.begin(RUN)
    store.append(RUN.id, [stored.row(5, ordinal=1), stored.row(4, ordinal=0)])
    store.append(RUN.id, [stored.row(1, ordinal=2, judgments=[PASS, PASS, stored.MISSING])])
    _, failed, _ = RUN.criteria
    assert [(case, trial) for case, trial, _, _ in store.failing(RUN.id, {failed})] == [
        ("case_00004", 1),
        ("case_00005", 1),
    ]
    assert [found[2] for found in store.failing(RUN.id, {failed})] == [tuple(stored.VERDICTS)] * 2
    assert list(store.failing(RUN.id, {*RUN.criteria} - {failed})) == []


def test_a_case_with_its_evidence(store: Store) -> None:
    store.begin(RUN)
    store.append(RUN.id, [stored.row(number) for number in range(200)])
    assert store.case(RUN.id, "case_00137") == CaseRecord(
        run_id=RUN.id,
        case=stored.case(137),
        attempt=stored.attempt(137),
        judgments=stored.by_criterion(stored.VERDICTS),
    )


def test_a_case_that_is_not_there(store: Store) -> None:
    store.begin(RUN)
    store.append(RUN.id, [stored.row(1), stored.row(1, ordinal=2, trial=2)])
    with pytest.raises(UsageError) as caught:
        store.case(RUN.id, "case_00001", 3)
    assert told(caught.value) == ("OLO613", f"case 'case_00001' has no trial 3 in run {RUN.id}", "it has: 1, 2")
    with pytest.raises(UsageError) as caught:
        store.case(RUN.id, "00001")
    assert told(caught.value) == ("OLO613", f"run {RUN.id} has no case '00001'", "do you mean case_00001?")
    with pytest.raises(UsageError) as caught:
        store.case(RUN.id, "other")
    assert told(caught.value)[2] == f"`oloproof inspect {RUN.id} --verdicts` lists them"


def test_a_run_that_is_not_there(store: Store) -> None:
    store.begin(RUN)
    for name in ("other", "k3f9"):
        with pytest.raises(UsageError) as caught:
            store.aggregates(name)
        assert told(caught.value)[0] == "OLO611"


def test_approvals_are_kept_in_order(store: Store) -> None:
    store.begin(RUN)
    given = tuple(
        Approval(rule=rule, by="ada", at="2026-11-30T11:00:00Z", run_digest="00") for rule in ("floor", "none", "floor")
    )
    assert store.approvals(RUN.id) == ()
    for approval in given:
        store.approve(RUN.id, approval)
    assert store.approvals(RUN.id) == given


def count_rows(store: Store, table: str) -> int:
    """The rows of a table, seen by another connection."""
    with closing(sqlite3.connect(store.directory / "oloproof.db")) as database:
        (count,) = database.execute(f"SELECT count(*) FROM {table}").fetchone()
    return count


def test_a_run_that_is_taken_out_while_it_is_written_is_told(store: Store) -> None:
    store.begin(RUN)
    store._db.execute("DELETE FROM runs")
    with pytest.raises(BrokenError, match="was taken out of"):
        store.finish(RUN, stored.measured(1), None)


def test_a_store_that_is_removed_while_it_is_written_is_told(store: Store) -> None:
    store.begin(RUN)
    (store.directory / "oloproof.db").unlink()
    with pytest.raises(BrokenError, match="was taken out of"):
        store.finish(RUN, stored.measured(1), None)


def recorded(directory: Path, count: int) -> tuple[list[SourceRef], list[Recording]]:
    recordings = [
        Recording(
            case=f"case_{number:05}",
            input={"n": number},
            expected={"answer": number},
            output=number,
            error="boom" if number == 2 else None,
            trajectory=stored.trajectory(),
        )
        for number in range(count)
    ]
    path = directory / "traces.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + b"\n".join(encode(recording) for recording in recordings))
    digest = file_digest(path)
    with path.open("rb") as lines:
        refs = [SourceRef(path.name, digest, line.offset, line.length) for line, _ in decode(lines)]
    return refs, recordings


def test_recorded_attempts_are_referred_to_and_read_back(store: Store, tmp_path: Path) -> None:
    refs, recordings = recorded(tmp_path, 3)
    store.begin(RUN)
    store.append(RUN.id, [stored.row(number, source=ref) for number, ref in enumerate(refs)])
    details = stored.records(store, RUN.id)
    assert [detail.case for detail in details] == [stored.case(number) for number in range(3)]
    assert [detail.attempt.trajectory for detail in details] == [recording.trajectory for recording in recordings]
    assert details[2].attempt.error is not None
    assert details[2].attempt.error.message == "boom"


def test_recordings_that_are_their_own_dataset_bring_the_case(store: Store, tmp_path: Path) -> None:
    refs, _ = recorded(tmp_path, 3)
    run = stored.run(own_dataset=True)
    store.begin(run)
    store.append(run.id, [stored.row(number, source=ref) for number, ref in enumerate(refs)])
    assert store.case(run.id, "case_00001").case == Case(id="case_00001", input={"n": 1}, expected={"answer": 1})


def test_another_handle_may_go_on_with_a_run(store: Store, tmp_path: Path) -> None:
    refs, _ = recorded(tmp_path, 3)
    run = stored.run(own_dataset=True)
    store.begin(run)
    store.append(run.id, [stored.row(0, source=refs[0])])
    with Store.open(store.directory, create=False) as other:
        other.append(run.id, [stored.row(number, source=refs[number]) for number in (1, 2)])
    assert [detail.attempt.output for detail in stored.records(store, run.id)] == [0, 1, 2]
    assert count_rows(store, "sources") == 1


def test_verdicts_outlive_the_recorded_file(store: Store, tmp_path: Path) -> None:
    refs, _ = recorded(tmp_path, 1)
    store.begin(RUN)
    store.append(RUN.id, [stored.row(0, source=refs[0])])
    store.finish(RUN, stored.measured(1), None)
    (tmp_path / "traces.jsonl").unlink()
    assert store.aggregates(RUN.id) == stored.measured(1)
    assert len(list(store.verdicts(RUN.id))) == 1
    with pytest.raises(BrokenError, match="is gone"):
        store.case(RUN.id, "case_00000")


def test_the_sides_of_a_comparison_are_identified_without_the_recorded_file(store: Store, tmp_path: Path) -> None:
    refs, _ = recorded(tmp_path, 2)
    store.begin(RUN)
    store.append(RUN.id, [stored.row(number, source=ref) for number, ref in enumerate(refs)])
    store.finish(RUN, Measured(2, ()), None)
    (tmp_path / "traces.jsonl").unlink()
    sides = store.sides(RUN.id, identified=True)
    assert [(side.question, side.reference) for side in sides.cases] == [
        (codec.identity(case.input), codec.identity(case.expected)) for case in map(stored.case, range(2))
    ]


def test_appending_is_all_or_nothing(store: Store) -> None:
    store.begin(RUN)
    store.append(RUN.id, [stored.row(0)])
    with pytest.raises(BrokenError):
        store.append(RUN.id, [stored.row(1), stored.row(0)])
    assert [row.case_id for row in store.verdicts(RUN.id)] == ["case_00000"]
    assert count_rows(store, "blocks") == 1
    store.append(RUN.id, [])
    store.append(RUN.id, [stored.row(1)])
    assert len(list(store.verdicts(RUN.id))) == 2


def test_text_from_an_agent_is_only_text(store: Store) -> None:
    hostile = "'; DROP TABLE runs; --\x00\x1b[31m\u202e" + "x" * 2_000_000
    case = Case(id="a'\x00b", input=hostile, metadata={hostile[:40]: [None, True, 1.5]})
    store.begin(RUN)
    attempt = replace(stored.attempt(0), case_id=case.id, output=hostile, log=hostile)
    store.append(RUN.id, [stored_case(0, case, attempt, stored.VERDICTS)])
    found = store.case(RUN.id, case.id)
    assert (found.case, found.attempt) == (case, attempt)


def test_a_trivial_case_takes_little_room(tmp_path: Path) -> None:
    count = 2_000
    with Store.open(tmp_path / ".oloproof") as store:
        store.begin(RUN)
        for first in range(0, count, 256):
            store.append(RUN.id, [stored.row(number) for number in range(first, min(first + 256, count))])
        store.finish(RUN, stored.measured(count), POLICY)
    assert (tmp_path / ".oloproof" / "oloproof.db").stat().st_size <= 200 * count
