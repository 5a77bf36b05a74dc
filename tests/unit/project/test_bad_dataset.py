"""Everything that can be wrong with a dataset: the exact message, its place, code and hint."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from oloproof.errors import UsageError
from oloproof.project import load, read_cases

CONFIG = """version: 1
project: p
dataset: {dataset}
system: {{callable: "app:run"}}
evaluators:
  - {{type: contains, criterion: right, field: answer, expected_field: answer}}
  - {{type: agent_tool_sequence}}
"""
SOUND = '{"id": "a", "expected": {"answer": "x"}}\n'


class Bad(NamedTuple):
    """A dataset, what is said of it (without the file's name) and the hint of the first problem."""

    file: str
    content: str | bytes
    problems: list[str]
    hint: str


TABLE = [
    Bad("empty.jsonl", "", [": the dataset has no cases [OLO204]"], ""),
    Bad("blank.jsonl", "\n \n", [": the dataset has no cases [OLO204]"], ""),
    Bad(
        "d.txt",
        "x",
        [": no dataset format has the suffix '.txt' [OLO201]"],
        "the formats are .jsonl, .ndjson, .json, .yaml, .yml, .csv",
    ),
    Bad("d.jsonl.gz", "x", [": no dataset format has the suffix '.gz' [OLO201]"], "decompress it first"),
    Bad("gz.jsonl", b"\x1f\x8b\x08", [": the file is compressed (gzip) [OLO202]"], "decompress it first"),
    Bad(
        "u16.jsonl",
        '{"id":"a"}'.encode("utf-16"),
        [":1:1: not UTF-8: byte 0xff (invalid start byte) [OLO202]"],
        "save the file as UTF-8",
    ),
    Bad(
        "u16.json",
        '{"id":"a"}'.encode("utf-16"),
        [":1:1: not UTF-8: byte 0xff (invalid start byte) [OLO202]"],
        "save the file as UTF-8",
    ),
    Bad(
        "latin.jsonl",
        SOUND.encode() + b'{"id": "caf\xe9"}\n',
        [":2:12: not UTF-8: byte 0xe9 (invalid continuation byte) [OLO202]"],
        "save the file as UTF-8",
    ),
    Bad(
        "latin.json",
        b'[{"id": "a"},\n {"id": "caf\xe9"}]',
        [":2:12: not UTF-8: byte 0xe9 (invalid continuation byte) [OLO202]"],
        "save the file as UTF-8",
    ),
    Bad(
        "latin.csv",
        b"id\ncaf\xe9\n",
        [":2:4: not UTF-8: byte 0xe9 (invalid continuation byte) [OLO202]"],
        "save the file as UTF-8",
    ),
    Bad(
        "latin.yaml",
        b"- {id: caf\xe9}\n",
        [":1:11: not UTF-8: byte 0xe9 (invalid continuation byte) [OLO202]"],
        "save the file as UTF-8",
    ),
    Bad(
        "syn1.jsonl",
        SOUND + '{"id": "b",}\n',
        [":2:12: not valid JSON: a key in double quotes should be here [OLO203]"],
        "",
    ),
    Bad(
        "syn2.jsonl",
        SOUND + '{"id": "b"\n',
        [":2:11: not valid JSON: a comma or } should be here [OLO203]"],
        "a row is one JSON object; in a JSONL file it stands on one line",
    ),
    Bad("syn3.jsonl", SOUND + '{"id": b}\n', [":2:8: not valid JSON: b is not a JSON value [OLO203]"], ""),
    Bad(
        "syn4.jsonl",
        SOUND + "{'id': 1}\n",
        [":2:2: not valid JSON: a key in double quotes should be here [OLO203]"],
        "",
    ),
    Bad("syn5.jsonl", '{"id": "b"} x\n', [":1:13: not valid JSON: more text after the value [OLO203]"], ""),
    Bad(
        "syn6.jsonl",
        '{\n"id": "b"\n}\n',
        [
            ":1:2: not valid JSON: a key in double quotes should be here [OLO203]",
            ":2:5: not valid JSON: more text after the value [OLO203]",
            ":3:1: not valid JSON: '}' where a value should be [OLO203]",
        ],
        "a row is one JSON object; in a JSONL file it stands on one line",
    ),
    Bad("syn7.jsonl", '{"id" "b"}\n', [":1:7: not valid JSON: a colon should be here [OLO203]"], ""),
    Bad("syn8.jsonl", '{"id": "b\n', [":1:8: not valid JSON: unterminated string [OLO203]"], ""),
    Bad("syn9.jsonl", '{"id": "a\\q"}\n', [":1:10: not valid JSON: invalid \\escape [OLO203]"], ""),
    Bad("syn10.jsonl", '{"id": "a\tb"}\n', [":1:10: not valid JSON: invalid control character [OLO203]"], ""),
    Bad("syn11.jsonl", '{"id": "b" "input": 1}\n', [":1:12: not valid JSON: a comma or } should be here [OLO203]"], ""),
    Bad(
        "syn12.jsonl",
        '{"id": "b", "input": [1 2]}\n',
        [":1:25: not valid JSON: a comma or ] should be here [OLO203]"],
        "",
    ),
    Bad(
        "syn13.jsonl", '{"id": "b", "input": 01}\n', [":1:23: not valid JSON: a comma or } should be here [OLO203]"], ""
    ),
    Bad("syn14.jsonl", "[1,2]\n", [":1:1: a row must be a mapping, found a list [OLO207]"], ""),
    Bad("syn15.jsonl", '"x"\n', [":1:1: a row must be a mapping, found the string 'x' [OLO207]"], ""),
    Bad("nan.jsonl", '{"id": "b", "input": NaN}\n', [":1:22: not valid JSON: NaN is not a JSON value [OLO203]"], ""),
    Bad(
        "inf.jsonl",
        '{"id": "b", "input": -Infinity}\n',
        [":1:22: not valid JSON: -Infinity is not a JSON value [OLO203]"],
        "",
    ),
    Bad("huge.jsonl", '{"id": "b", "input": 1e999}\n', [":1:22: the number 1e999 is out of range [OLO208]"], ""),
    Bad(
        "dup.jsonl",
        '{"id": "b", "input": {"x": 1, "x": 2}}\n',
        [":1:31: duplicate key 'x', first on line 1 [OLO209]"],
        "keep one of them",
    ),
    Bad(
        "dup2.jsonl",
        '{"id": "b", "id": "c"}\n',
        [":1:13: duplicate key 'id', first on line 1 [OLO209]"],
        "keep one of them",
    ),
    Bad(
        "dup3.jsonl",
        '{"id": "b", "input": {"x\\u0022": 1, "x\\"": 2}}\n',
        [":1:37: duplicate key 'x\"', first on line 1 [OLO209]"],
        "keep one of them",
    ),
    Bad(
        "dup.json",
        '{"cases": [{"id": "a"}], "cases": []}',
        [":1:26: duplicate key 'cases', first on line 1 [OLO209]"],
        "keep one of them",
    ),
    Bad(
        "dup2.json",
        '[{"id": "a"},\n  {"id": "b", "id": "c"}]',
        [":2:15: duplicate key 'id', first on line 2 [OLO209]"],
        "keep one of them",
    ),
    Bad(
        "surr.jsonl",
        '{"id": "b", "input": "\\ud800"}\n',
        [":1:22: the text holds half of a surrogate pair, which is no character [OLO208]"],
        "write both halves, or remove it",
    ),
    Bad(
        "surr2.jsonl",
        '{"id": "\\udc00\\ud800"}\n',
        [":1:8: the text holds half of a surrogate pair, which is no character [OLO208]"],
        "write both halves, or remove it",
    ),
    Bad(
        "deep.jsonl",
        '{"id": "b", "input": ' + "[" * 5000 + "]" * 5000 + "}\n",
        [":1:1: nested too deeply [OLO210]"],
        "",
    ),
    Bad("noid.jsonl", '{"input": 1}\n', [":1:1: a row needs the key 'id' [OLO206]"], ""),
    Bad(
        "intid.jsonl",
        '{"id": 7}\n',
        [":1:8: id must be a string, found the integer 7 [OLO207]"],
        'write it in quotes: "7"',
    ),
    Bad("emptyid.jsonl", '{"id": ""}\n', [":1:8: id must not be empty [OLO208]"], ""),
    Bad("nullid.jsonl", '{"id": null}\n', [":1:8: id has no value; it must be a string [OLO207]"], ""),
    Bad(
        "dupid.jsonl",
        SOUND + "\n" + SOUND,
        [":3: two cases have the id 'a', the first on line 1 [OLO211]"],
        "give each case an id of its own",
    ),
    Bad(
        "dupid.json",
        '[{"id": "a"}, {"id": "a"}]',
        [":1: two cases have the id 'a', the first on line 1 [OLO211]"],
        "give each case an id of its own",
    ),
    Bad(
        "key.jsonl", '{"id": "a", "expect": {}}\n', [":1:13: unknown key 'expect' [OLO205]"], "did you mean 'expected'?"
    ),
    Bad(
        "key2.jsonl",
        '{"id": "a", "zzz": {}}\n',
        [":1:13: unknown key 'zzz' [OLO205]"],
        "the keys are: id, input, expected, metadata, cluster",
    ),
    Bad(
        "exp.jsonl",
        '{"id": "a", "expected": "x"}\n',
        [":1:25: expected must be a mapping, found the string 'x' [OLO207]"],
        'write {"answer": "x"}',
    ),
    Bad(
        "exp2.jsonl",
        '{"id": "a", "expected": null}\n',
        [":1:25: expected has no value; it must be a mapping [OLO207]"],
        "",
    ),
    Bad(
        "meta.jsonl", '{"id": "a", "metadata": [1]}\n', [":1:25: metadata must be a mapping, found a list [OLO207]"], ""
    ),
    Bad(
        "cluster.jsonl",
        '{"id": "a", "cluster": 3}\n',
        [":1:24: cluster must be a string, found the integer 3 [OLO207]"],
        'write it in quotes: "3"',
    ),
    Bad(
        "near.jsonl",
        '{"id": "a", "expected": {"tool": ["x"]}}\n{"id": "b", "expected": {"tool": ["x"], "anser": "y"}}\n'
        + SOUND.replace('"a"', '"c"'),
        [
            ":1: nothing reads expected.tool, which is nearly expected.tools (2 cases) [OLO212]",
            ":2: nothing reads expected.anser, which is nearly expected.answer (1 case) [OLO212]",
        ],
        "did you mean 'tools'? a note to yourself belongs in metadata",
    ),
    Bad(
        "ref.jsonl",
        '{"id": "a", "expected": {"tools": "x"}}\n',
        [
            ":1:35: case 'a': expected.tools must be a list of tools [OLO213]",
        ],
        "a part of it is a tool's name, {tool, arguments} or {parallel: […]}",
    ),
    Bad(
        "ref2.jsonl",
        '{"id": "a", "expected": {"answer": ""}}\n',
        [":1:36: case 'a': expected.answer must be a text that is not empty [OLO213]"],
        "",
    ),
    Bad(
        "calls.jsonl",
        '{"id": "a", "expected": {"tools": ["x", 3, {"tool": "", "argumens": {}}, {"tool": "x", "arguments": []}]}}\n'
        '\n{"id": "b", "expected": {"tools": [{"parallel": [], "x": 1}, {"parallel": [{"parallel": ["x"]}]}]}}\n'
        '{"id": "c", "expected": {"tools": ["x"], "any_of": [["x"]]}}\n{"id": "d", "expected": {"any_of": [[], "x"]}}\n'
        '{"id": "e", "expected": {"any_of": []}}\n',
        [
            ":1:41: case 'a': expected.tools.1 must be a tool's name, {tool, arguments} or {parallel: […]} [OLO213]",
            ":1:53: case 'a': expected.tools.2.tool must be a tool's name [OLO213]",
            ":1:69: case 'a': expected.tools.2.argumens is no key here: the keys are tool and arguments [OLO213]",
            ":1:101: case 'a': expected.tools.3.arguments must be an object of arguments by name [OLO213]",
            ":3:49: case 'b': expected.tools.0.parallel must be a list of calls that is not empty [OLO213]",
            ":3:58: case 'b': expected.tools.0.x is no key here: parallel stands alone [OLO213]",
            ":3:76: case 'b': expected.tools.1.parallel.0 must be a tool's name or {tool, arguments} [OLO213]",
            ":4:52: case 'c': expected.any_of is there beside expected.tools [OLO213]",
            ":5:41: case 'd': expected.any_of.1 must be a list of tools [OLO213]",
            ":6:36: case 'e': expected.any_of is empty: no run is one of no alternatives [OLO213]",
        ],
        "",
    ),
    Bad(
        "matchers.yaml",
        "- id: a\n  expected:\n    tools:\n    - tool: x\n      arguments:\n        a: {one_of: []}\n"
        "        b: {approx: 1, tolerance: -1}\n        c.d: any\n",
        [
            ":6:12: case 'a': expected.tools.0.arguments.a one_of is empty: no value is one of none [OLO213]",
            ":7:12: case 'a': expected.tools.0.arguments.b approx needs a tolerance from 0 up [OLO213]",
            ":8:14: case 'a': expected.tools.0.arguments.c.d 'any' may be meant as a text or as a matcher [OLO213]",
        ],
        "",
    ),
    Bad(
        "two.json",
        '[{"id": "a", "expected": {"tools": ["x"]}}, {"id": "b", "expected": {"tools": [1]}}]',
        [":1:80: case 'b': expected.tools.0 must be a tool's name, {tool, arguments} or {parallel: […]} [OLO213]"],
        "",
    ),
    Bad(
        "ref.csv",
        'id,expected.tools:json\na,"[1]"\n',
        [":2: case 'a': expected.tools.0 must be a tool's name, {tool, arguments} or {parallel: […]} [OLO213]"],
        "",
    ),
    Bad(
        "wrap.json",
        '{"case": [{"id": "a"}]}',
        [":1:1: the dataset needs the key 'cases' [OLO206]", ":1:2: unknown key 'case' [OLO205]"],
        "or make it a list of rows",
    ),
    Bad("wrap2.json", '{"cases": {"id": "a"}}', [":1:11: the dataset must be a list, found a mapping [OLO207]"], ""),
    Bad("wrap3.json", '{"cases": [{"id": "a"}], "x": 1}', [":1:26: unknown key 'x' [OLO205]"], "the keys are: cases"),
    Bad("scalar.json", "3", [":1:1: the dataset must be a list, found the integer 3 [OLO207]"], ""),
    Bad("e.json", "[]", [": the dataset has no cases [OLO204]"], ""),
    Bad("bad.json", '[{"id": "a"},\n {"id": "b"]', [":2:12: not valid JSON: a comma or } should be here [OLO203]"], ""),
    Bad("tail.json", '[{"id": "a"}] x', [":1:15: not valid JSON: more text after the value [OLO203]"], ""),
    Bad(
        "row.json",
        '[\n  {"id": "a"},\n  {"id": "b", "expectd": {}}\n]',
        [":3:15: unknown key 'expectd' [OLO205]"],
        "did you mean 'expected'?",
    ),
    Bad("empty.json", "", [":1:1: not valid JSON: it ends where a value should be [OLO203]"], ""),
    Bad("key.yaml", "- id: a\n  expectd: {}\n", [":2:3: unknown key 'expectd' [OLO205]"], "did you mean 'expected'?"),
    Bad(
        "id.yaml",
        "- id: 001\n",
        [":1:7: id must be a string, found the integer 001 [OLO207]"],
        'write it in quotes: "001"',
    ),
    Bad(
        "date.yaml",
        "- {id: a, input: {d: 2026-11-30, n: no, o: 012}}\n- {id: a}\n",
        [":2: two cases have the id 'a', the first on line 1 [OLO211]"],
        "give each case an id of its own",
    ),
    Bad(
        "inf.yaml",
        "- {id: a, input: .inf}\n",
        [":1:18: .inf is not a finite number [OLO208]"],
        "JSON has no such value",
    ),
    Bad(
        "syn.yaml",
        "- {id: a\n",
        [":2:1: not valid YAML: did not find expected ',' or '}' (while parsing a flow mapping) [OLO203]"],
        "a bracket is not closed above, or a text that holds a comma, a colon or a bracket stands without quotes",
    ),
    Bad(
        "docs.yaml",
        "- {id: a}\n---\n- {id: b}\n",
        [":2:1: a second document starts here [OLO210]"],
        "keep one document in the file",
    ),
    Bad("wrap.yml", "cases: {a: 1}\n", [":1:8: the dataset must be a list, found a mapping [OLO207]"], ""),
    Bad(
        "intkey.yaml",
        "- {id: a, input: {1: x}}\n",
        [":1:19: the key '1' is not a string [OLO210]"],
        'write it in quotes: "1"',
    ),
    Bad(
        "rag.csv",
        "id,input.x\na,1\nb\nc,1,2\n",
        [":3: this row has 1 cell, the header has 2 [OLO214]", ":4: this row has 3 cells, the header has 2 [OLO214]"],
        'a cell that holds a comma is written in quotes: "a, b"',
    ),
    Bad("dup.csv", "id,id\na,b\n", [":1: the columns 'id' and 'id' fill the same place [OLO214]"], "keep one of them"),
    Bad(
        "pre.csv",
        "id,input,input.x\na,b,c\n",
        [":1: the columns 'input' and 'input.x' fill the same place [OLO214]"],
        "keep one of them",
    ),
    Bad(
        "unk.csv",
        "id,question\na,b\n",
        [":1: unknown column 'question' [OLO205]"],
        "the columns are: id, input, expected, metadata, cluster",
    ),
    Bad(
        "unk2.csv",
        "id,expectd.answer\na,b\n",
        [":1: unknown column 'expectd.answer' [OLO205]"],
        "did you mean 'expected'?",
    ),
    Bad(
        "semi.csv",
        "id;input.x\na;b\n",
        [":1: unknown column 'id;input.x' [OLO205]"],
        "separate the columns with commas",
    ),
    Bad(
        "noname.csv",
        "id,,input.\na,b,c\n",
        [":1: column 2 has no name [OLO214]", ":1: column 3 has no name [OLO214]"],
        "name it or remove it",
    ),
    Bad("idjson.csv", "id:json\n1\n", [":1: the column 'id:json' must be named 'id' [OLO214]"], ""),
    Bad(
        "json.csv",
        'id,expected.tools:json\na,"[""x"""\nb,NaN\n',
        [
            ":2: column 'expected.tools:json': not valid JSON: a comma or ] should be here [OLO203]",
            ":3: column 'expected.tools:json': not valid JSON: NaN is not a JSON value [OLO203]",
        ],
        "",
    ),
    Bad("quote.csv", 'id,input.x\n"a"b,c\n', [":2: not valid CSV: ',' expected after '\"' [OLO203]"], ""),
    Bad("open.csv", 'id,input.x\na,"b\n', [":2: not valid CSV: unexpected end of data [OLO203]"], ""),
    Bad("noid.csv", "id,input.x\n,1\n", [":2: a row needs the key 'id' [OLO206]"], ""),
    Bad("nohead.csv", "", [": the dataset has no cases [OLO204]"], ""),
    Bad("headonly.csv", "id\n", [": the dataset has no cases [OLO204]"], ""),
    Bad(
        "ml.csv",
        'id,input.x\na,"l1\nl2"\nb\n',
        [":4: this row has 1 cell, the header has 2 [OLO214]"],
        'a cell that holds a comma is written in quotes: "a, b"',
    ),
    Bad("exp.csv", "id,expected:json\na,3\n", [":2: expected must be a mapping, found the integer 3 [OLO207]"], ""),
    Bad(
        "big.csv",
        "id,input\na," + "x" * 140000 + "\n",
        [":2: not valid CSV: field larger than field limit (131072) [OLO203]"],
        "keep such a value in a JSONL file",
    ),
    Bad(
        "dupid.csv",
        "id\na\n\na\n",
        [":4: two cases have the id 'a', the first on line 2 [OLO211]"],
        "give each case an id of its own",
    ),
    Bad("miss.csv", "input.x\n1\n", [":1: the table needs the column 'id' [OLO206]"], ""),
]


def problems_of(file: str, content: str | bytes) -> UsageError:
    Path(file).write_bytes(content if isinstance(content, bytes) else content.encode())
    Path("oloproof.yaml").write_text(CONFIG.format(dataset=file))
    project = load(Path("oloproof.yaml"))
    with pytest.raises(UsageError) as caught:
        read_cases(project)
    return caught.value


@pytest.mark.parametrize("bad", TABLE, ids=lambda bad: bad.file)
def test_every_problem_is_told_where_it_is(bad: Bad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    error = problems_of(bad.file, bad.content)
    assert [str(problem).removeprefix(bad.file) for problem in error.problems] == bad.problems
    assert error.problems[0].hint == bad.hint


@pytest.mark.parametrize(
    ("rows", "more"), [(51, "1 more problem"), (60, "10 more problems"), (1550, "1,500 more problems")]
)
def test_fifty_problems_are_enough(rows: int, more: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    each_its_own = "".join(f'{{"id": {number}}}\n' for number in range(rows))
    problems = problems_of("d.jsonl", each_its_own).problems
    assert [problem.line for problem in problems[:50]] == list(range(1, 51))
    assert str(problems[50]) == f"and {more} [OLO100]"
    assert len(problems) == 51


def test_a_mistake_that_every_row_repeats_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    problems = problems_of("d.jsonl", "{}\n" * 100 + '{"id": 7}\n').problems
    assert [problem.line for problem in problems] == [*range(1, 11), 101, 0]
    assert [str(problem) for problem in problems[-2:]] == [
        "d.jsonl:101:8: id must be a string, found the integer 7 [OLO207]",
        "and 90 more problems [OLO100]",
    ]


def test_a_dataset_that_vanished_after_the_configuration_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("d.jsonl", "d.json"):
        Path(name).write_text("[]")
        Path("oloproof.yaml").write_text(CONFIG.format(dataset=name))
        project = load(Path("oloproof.yaml"))
        Path(name).unlink()
        with pytest.raises(UsageError, match=f"{name}: the dataset does not exist"):
            read_cases(project)
        Path(name).mkdir()
        with pytest.raises(UsageError, match=f"{name}: the dataset is a directory"):
            read_cases(project)
