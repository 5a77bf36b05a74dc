"""A run that was cut short is completed, and then nobody can tell it from one that was not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fakes.projects import NONE_WRONG, REVIEWED, Row, answered, oloproof, project
from oloproof import pipeline
from oloproof.cli.asked import Asked, words_again
from oloproof.cli.run_command import command
from oloproof.model.case import Attempt, Case
from oloproof.model.run import Run
from oloproof.model.selection import Selection
from oloproof.pipeline import Request, Resumption, Watch
from oloproof.pipeline.world import real_ports
from oloproof.project import load, read_cases
from oloproof.runner import Launch
from oloproof.runner.system import WorkerSystem
from oloproof.runner.turns import turns
from oloproof.store import Store

APP = """
import os
from oloproof import current_case, system

@system(name="agent", version=os.environ.get("AGENT_VERSION", "1"), records=["agent_trajectory/v1"])
def run(case):
    current = current_case()
    with open("ran", "a") as file:
        print(current.id, current.trial, current.seed, file=file)
    with current.trace() as trace:
        trace.tool_call("lookup", {"seed": current.seed})
    return {"answer": case if current.trial != 2 else "no"}
"""
ANSWERS = ["yes", "no", "yes", "yes", "no", "yes", "yes", "yes"]
SLICED: dict[str, Any] = {
    "evaluators": [
        {"type": "contains", "criterion": "right", "field": "answer", "expected_field": "answer"},
        {"type": "agent_tool_called", "tool_name": "lookup"},
    ],
    "metrics": [{"id": "calls", "type": "quantile", "source": "agent_tool_calls", "quantile": 0.5}],
    "slices": ["first_tool"],
}


class CutShort(Watch):
    """Cuts a run short once so many attempts were reported, as a killed process or as the first Ctrl-C does."""

    def __init__(self, after: int, *, softly: bool) -> None:
        self._after = after
        self._softly = softly

    def started(self, run: Run, stop: Callable[[], None]) -> None:
        self._stop = stop

    def judged(self, count: int) -> None:
        self._after -= count
        if self._after <= 0:
            if not self._softly:
                raise KeyboardInterrupt
            self._stop()


def suite(directory: Path, *, rules: list[Row] | None = None, **config: Any) -> Path:
    return project(directory, app=APP, cases=answered(*ANSWERS), rules=rules or [NONE_WRONG], **(SLICED | config))


def one_at_a_time(system: WorkerSystem, cases: Iterable[Case], launch: Launch) -> Iterator[Attempt]:
    """A case begins once the one before is stored, so that it is known what a run leaves."""
    return system._supervisor.run(turns(cases, launch), window=1)


def cut_short(directory: Path, after: int, *, softly: bool = False, **request: Any) -> str:
    """A run of which so many attempts at least were stored; its id."""
    loaded = load(directory / "oloproof.yaml")
    with pytest.MonkeyPatch.context() as patch, Store.open(directory / ".oloproof") as store:
        patch.chdir(directory)
        patch.setattr("oloproof.pipeline.counting.FLUSH_CASES", 1)
        patch.setattr("oloproof.pipeline.counting.BLOCK_CASES", 1)
        patch.setattr(WorkerSystem, "run", one_at_a_time)
        try:
            asked = Request(**request)
            pipeline.run(loaded, read_cases(loaded), asked, real_ports(store), CutShort(after, softly=softly))
        except KeyboardInterrupt:
            assert not softly
        return store.find("latest").id


def told(directory: Path, run: str = "latest") -> tuple[Any, ...]:
    """Everything that reports say of the run, but for its name and times."""
    document = oloproof(directory, "inspect", run, "--json").json
    del document["run"]["id"]
    shown: list[list[str]] = [[], ["--verdicts"], ["--verdicts", "--json"]]
    texts = [oloproof(directory, "inspect", run, *options).out for options in shown]
    return json.dumps(document), *(scrubbed(text) for text in texts)


def scrubbed(text: str) -> str:
    """A report without the run's name and how long it took."""
    return re.sub(r"(\d{8}T\d{6}-\w{6}|took +.*)", "", text)


def ran(directory: Path) -> list[str]:
    """What ran since the last time that this was asked."""
    path = directory / "ran"
    lines = path.read_text().splitlines()
    path.unlink()
    return lines


