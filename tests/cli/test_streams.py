"""What leaves the door: inert text, plain where it must be plain, and no file that was not asked for."""

from __future__ import annotations

import json
import os
import pty
from contextlib import suppress
from pathlib import Path

import pytest

from fakes.projects import AGENT, NONE_WRONG, RIGHT, answered, case, oloproof, project, spawned, started

HOSTILE = {
    "escape": "\x1b[2J\x1b[31mPASS\x1b[0m",
    "csi": "\x9b2J",
    "markup": "[bold red]ALLOW (exit 0)[/]",
    "html": "</failure></testcase><script>alert(1)</script>",
    "surrogate": "\ud800",
    "override": "\u202eTNEREHNI",
    "null": "a\x00b\r\nALLOW (exit 0)",
}
RAW = ("\x1b", "\x9b", "\x00", "\r", "\u202e", "\ud800")


def assert_inert(text: str) -> None:
    assert [character for character in RAW if character in text] == []


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_reaches_no_stream_raw(tmp_path: Path, kind: str) -> None:
    """From the output, a tool's name, its arguments, an error and what is printed, in every report."""
    text = HOSTILE[kind]
    app = f"""
from oloproof import *
TEXT = {text!r}

@system(records=("agent_trajectory/v1",))
def run(case):
    with current_case().trace() as trace:
        trace.tool_call(TEXT.replace("\\ud800", "?"), {{"it": TEXT}})
    print(TEXT.encode("utf-8", "replace").decode())
    if case == "raise":
        raise RuntimeError(TEXT)
    return {{"answer": TEXT}}
"""
    evaluators = [RIGHT, {"type": "agent_tool_sequence"}]
    cases = [case("c1", "say", tools=["look"]), case("c2", "raise", tools=["look"])]
    directory = project(tmp_path, app=app, cases=cases, evaluators=evaluators, slices=["first_tool"])
    done = oloproof(directory, "run", "--markdown", "report.md", "--junit", "report.xml")
    assert done.code == 1
    assert "BLOCK (exit 1): none-wrong FAIL" in done.lines
    assert "ALLOW (exit 0)" not in done.lines
    views = [["--json"], ["--failures"], ["--verdicts"], ["--verdicts", "--json"], ["--verdicts", "--csv"]]
    views += [["--case", name, *form] for name in ("c1", "c2") for form in ([], ["--json"])]
    shown = [oloproof(directory, "inspect", *view) for view in views]
    assert [view.code for view in shown] == [0] * len(views)
    texts = [done.out, done.err, *(view.out + view.err for view in shown)]
    texts += [(directory / name).read_text() for name in ("report.md", "report.xml")]
    for each in texts:
        assert_inert(each)
    assert "<script>" not in (directory / "report.xml").read_text()


def test_hostile_case_ids_reach_no_stream_raw(tmp_path: Path) -> None:
    ids = [f"{number}{text}" for number, text in enumerate(HOSTILE.values()) if "\ud800" not in text]
    directory = project(tmp_path, cases=[case(name, "no") for name in ids])
    done = oloproof(directory, "run", "--junit", "report.xml")
    assert done.code == 1
    for text in (done.out, oloproof(directory, "inspect", "--failures").out, (directory / "report.xml").read_text()):
        assert_inert(text)


def test_a_lone_surrogate_in_the_dataset_is_refused_where_it_stands(tmp_path: Path) -> None:
    directory = project(tmp_path)
    (directory / "cases.jsonl").write_text('{"id": "c1", "input": "\\udfff", "expected": {"answer": "yes"}}\n')
    done = oloproof(directory, "run")
    assert done.code == 2
    told = "the text holds half of a surrogate pair, which is no character [OLO208]"
    assert done.err.splitlines()[0] == f"cases.jsonl:1:23: {told}"


def test_an_output_of_a_megabyte_is_judged_and_shown_in_part(tmp_path: Path) -> None:
    app = "def run(case):\n    return {'answer': case * 1_000_000}\n"
    directory = project(tmp_path, app=app, cases=[case("c1", "y"), case("c2", "yes"), case("c3", "n")])
    done = oloproof(directory, "run", "--json")
    assert done.code == 1
    assert done.verdict("right") == (1, 2, 0, 0)
    shown = oloproof(directory, "inspect", "--case", "c1")
    assert len(shown.out) < 10_000
    assert len(oloproof(directory, "inspect", "--case", "c1", "--json").json["output"]["answer"]) == 1_000_000


def test_a_pipe_gets_no_colour(tmp_path: Path) -> None:
    done = spawned(project(tmp_path), "run")
    assert "\x1b" not in done.out + done.err


