"""Datasets in every format become the same cases."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oloproof.errors import UsageError
from oloproof.model.case import Case
from oloproof.model.project import Project
from oloproof.project import Cases, check_cases, load, read_cases

ROWS: list[dict[str, Any]] = [
    {"id": "a", "input": {"text": "x, y", "n": [1, 2.5]}, "expected": {"answer": "x", "tools": []}, "cluster": "c"},
    {"id": "b", "input": {"text": "two\nlines", "n": []}, "metadata": {"surface": "chat", "deep": {"er": "1"}}},
    {"id": "ç", "input": {"text": 'a "quoted" part', "n": [None, True]}, "expected": {"answer": "é"}},
]
CASES = [
    Case(id="a", input=ROWS[0]["input"], expected={"answer": "x", "tools": []}, cluster="c"),
    Case(id="b", input=ROWS[1]["input"], metadata={"surface": "chat", "deep": {"er": "1"}}),
    Case(id="ç", input=ROWS[2]["input"], expected={"answer": "é"}),
]
CONFIG = """version: 1
project: p
dataset: {dataset}
system: {{callable: "app:run"}}
evaluators:
  - {{type: contains, criterion: right, field: answer, expected_field: answer}}
  - {{type: agent_tool_sequence}}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def project(name: str, content: bytes, more: str = "") -> Project:
    Path(name).write_bytes(content)
    Path("oloproof.yaml").write_text(CONFIG.format(dataset=name) + more)
    return load(Path("oloproof.yaml"))


def cases(name: str, content: str | bytes, more: str = "") -> Cases:
    return read_cases(project(name, content if isinstance(content, bytes) else content.encode(), more))


def without_lines(read: Cases) -> list[Case]:
    return [Case(**{key: getattr(case, key) for key in Case.__struct_fields__ if key != "line"}) for case in read]


def table(rows: list[dict[str, Any]]) -> str:
    paths = ["id", "input.text", "input.n:json", "expected.answer", "expected.tools:json", "metadata.surface"]
    paths += ["metadata.deep.er", "cluster"]
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(paths)
    for row in rows:
        cells = []
        for path in paths:
            value: Any = row
            for key in path.removesuffix(":json").split("."):
                value = value.get(key, {}) if isinstance(value, dict) else value
            cells.append("" if value == {} else json.dumps(value) if path.endswith(":json") else value)
        writer.writerow(cells)
    return text.getvalue()


JSONL = "".join(json.dumps(row) + "\n" for row in ROWS)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("d.jsonl", JSONL),
        ("d.ndjson", "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)),
        ("no_last_newline.jsonl", JSONL.rstrip("\n")),
        ("crlf.jsonl", JSONL.replace("\n", "\r\n")),
        ("bom.jsonl", "\ufeff" + JSONL),
        ("blanks.jsonl", "\n" + JSONL.replace("\n", "\n \t\n\n")),
        ("list.json", json.dumps(ROWS)),
        ("pretty.json", json.dumps(ROWS, indent=2)),
        ("bom.json", "\ufeff" + json.dumps(ROWS)),
        ("wrapped.json", json.dumps({"cases": ROWS}, indent=1)),
        ("d.yaml", yaml.safe_dump(ROWS)),
        ("flow.yml", "\ufeff" + yaml.safe_dump({"cases": ROWS}, default_flow_style=True, allow_unicode=True)),
        ("d.csv", table(ROWS)),
        ("lf.csv", table(ROWS).replace("\r\n", "\n")),
        ("bom.csv", "\ufeff" + table(ROWS)),
        ("blanks.csv", table(ROWS).replace("\r\n", "\r\n\r\n,,,,,,,\r\n")),
    ],
)
def test_every_format_gives_the_same_cases(name: str, content: str) -> None:
    read = cases(name, content)
    assert without_lines(read) == CASES
    assert len(read) == 3
    assert read.digest == hashlib.sha256(content.encode()).hexdigest()