@pytest.mark.parametrize("softly", [False, True])
@pytest.mark.parametrize("trials", [1, 2])
@pytest.mark.parametrize("after", [1, 5])
def test_exactly_what_is_missing_is_run_and_the_report_is_the_same(
    tmp_path: Path, after: int, trials: int, softly: bool
) -> None:
    suite(tmp_path, trials=trials)
    whole = oloproof(tmp_path, "run")
    everything, expected = ran(tmp_path), told(tmp_path)
    name = cut_short(tmp_path, after, softly=softly)
    before = ran(tmp_path)
    done = oloproof(tmp_path, "run", "--resume", name)
    assert (done.code, scrubbed(done.out)) == (whole.code, scrubbed(whole.out))
    stored = int(next(line for line in done.lines if line.startswith("resumed: ")).split()[1])
    assert after <= stored <= len(before)
    assert before[:stored] + ran(tmp_path) == everything
    assert told(tmp_path, name) == expected
    assert oloproof(tmp_path, "compare", name, "latest~1", "--json").json["criteria"][0]["broken"] == 0


def test_a_run_may_be_cut_short_again_and_again(tmp_path: Path) -> None:
    suite(tmp_path)
    oloproof(tmp_path, "run")
    everything, expected = ran(tmp_path), told(tmp_path)
    name = cut_short(tmp_path, 2, softly=True)
    cut_short(tmp_path, 3, resume=Resumption(run=name))
    cut_short(tmp_path, 1, softly=True, resume=Resumption(run=name))
    assert oloproof(tmp_path, "run", "--resume", "latest").code == 1
    assert sorted(set(ran(tmp_path))) == sorted(everything)
    assert told(tmp_path) == expected


def test_what_was_asked_for_is_asked_for_again(tmp_path: Path) -> None:
    suite(tmp_path)
    asked = ("--case", "c1", "--case", "c4", "--limit", "3", "--no-gate")
    name = cut_short(tmp_path, 1, asked=asked, selection=Selection(case_ids=("c1", "c4"), limit=3), gated=False)
    done = oloproof(tmp_path, "run", "--resume", name, "--json")
    assert done.json["run"]["partial"] == "--case c1 --case c4 --limit 3"
    assert done.json["run"]["cases"] == 2
    assert (done.code, done.json["gate"]["why"]) == (0, "no gate was asked for")


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--limit", "3", "--trials", "2", "--case", "c1", "--no-gate", "--in-process"],
        ["--stop-early", "--seed", "7"],
        ["--no-stop-early", "--slice", "metadata.a=b c"],
    ],
)
def test_words_of_a_command_line_ask_for_what_it_asked_for(options: list[str]) -> None:
    asked = Asked.of(words_again(command, options))
    assert asked.words(None) == Asked.of(words_again(command, asked.words(None))).words(None)
    assert sorted(asked.words(None)) == sorted(options)


def test_a_baseline_is_the_one_that_it_was(tmp_path: Path) -> None:
    suite(tmp_path, rules=[NONE_WRONG, {"id": "no-worse", "metric": "right", "kind": "non_inferiority", "margin": 0.4}])
    oloproof(tmp_path, "run")
    oloproof(tmp_path, "run", "--baseline", "latest")
    with Store.open(tmp_path / ".oloproof") as store:
        first, second = (store.find(name) for name in ("latest~1", "latest"))
        assert second.asked == ("--baseline", first.id)
        store.set_status(second.id, "broken")
    done = oloproof(tmp_path, "run", "--resume", "latest", "--json")
    assert done.json["baseline"]["run"] == first.id


def test_a_whole_run_is_not_resumed(tmp_path: Path) -> None:
    suite(tmp_path)
    oloproof(tmp_path, "run")
    done = oloproof(tmp_path, "run", "--resume", "latest")
    assert done.code == 2
    assert "is complete: there is nothing to resume [OLO414]" in done.err


def test_a_run_that_is_going_on_is_not_resumed(tmp_path: Path) -> None:
    suite(tmp_path)
    name = cut_short(tmp_path, 1)
    with Store.open(tmp_path / ".oloproof") as store:
        store.hold(name)
        done = oloproof(tmp_path, "run", "--resume", name)
    assert done.code == 2
    assert f"run {name} is going on in another process [OLO415]" in done.err
    assert oloproof(tmp_path, "run", "--resume", name).code == 1
    assert list((tmp_path / ".oloproof").glob("*.running")) == []


def changed_dataset(directory: Path) -> None:
    project(directory, app=APP, cases=answered(*ANSWERS, "yes"), **SLICED)


def changed_configuration(directory: Path) -> None:
    suite(directory, system={"callable": "app:run", "timeout_s": 50})


def changed_version(directory: Path) -> None:
    (directory / "app.py").write_text(APP.replace('"1"', '"2"'))


