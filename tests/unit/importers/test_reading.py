from __future__ import annotations

import json
from typing import Any

import pytest

from fakes.imports import Memory, as_lines, imported
from oloproof.errors import UsageError
from oloproof.importers import written
from oloproof.importers.lookups import Lookup
from oloproof.importers.naming import stems
from oloproof.importers.reading import Import

RUN = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]


def codes(**how: Any) -> list[tuple[str, str]]:
    with pytest.raises(UsageError) as caught:
        imported(**how) if "name" in how else imported("auto", **how)
    return [(problem.code, problem.message) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (["a/b.c.json"], ["b.c"]),
        (["a\\b.json"], ["b"]),
        ([".json"], [".json"]),
        (["x/run.json", "y/run.json"], ["x/run", "y/run"]),
        (["x/a/run.json", "y/a/run.json", "z.json"], ["x/a/run", "y/a/run", "z"]),
        (["a.json", "a.jsonl"], ["a", "a"]),
    ],
)
def test_runs_are_named_after_their_files(files: list[str], names: list[str]) -> None:
    assert list(stems(files).values()) == names


def test_files_of_one_name_are_not_trials_of_one_case() -> None:
    data = json.dumps(RUN).encode()
    found = imported("openai", files_by_name={"1/run.json": data, "2/run.json": data})
    assert found.names == [("1/run", 1), ("2/run", 1)]


def test_each_file_is_read_as_what_it_looks_like() -> None:
    own = as_lines({"case": "c", "output": 1})
    found = imported("auto", files_by_name={"a.json": json.dumps(RUN).encode(), "b.jsonl": own})
    assert found.names == [("a", 1), ("c", 1)]


@pytest.mark.parametrize("data", [b"hello", b"{}", b"\x00" * 100, b"PK\x03\x04"])
def test_a_file_of_no_known_format_is_told(data: bytes) -> None:
    assert codes(files_by_name={"x.bin": data}) == [
        ("OLO691", "it looks like none of the formats that can be imported")
    ]