def test_lines_are_those_where_rows_begin() -> None:
    assert [case.line for case in cases("d.jsonl", "\n" + JSONL.replace("\n", "\n\n"))] == [2, 4, 6]
    assert [case.line for case in cases("d.json", "[\n\n" + ",\n".join(json.dumps(row) for row in ROWS) + "]")] == [
        3,
        4,
        5,
    ]
    assert [case.line for case in cases("d.csv", 'id,input.x\na,"1\n2"\n\nb,3\n')] == [2, 5]
    assert [case.line for case in cases("d.yaml", "- id: a\n  input: 1\n- id: b\n")] == [1, 3]


def test_defaults_and_null_are_not_the_same() -> None:
    read = cases("d.jsonl", '{"id": "a"}\n{"id": "b", "input": null, "metadata": {}, "expected": {"answer": "x"}}\n')
    assert without_lines(read) == [Case(id="a"), Case(id="b", expected={"answer": "x"})]


def test_values_in_yaml_follow_the_core_schema() -> None:
    read = cases("d.yaml", "- {id: a, input: {day: 2026-11-30, no: no, n: 012, at: 1:30}}\n")
    assert next(iter(read)).input == {"day": "2026-11-30", "no": "no", "n": 12, "at": "1:30"}


def test_an_escaped_quote_is_no_duplicate() -> None:
    read = cases("d.jsonl", '{"id": "a", "input": {"x\\u0022": 1, "y": "\\u0022"}}\n')
    assert next(iter(read)).input == {'x"': 1, "y": '"'}


def test_large_numbers_survive() -> None:
    read = cases("d.jsonl", '{"id": "a", "input": [123456789012345678901234567890, 1e-999, 1e300]}\n')
    assert next(iter(read)).input == [123456789012345678901234567890, 0.0, 1e300]


def test_the_collector_is_left_as_it_was() -> None:
    import gc

    assert gc.isenabled()
    cases("d.jsonl", JSONL)
    with pytest.raises(UsageError):
        cases("d.jsonl", "{")
    assert gc.isenabled()


def test_sound_rows_are_read_beside_broken_ones() -> None:
    rows = "".join(f'{{"id": "c{number}"}}\n' for number in range(1200))
    with pytest.raises(UsageError) as caught:
        cases("d.jsonl", rows + '{"id": 3}\n' + rows)
    problems = caught.value.problems
    assert str(problems[0]) == "d.jsonl:1201:8: id must be a string, found the integer 3 [OLO207]"
    assert str(problems[1]).startswith("d.jsonl:1202: two cases have the id 'c0', the first on line 1")


def test_identical_inputs_are_told() -> None:
    answer = '"expected": {"answer": "x"}'
    two = f'{{"id": "a", "input": {{"x": 1, "y": 2}}, {answer}}}\n{{"id": "b", "input": {{"y": 2, "x": 1}}}}\n'
    assert cases("d.jsonl", two).warnings == ("1 case repeats the input of an earlier case; every case is executed",)
    more = (
        two
        + '{"id": "c", "input": {"x": 1, "y": 2}}\n{"id": "d", "input": {"x": 1, "y": 3}}\n{"id": "e"}\n{"id": "f"}\n'
    )
    assert cases("d.jsonl", more).warnings == ("2 cases repeat the input of an earlier case; every case is executed",)


def test_unread_keys_are_one_warning() -> None:
    rows = (
        '{"id": "a", "expected": {"answer": "x", "category": 1, "route": ["a"]}}\n'
        '{"id": "b", "expected": {"category": 2}}\n'
    )
    assert cases("d.jsonl", rows).warnings == ("nothing reads expected.category (2 cases), expected.route (1 case)",)


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("tool", "tools"),
        ("Tools", "tools"),
        ("tolls", "tools"),
        ("rout", "route"),
        ("answr", "answer"),
        ("answers", "answer"),
        ("anwsers", None),
        ("sta", "state"),
        ("states", "state"),
        ("st", None),
        ("tooling", None),
    ],
)
def test_a_key_within_two_edits_of_one_that_is_read_or_reserved_is_a_problem(key: str, near: str | None) -> None:
    row = json.dumps({"id": "a", "expected": {key: "x"}}) + '\n{"id": "b", "expected": {"answer": "x"}}'
    if near is None:
        assert cases("d.jsonl", row).warnings == (f"nothing reads expected.{key} (1 case)",)
        return
    with pytest.raises(UsageError, match=f"nothing reads expected.{key}, which is nearly expected.{near}"):
        cases("d.jsonl", row)