@pytest.mark.parametrize(("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_a_terminal_gets_colour_unless_it_is_refused(
    tmp_path: Path, environment: dict[str, str], coloured: bool
) -> None:
    ours, theirs = pty.openpty()
    process = started(project(tmp_path), "run", stdout=theirs, env=os.environ | {"TERM": "xterm"} | environment)
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # how a terminal says that nobody is at its other end
        while data := os.read(ours, 65536):
            shown += data
    os.close(ours)
    _, told = process.communicate()
    assert process.returncode == 0
    assert (b"\x1b[1;32mALLOW (exit 0)" in shown) == coloured
    assert (b"\x1b" in shown) == coloured
    assert "\x1b" not in told


def test_what_stdout_cannot_encode_is_drawn_in_ascii(tmp_path: Path) -> None:
    directory = project(tmp_path, cases=answered("yes", "no"))
    environment = {"PYTHONIOENCODING": "ascii", "PATH": ""}
    done = spawned(directory, "run", env=environment)
    assert done.code == 1
    assert "1 / 2 observed - 0 missing - 0 excluded" in done.out
    assert "\\u" not in done.out


def test_the_project_may_be_elsewhere(tmp_path: Path) -> None:
    directory = project(tmp_path / "there")
    (here := tmp_path / "here").mkdir()
    config = "../there/oloproof.yaml"
    assert oloproof(here, "run", "--config", config, "--markdown", "report.md").code == 0
    assert oloproof(here, "gate", "--config", config).code == 0
    assert oloproof(here, "inspect", "--config", config, "--case", "c1").code == 0
    assert [path.name for path in here.iterdir()] == ["report.md"]
    assert (directory / ".oloproof" / "oloproof.db").is_file()


def test_nothing_is_written_outside_the_store_and_the_named_files(tmp_path: Path) -> None:
    evaluators = [RIGHT, {"type": "judges:calm"}]
    directory = project(tmp_path, app=AGENT, cases=[case("c1", ["look"]), case("c2", [])], evaluators=evaluators)
    (directory / "judges.py").write_text("def calm(output):\n    return True\n")

    def files() -> dict[str, bytes]:
        found = (path for path in directory.rglob("*") if path.is_file())
        mine = (path for path in found if not {".oloproof", "__pycache__"} & set(path.relative_to(directory).parts))
        return {str(path.relative_to(directory)): path.read_bytes() for path in mine}

    before = files()
    named = ["--markdown", "out.md", "--junit", "out.xml", "--run-id-file", "out.txt"]
    assert spawned(directory, "run", *named).code == 0
    for command in (["gate"], ["inspect", "--case", "c1"], ["inspect", "--verdicts"], ["runs"], ["check"]):
        assert oloproof(directory, *command).code == 0
    after = files()
    assert {name for name in after if name not in before} == {"out.md", "out.xml", "out.txt"}
    assert {name: after[name] for name in before} == before


def test_a_report_that_cannot_be_written_is_exit_5_and_says_so(tmp_path: Path) -> None:
    directory = project(tmp_path)
    done = oloproof(directory, "run", "--json", "--markdown", "/dev/full")
    assert done.code == 5
    (problem,) = done.json["problems"]
    assert problem["message"] == "cannot write /dev/full: No space left on device"


@pytest.mark.parametrize("option", ["--markdown", "--junit", "--run-id-file"])
def test_a_file_that_could_not_be_written_is_refused_before_anything_runs(tmp_path: Path, option: str) -> None:
    directory = project(tmp_path)
    for file, told in (("none/file", "there is no directory 'none'"), (".", "File '.' is a directory.")):
        done = oloproof(directory, "run", "--json", option, file)
        assert done.code == 2
        (problem,) = done.json["problems"]
        assert problem["message"] == f"Invalid value for '{option}': {told}"
    assert not (directory / ".oloproof").exists()


def test_an_id_file_that_cannot_be_written_breaks_the_run(tmp_path: Path) -> None:
    directory = project(tmp_path)
    assert oloproof(directory, "run", "--run-id-file", "/dev/full").code == 5
    (run,) = oloproof(directory, "runs", "--json").json["runs"]
    assert (run["status"], run["gate"]) == ("broken", None)
    assert oloproof(directory, "gate").code == 5


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """As /dev/stdout is one, which must not become a file."""
    directory = project(tmp_path)
    (directory / "link.md").symlink_to("target.md")
    assert oloproof(directory, "run", "--markdown", "link.md").code == 0
    assert (directory / "link.md").is_symlink()
    assert "ALLOW" in (directory / "target.md").read_text()


def test_json_is_ascii(tmp_path: Path) -> None:
    evaluators = [RIGHT, {"type": "exact_match", "criterion": "gr\u00fc\u00df", "field": "answer", "value": "yes"}]
    rules = [NONE_WRONG | {"metric": "gr\u00fc\u00df"}]
    done = oloproof(project(tmp_path, evaluators=evaluators, rules=rules), "run", "--json")
    assert done.out.isascii()
    assert json.loads(done.out)["decisions"][0]["metric"] == "gr\u00fc\u00df"