def changed_code(directory: Path) -> None:
    (directory / "app.py").write_text(f"{APP}# changed")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed_code, "began with other code of the system, or on something else that it depends on"),
        (changed_dataset, "began on another dataset"),
        (changed_configuration, "began under another configuration"),
        (changed_version, "began with agent 1 (callable app:run), and the system is agent 2 (callable app:run)"),
    ],
)
def test_what_has_changed_is_told_and_refused_unless_asked_for(
    tmp_path: Path, change: Callable[[Path], None], message: str
) -> None:
    suite(tmp_path)
    name = cut_short(tmp_path, 3)
    change(tmp_path)
    done = oloproof(tmp_path, "run", "--resume", name)
    assert done.code == 2
    assert f"{message} [OLO416]" in done.err
    assert oloproof(tmp_path, "runs", "--json").json["runs"][0]["status"] == "interrupted"
    done = oloproof(tmp_path, "run", "--resume", name, "--resume-changed", "--json")
    assert done.code == 3
    assert message in done.json["gate"]["why"]
    assert sum(done.verdict("right")) in (8, 9)
    again = oloproof(tmp_path, "gate", "--as-judged", "--json")
    assert (again.code, again.json["gate"]) == (3, done.json["gate"])


def test_other_code_of_evaluators_is_told_and_refused_where_the_system_is_the_same(tmp_path: Path) -> None:
    judge = "from oloproof import evaluator\n\n@evaluator\ndef polite(output):\n    return True\n"
    (tmp_path / "judges.py").write_text(judge)
    suite(tmp_path, evaluators=[*SLICED["evaluators"], {"type": "judges:polite"}])
    name = cut_short(tmp_path, 3)
    (tmp_path / "judges.py").write_text(judge.replace("True", "False"))
    done = oloproof(tmp_path, "run", "--resume", name)
    assert done.code == 2
    assert f"run {name} began with other code of the evaluators [OLO416]" in done.err
    (tmp_path / "judges.py").write_text(judge)
    assert oloproof(tmp_path, "run", "--resume", name).code == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda directory: suite(directory, evaluators=SLICED["evaluators"][:1]),
        lambda directory: project(directory, app=APP, cases=answered("yes", *ANSWERS)[1:], **SLICED),
    ],
)
def test_what_cannot_be_gone_on_with_is_refused_whoever_asks(tmp_path: Path, change: Callable[[Path], Path]) -> None:
    suite(tmp_path)
    name = cut_short(tmp_path, 3)
    change(tmp_path)
    done = oloproof(tmp_path, "run", "--resume", name, "--resume-changed")
    assert done.code == 2
    assert "[OLO416]" in done.err
    assert "run anew" in done.err


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--resume", "latest", "--limit", "3"], "OLO417"),
        (["--resume", "latest", "--no-stop-early"], "OLO417"),
        (["--resume-changed"], "OLO417"),
        (["--retry-errors"], "OLO417"),
        (["--resume", "nobody"], "OLO611"),
    ],
)
def test_options_that_do_not_go_together(tmp_path: Path, options: list[str], code: str) -> None:
    suite(tmp_path)
    cut_short(tmp_path, 3)
    done = oloproof(tmp_path, "run", *options)
    assert done.code == 2
    assert code in done.err


def test_recordings_are_not_resumed(tmp_path: Path) -> None:
    suite(tmp_path)
    cut_short(tmp_path, 3)
    (tmp_path / "traces.jsonl").write_text('{"case": "c1", "output": 1}\n')
    suite(tmp_path, system={"recorded": "traces.jsonl"})
    done = oloproof(tmp_path, "run", "--resume", "latest")
    assert done.code == 2
    assert "[OLO418]" in done.err


def test_a_run_that_never_loaded_is_resumed(tmp_path: Path) -> None:
    suite(tmp_path)
    (tmp_path / "app.py").write_text("import nothing_of_that_name\n")
    assert oloproof(tmp_path, "run").code == 5
    (tmp_path / "app.py").write_text(APP)
    assert oloproof(tmp_path, "run", "--resume", "latest").code == 1
    assert oloproof(tmp_path, "runs", "--json").json["runs"][0]["status"] == "complete"


def test_an_approval_of_what_was_there_is_none_of_the_whole(tmp_path: Path) -> None:
    suite(tmp_path, rules=[REVIEWED | {"max_failures": 5}])
    name = cut_short(tmp_path, 4, softly=True)
    assert oloproof(tmp_path, "run", "--resume", name).code == 4