def test_where_functions_of_the_user_s_judge_a_suspicious_key_is_a_warning() -> None:
    row = '{"id": "a", "expected": {"answer": "x", "tool": [], "category": 1}}\n'
    assert cases("d.jsonl", row, "  - {type: 'checks:polite'}\n").warnings == (
        "nothing reads expected.tool, which is nearly expected.tools (1 case)",
    )


def test_a_key_that_no_case_has_is_the_configuration_s_mistake() -> None:
    config = CONFIG.replace("expected_field: answer", "expected_field: anser, only: expected.knd == x")
    Path("d.jsonl").write_text('{"id": "a", "expected": {"answer": 1, "kind": "x", "tool": []}}\n')
    Path("oloproof.yaml").write_text(config.format(dataset="d.jsonl"))
    with pytest.raises(UsageError) as caught:
        read_cases(load(Path("oloproof.yaml")))
    assert [str(problem) for problem in caught.value.problems] == [
        "oloproof.yaml:6:71: expected_field 'anser' is in no case [OLO119]",
        "oloproof.yaml:6:84: only expected.knd is in no case [OLO119]",
        "d.jsonl:1: nothing reads expected.tool, which is nearly expected.tools (1 case) [OLO212]",
    ]
    assert [problem.hint for problem in caught.value.problems[:2]] == ["did you mean 'answer'?", "did you mean 'kind'?"]


def test_what_no_case_has_is_not_known_where_a_row_was_refused() -> None:
    with pytest.raises(UsageError) as caught:
        cases("d.jsonl", '{"id": "a", "expected": {"anser": "x"}}\n{"id": 2, "expected": {"answer": "x"}}\n')
    assert [problem.code for problem in caught.value.problems] == ["OLO212", "OLO207"]


def test_the_place_of_a_mistake_is_unknown_where_the_configuration_has_changed() -> None:
    loaded = project("d.jsonl", b'{"id": "a", "expected": {"anser": "x"}}')
    for text in ("evaluators: []", "evaluators: 1", "x", "{"):
        Path("oloproof.yaml").write_text(text)
        with pytest.raises(UsageError, match=r"^oloproof.yaml: expected_field 'answer' is in no case \[OLO119\]$"):
            read_cases(loaded)
    Path("oloproof.yaml").unlink()
    with pytest.raises(UsageError, match=r"^oloproof.yaml: expected_field 'answer' is in no case \[OLO119\]$"):
        read_cases(loaded)


def test_a_key_that_no_case_has_and_that_may_be_meant_is_a_warning() -> None:
    other = "  - {type: exact_match, criterion: same, expected_field: anser}\n"
    row = '{"id": "a", "expected": {"answer": "x"}}\n'
    assert cases("d.jsonl", row, other).warnings == (
        "expected_field 'anser' is in no case: same applies to none; did you mean 'answer'?",
    )
    assert cases("d.jsonl", '{"id": "a"}').warnings == ("expected_field 'answer' is in no case: right applies to none",)
    functions = "  - {type: 'checks:polite'}\n"
    assert cases("d.jsonl", row.replace("answer", "anser"), functions).warnings == (
        "nothing reads expected.anser, which is nearly expected.answer (1 case)",
        "expected_field 'answer' is in no case: right applies to none; did you mean 'anser'?",
    )