@pytest.mark.parametrize("data", [b"", b" \n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_told_as_such(data: bytes) -> None:
    assert codes(files_by_name={"x.jsonl": data}) == [("OLO321", "the file is empty")]


def test_trials_of_one_case_are_numbered_across_files() -> None:
    one, two = {"id": "c", "messages": RUN}, [{"id": "c", "messages": RUN}, {"id": "c", "messages": RUN}]
    assert imported("openai", one, two).names == [("c", 1), ("c", 2), ("c", 3)]


def test_a_trial_that_says_its_number_twice_is_refused() -> None:
    run = {"id": "c", "trial": 2, "messages": RUN}
    assert codes(name="openai", files_by_name={"a.json": as_lines(run, run)}) == [
        ("OLO310", "case 'c', trial 2, was recorded already in a.json:1")
    ]


def test_trials_that_are_there_twice_are_told_once() -> None:
    runs = [{"id": name, "trial": 1, "messages": RUN} for name in "abcdef"]
    told = "case 'a', trial 1, was recorded already in a.json:1; the same of 5 more recordings, of 'b', 'c', 'd' …"
    assert codes(name="openai", files_by_name={"a.json": as_lines(*runs, *runs)}) == [("OLO310", told)]


def test_what_is_lost_in_many_files_is_told_once() -> None:
    lost = {"messages": [*RUN, {"role": "tool", "tool_call_id": "gone", "content": "x"}]}
    sources = [Memory(as_lines(lost), f"{name}.json") for name in "abcde"]
    found = Import(sources, "openai")
    list(found.recordings())
    (told,) = [line for line in found.told_losses() if "answer no recorded call" in line]
    lost_in_all = "not carried over: 5 × results that answer no recorded call"
    assert told == f"a.json, b.json, c.json and 2 more files: {lost_in_all}"


@pytest.mark.parametrize("trial", [0, -1, 10**9, "1", True])
def test_a_number_that_is_no_trial_is_not_taken(trial: Any) -> None:
    assert imported("openai", {"id": "c", "trial": trial, "messages": RUN}).names == [("c", 1)]


def test_metadata_is_looked_up_in_the_run_as_its_file_has_it() -> None:
    run = {"messages": RUN, "metadata": {"old": 1}, "info": {"tags": [{"team.name": "x"}]}}
    found = imported("openai", run, {"messages": RUN}, metadata=["team=$.info.tags[0].team.name", "old=info"])
    assert found.recordings[0].metadata == {"old": run["info"], "team": "x"}
    assert found.recordings[1].metadata is None


def test_metadata_that_no_run_has_is_told() -> None:
    problems = [("OLO694", "--metadata team: no run has info.team")]
    with pytest.raises(UsageError) as caught:
        imported("openai", {"messages": RUN}, metadata=["team=info.team"])
    assert [(problem.code, problem.message) for problem in caught.value.problems] == problems
    assert "attributes.user.id" in caught.value.problems[0].hint


@pytest.mark.parametrize("text", ["", "x", "=a", "x=", "x=a..b", "x=.", "x=$."])
def test_a_path_that_is_none(text: str) -> None:
    with pytest.raises(UsageError, match="OLO694"):
        Lookup.parse(text)


@pytest.mark.parametrize(
    ("path", "value"), [("a.b.c", 1), ("a.b", {"c": 1}), ("a.0", None), ("l.1.x", 2), ("l.9", None), ("l.x", None)]
)
def test_paths_take_the_longest_key_that_is_there(path: str, value: Any) -> None:
    found = Lookup.parse(f"key={path}").of({"a": {"b": 3}, "a.b": {"c": 1}, "l": [0, {"x": 2}]})
    assert found == value or (value is None and repr(found) == "UNSET")


def test_strict_refuses_what_was_lost() -> None:
    run = [*RUN, {"role": "tool", "tool_call_id": "9", "content": "?"}]
    found = Import([Memory(json.dumps(run).encode(), "a.json")], "openai")
    assert len(list(found.recordings())) == 1
    with pytest.raises(UsageError, match="not carried over: 1 × results that answer no recorded call") as caught:
        found.refuse_losses()
    assert [(problem.code, problem.file) for problem in caught.value.problems] == [("OLO690", "a.json")]


def test_values_nested_too_deeply_are_cut_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    encode = written.encode

    def shallow(value: Any) -> bytes:
        line = encode(value)
        if b"[" * 150 in line[written.MARGIN :]:  # how deep is too deep is up to the interpreter
            raise RecursionError
        return line

    monkeypatch.setattr(written, "encode", shallow)
    found = imported("openai", {"messages": RUN, "input": deep})
    assert found.losses == {"nested_too_deeply": 1}
    assert found.only.output == {"answer": "ho"}


@pytest.mark.parametrize("data", [b"[" * 10_000_000, b'{"a":' * 1_000_000, b'"' + b"x" * 10_000_000])
def test_bombs_are_refused(data: bytes) -> None:
    assert [code for code, _ in codes(name="openai", files_by_name={"x.json": data})] == ["OLO321"]


def test_what_a_parser_reads_and_nobody_can_look_into_is_refused_where_it_stands() -> None:
    deep = b"[" * 800 + b"]" * 800
    sample = b'{"id": 1, "messages": [], "attachments": {"a": "b"}, "metadata": ' + deep + b"}"
    log = b'{"eval": {"task": "t"}, "samples": [' + sample + b"]}"
    with pytest.raises(UsageError) as caught:
        imported("inspect", files_by_name={"a.json": b'{"eval": {}, "samples": []}', "x.json": log})
    assert [(problem.code, problem.file) for problem in caught.value.problems] == [
        ("OLO323", "a.json"),
        ("OLO321", "x.json"),
    ]
    assert codes(name="auto", files_by_name={"x.json": deep})[0][0] == "OLO691"


def test_a_file_of_lines_is_read_as_it_is_asked_for() -> None:
    def lines() -> Any:
        yield from (json.dumps({"messages": RUN}).encode() + b"\n" for _ in range(10))
        raise AssertionError("read too far")

    source = Memory(b"", "a.jsonl")
    source.lines = lines  # type: ignore[method-assign]
    runs = Import([source], "openai").recordings()
    assert [next(runs).recording.case for _ in range(9)] == [f"a_{number}" for number in range(1, 10)]