def test_user_verdicts_are_not_asked_for_again(tmp_path: Path) -> None:
    judged = "\ndef judged(case):\n    print(case.id, file=open('judged', 'a'))\n    return case.id != 'c2'\n"
    suite(tmp_path, evaluators=[{"type": "app:judged", "criterion": "right"}])
    (tmp_path / "app.py").write_text(APP + judged)
    name = cut_short(tmp_path, 3)
    before = (tmp_path / "judged").read_text().split()
    done = oloproof(tmp_path, "run", "--resume", name, "--json")
    assert done.verdict("right") == (7, 1, 0, 0)
    asked = (tmp_path / "judged").read_text().split()
    stood = int(next(line for line in done.lines if line.startswith("resumed: ")).split()[1])
    assert asked[len(before) :] == [f"c{number}" for number in range(stood + 1, 9)]


def test_a_run_that_may_stop_early_keeps_its_order(tmp_path: Path) -> None:
    rules = [NONE_WRONG | {"max_failures": 2}]
    suite(tmp_path, rules=rules)
    whole = oloproof(tmp_path, "run", "--stop-early", "--seed", "7")
    everything, expected = ran(tmp_path), told(tmp_path)
    name = cut_short(tmp_path, 3, stop_early=True, seed=7, asked=("--stop-early", "--seed", "7"))
    before = ran(tmp_path)
    done = oloproof(tmp_path, "run", "--resume", name)
    assert done.code == whole.code
    assert before[:3] == everything[:3]
    assert told(tmp_path, name) == expected
    name = cut_short(tmp_path, 3, stop_early=True, seed=7, asked=("--stop-early", "--seed", "7"))
    suite(tmp_path, rules=[NONE_WRONG | {"max_failures": 7}])
    done = oloproof(tmp_path, "run", "--resume", name, "--resume-changed")
    assert done.code == 2
    assert "free to stop by its own policy" in done.err


FALLIBLE = """
import os
from oloproof import current_case, system

@system(records=["agent_trajectory/v1"])
def run(case):
    print(current_case().id, file=open("ran", "a"))
    with current_case().trace() as trace:
        trace.tool_call("lookup", {})
        if case == "fails" and not os.path.exists("mended"):
            trace.tool_call("delete", {})
            raise ConnectionError("the line is down")
    return {"answer": "yes"}
"""


def fallible(directory: Path) -> None:
    evaluators = [
        {"type": "contains", "criterion": "right", "field": "answer", "expected_field": "answer"},
        {"type": "agent_tool_not_called", "criterion": "no_deletion", "tool_name": "delete"},
    ]
    project(directory, app=FALLIBLE, cases=answered("yes", "fails", "yes"), evaluators=evaluators)


def test_what_ended_with_an_error_is_made_again_and_what_it_settled_stands(tmp_path: Path) -> None:
    fallible(tmp_path)
    done = oloproof(tmp_path, "run", "--json")
    assert (done.verdict("right"), done.verdict("no_deletion")) == ((2, 0, 1, 0), (2, 1, 0, 0))
    (tmp_path / "mended").touch()
    ran(tmp_path)
    done = oloproof(tmp_path, "run", "--resume", "latest", "--retry-errors", "--json")
    assert ran(tmp_path) == ["c2"]
    assert (done.verdict("right"), done.verdict("no_deletion")) == ((3, 0, 0, 0), (2, 1, 0, 0))
    assert any(warning.startswith("1 attempt made again after an error") for warning in done.json["warnings"])
    case = oloproof(tmp_path, "inspect", "--case", "c2", "--json").json
    assert case["error"] is None
    (before,) = case["earlier"]
    assert before["error"]["message"] == "ConnectionError: the line is down"
    assert [step["tool_name"] for step in before["trajectory"]["steps"]] == ["lookup", "delete"]
    assert (
        "system_error (connection): ConnectionError: the line is down; 2 steps; made again"
        in oloproof(tmp_path, "inspect", "--case", "c2").out
    )
    again = oloproof(tmp_path, "run", "--resume", "latest", "--retry-errors")
    assert again.code == 2
    assert "[OLO414]" in again.err


def test_what_fails_again_is_kept_beside_what_failed_before(tmp_path: Path) -> None:
    fallible(tmp_path)
    oloproof(tmp_path, "run")
    for _ in range(2):
        done = oloproof(tmp_path, "run", "--resume", "latest", "--retry-errors", "--json")
        assert (done.verdict("right"), done.verdict("no_deletion")) == ((2, 0, 1, 0), (2, 1, 0, 0))
    assert len(oloproof(tmp_path, "inspect", "--case", "c2", "--json").json["earlier"]) == 2
    assert any(warning.startswith("2 attempts made again") for warning in done.json["warnings"])


def test_a_run_that_may_stop_early_makes_no_attempt_again(tmp_path: Path) -> None:
    fallible(tmp_path)
    oloproof(tmp_path, "run", "--stop-early")
    done = oloproof(tmp_path, "run", "--resume", "latest", "--retry-errors")
    assert done.code == 2
    assert "[OLO419]" in done.err