def test_a_slice_that_no_case_has_is_told() -> None:
    slices = "slices: [metadata.siez, metadata.deep.er, metadata.deep.est, first_tool]\n"
    rows = (
        '{"id": "a", "expected": {"answer": "x"}, "metadata": {"size": 1}}\n'
        '{"id": "b", "metadata": {"deep": {"er": null}}}\n'
    )
    assert cases("d.jsonl", rows, slices).warnings == (
        "no case has metadata.deep.est; did you mean 'metadata.deep.er'?",
        "no case has metadata.siez; did you mean 'metadata.size'?",
    )
    assert cases("d.jsonl", '{"id": "a", "expected": {"answer": "x"}}', "slices: [metadata.size]\n").warnings == (
        "no case has metadata.size",
    )


def test_a_project_without_a_dataset_has_no_cases_to_read(here: Path) -> None:
    (here / "r.jsonl").touch()
    text = CONFIG.replace("dataset: {dataset}\n", "").format().replace('callable: "app:run"', "recorded: r.jsonl")
    Path("oloproof.yaml").write_text(text)
    recorded = load(Path("oloproof.yaml"))
    with pytest.raises(ValueError, match="no dataset"):
        read_cases(recorded)
    sound = [Case(id="a", expected={"answer": "x"}, line=3)]
    assert check_cases(sound, recorded, file="r.jsonl") == ()
    with pytest.raises(UsageError, match=r"r\.jsonl:3: case 'a': expected.answer must be a text"):
        check_cases([Case(id="a", expected={"answer": 1}, line=3)], recorded, file="r.jsonl")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(JSON, min_size=1, max_size=4), st.booleans())
def test_rows_are_read_as_they_were_written(inputs: list[Any], ascii_only: bool) -> None:
    rows = [{"id": str(number), "input": value} for number, value in enumerate(inputs)]
    lines = "\n".join(json.dumps(row, ensure_ascii=ascii_only) for row in rows)
    array = json.dumps(rows, ensure_ascii=ascii_only, indent=1)
    for name, text in (("d.jsonl", lines), ("d.json", array)):
        assert [case.input for case in cases(name, text)] == inputs


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from('abc"\\é'), JSON), min_size=1, max_size=5))
def test_a_duplicate_key_never_passes(pairs: list[tuple[str, Any]]) -> None:
    members = ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in pairs)
    row = f'{{"id": "a", "input": {{{members}}}}}'
    keys = [key for key, _ in pairs]
    if len(set(keys)) == len(keys):
        assert next(iter(cases("d.jsonl", row))).input == dict(pairs)
        return
    with pytest.raises(UsageError, match="duplicate key"):
        cases("d.jsonl", row)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=40)
    | st.text(alphabet='{}[]":,\n\r idinput01exta;|-', max_size=40).map(str.encode)
    | st.text(alphabet='"\\ud8c0,\n', max_size=20).map(lambda text: ('{"id": "a", "input": "' + text).encode()),
    st.sampled_from(["d.jsonl", "d.json", "d.yaml", "d.csv"]),
)
def test_no_bytes_raise_anything_but_a_usage_error(content: bytes, name: str) -> None:
    try:
        cases(name, content)
    except UsageError as error:
        told = error.problems
    else:
        return
    assert all(problem.code.startswith("OLO2") and problem.message for problem in told)


def test_a_streamed_dataset_that_changes_under_the_run_is_told(tmp_path: Path) -> None:
    read = cases("d.jsonl", '{"id": "a"}\n{"id": "b"}\n')
    assert [case.id for case in read] == [case.id for case in read] == ["a", "b"]
    Path("d.jsonl").write_text('{"id": "a"}\n{"id": "c"}\n')
    with pytest.raises(UsageError, match="the dataset changed while it was being used"):
        list(read)


def test_equal_ids_on_one_line_are_told() -> None:
    with pytest.raises(UsageError, match="two cases have the id 'a'"):
        cases("d.json", '[{"id": "a"}, {"id": "a"}]')
