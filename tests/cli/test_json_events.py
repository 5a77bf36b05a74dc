"""``--json-events``: a line an event, each thing once, the end last, and no verdict that it could change."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fakes.projects import AGENT, NONE_WRONG, answered, case, oloproof, project, spawned, write_lines
from oloproof import pipeline
from oloproof.cli.streaming import EventStream
from oloproof.model.events import CaseFinished, CaseStarted, Event, RuleSettled, RunStarted
from oloproof.model.run import Report, Run
from oloproof.model.selection import Selection
from oloproof.pipeline import Request, Resumption, Watch
from oloproof.pipeline.world import real_ports
from oloproof.project import load, read_cases
from oloproof.reports.events import events_schema
from oloproof.store import Store

FLOOR = {"id": "floor", "metric": "right", "min": 0.9}


class Heard(Watch):
    """Keeps what it is told."""

    listens = True

    def __init__(self) -> None:
        self.events: list[Event] = []

    def started(self, run: Run, stop: Callable[[], None]) -> None:
        self._stop = stop

    def told(self, events: Sequence[Event]) -> None:
        self.events += events

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def watched(directory: Path, watch: Watch, **asked: Any) -> Report:
    """A run of the project, without the door."""
    config = directory / "oloproof.yaml"
    found = load(config)
    cases = None if found.dataset is None else read_cases(found)
    with Store.open(directory / ".oloproof") as store:
        return pipeline.run(found, cases, Request(**asked), real_ports(store), watch)


def assert_each_once(watch: Heard) -> None:
    begun = [(event.case, event.trial) for event in watch.of(CaseStarted)]
    ended = [(event.case, event.trial) for event in watch.of(CaseFinished)]
    assert len(set(begun)) == len(begun)
    assert len(set(ended)) == len(ended)
    for event in watch.of(CaseFinished):
        start = CaseStarted(case=event.case, trial=event.trial, rerun=event.rerun)
        assert watch.events.index(start) < watch.events.index(event)
    rules = [event.rule for event in watch.of(RuleSettled)]
    assert len(set(rules)) == len(rules)


def test_the_stream_of_a_run(tmp_path: Path) -> None:
    cases = answered("yes", "\u202e\x1b[2J", "yes", "yes")
    cases[1] = dict(cases[1]) | {"id": "c\u2028\u202e2"}
    directory = project(tmp_path, cases=cases, rules=(NONE_WRONG, FLOOR))
    done = spawned(directory, "run", "--json-events", "--markdown", "report.md")
    assert done.code == 1
    assert done.out.isascii()
    lines = done.out.removesuffix("\n").split("\n")
    events = [json.loads(line) for line in lines]
    for event in events:
        jsonschema.validate(event, events_schema())
    assert [event["event"] for event in events[:1] + events[-1:]] == ["run_started", "run_finished"]
    assert (events[0]["format"], events[0]["attempts"]) == ("oloproof.events/v1", 4)
    assert sorted(event["case"] for event in events if event["event"] == "case_finished") == sorted(
        row["id"] for row in cases
    )
    settled = {event["rule"]: (event["state"], event["by"]) for event in events if event["event"] == "rule_settled"}
    assert settled == {"none-wrong": ("FAIL", "certainty"), "floor": ("INSUFFICIENT_EVIDENCE", "end")}
    last = events[-1]
    assert (last["status"], last["outcome"], last["exit_code"]) == ("complete", "BLOCK", 1)
    shown = oloproof(directory, "inspect", "--json")
    assert last["report"] == shown.json
    assert "BLOCK (exit 1): none-wrong FAIL, floor INSUFFICIENT_EVIDENCE" in done.err
    assert (directory / "report.md").exists()


@pytest.mark.parametrize(("trials", "concurrency"), [(1, 3), (2, 1)])
def test_rules_end_as_they_were_settled(tmp_path: Path, trials: int, concurrency: int) -> None:
    metrics = [{"id": "calls", "type": "quantile", "source": "agent_tool_calls", "quantile": 0.5}]
    quick = {"id": "quick", "metric": "calls", "max": 3}
    ids = ("none-wrong", "floor", "quick")
    cases = [case(f"c{number}", ["look"] * (number % 3)) for number in range(12)]
    directory = project(tmp_path, app=AGENT, cases=cases, rules=(NONE_WRONG, FLOOR, quick), metrics=metrics)
    watch = Heard()
    config = json.loads((directory / "oloproof.yaml").read_text())
    (directory / "oloproof.yaml").write_text(json.dumps(config | {"trials": trials}))
    report = watched(directory, watch, concurrency=concurrency)
    assert_each_once(watch)
    assert len(watch.of(CaseFinished)) == 12 * trials
    states = {decision.rule: decision.state for decision in report.decisions}
    assert {event.rule: event.state for event in watch.of(RuleSettled)} == states
    assert set(states) == set(ids)
    by = {event.rule: event.by for event in watch.of(RuleSettled)}
    assert by["quick"] == ("certainty" if trials == 1 else "end")


WAITING = """
import os
def run(case):
    if case == "wait":
        os.close(os.open("told", os.O_RDONLY))
    return {"answer": "yes"}
"""
"""One case ends only when somebody has heard of those before it."""


class Releasing(Heard):
    """Lets the case that waits go on once three others were told, and stops the run before if it ``stops``."""

    def __init__(self, directory: Path, *, stops: bool) -> None:
        super().__init__()
        self._fifo = directory / "told"
        self._stops = stops

    def judged(self, count: int) -> None:
        if len(self.of(CaseFinished)) == 3:
            if self._stops:
                self._stop()
            os.close(os.open(self._fifo, os.O_WRONLY))


def test_a_case_is_told_when_it_ends_and_not_when_the_next_one_does(tmp_path: Path) -> None:
    directory = project(tmp_path, app=WAITING, cases=answered("yes", "yes", "yes", "wait"))
    os.mkfifo(directory / "told")
    watch = Releasing(directory, stops=False)
    assert watched(directory, watch, concurrency=4).gate.exit_code == 0
    assert_each_once(watch)


def test_a_run_that_is_resumed_tells_the_rest(tmp_path: Path) -> None:
    directory = project(tmp_path, app=WAITING, cases=answered("yes", "yes", "yes", "wait", *["yes"] * 200))
    os.mkfifo(directory / "told")
    first, second = Releasing(directory, stops=True), Heard()
    cut = watched(directory, first, concurrency=1)
    assert cut.run.status == "interrupted"
    report = watched(directory, second, resume=Resumption(run=cut.run.id))
    for watch in (first, second):
        assert_each_once(watch)
    ended = [event.case for watch in (first, second) for event in watch.of(CaseFinished)]
    assert sorted(ended) == sorted(f"c{number}" for number in range(1, 205))
    (begun,) = second.of(RunStarted)
    assert (begun.run, begun.done) == (cut.run.id, len(first.of(CaseFinished)))
    assert [(event.state, event.by) for event in second.of(RuleSettled)] == [("PASS", "certainty")]
    assert report.gate.exit_code == 0


def test_judge_tells_what_it_reads(tmp_path: Path) -> None:
    directory = project(tmp_path, cases=answered("yes", "yes"), system={"recorded": "traces.jsonl"})
    write_lines(directory / "traces.jsonl", [{"case": "c1", "output": {"answer": "yes"}, "trajectory": {"steps": []}}])
    watch = Heard()
    report = watched(directory, watch)
    assert_each_once(watch)
    assert [event.outcome for event in watch.of(CaseFinished)] == ["pass", "missing"]
    assert [event.state for event in watch.of(RuleSettled)] == [each.state for each in report.decisions]


@pytest.mark.parametrize("asked", [{"gated": False}, {"selection": Selection(limit=1)}, {"in_process": True}])
def test_what_is_not_gated_settles_nothing(tmp_path: Path, asked: dict[str, Any], system_at_hand: None) -> None:
    watch = Heard()
    watched(project(tmp_path), watch, **asked)
    assert (watch.of(RunStarted)[0].rules, watch.of(RuleSettled)) == ((), [])


@pytest.mark.parametrize("other", ["--json", "--in-process"])
def test_stdout_belongs_to_the_events_alone(tmp_path: Path, other: str) -> None:
    done = oloproof(project(tmp_path), "run", "--json-events", other)
    assert done.code == 2
    assert not (tmp_path / ".oloproof").exists()


def test_nothing_is_told_after_the_end() -> None:
    reader, writer = os.pipe()
    stream = EventStream(writer)
    begun = RunStarted(
        run="r",
        project="p",
        system="s",
        version=None,
        started_at="",
        attempts=1,
        done=0,
        trials=1,
        criteria=(),
        rules=(),
    )
    stream.told([begun])
    stream.close(exit_code=130, ended_by=KeyboardInterrupt())
    stream.told([CaseStarted(case="c1", trial=1, rerun=False)])
    os.close(writer)
    with open(reader, encoding="ascii") as lines:
        events = [json.loads(line) for line in lines]
    assert [event["event"] for event in events] == ["run_started", "run_finished"]
    assert (events[-1]["status"], events[-1]["exit_code"]) == ("interrupted", 130)


def test_a_reader_that_reads_nothing_holds_up_no_run_that_was_ended() -> None:
    reader, writer = os.pipe()
    stream = EventStream(writer, patience_s=0.01)
    event = CaseStarted(case="c" * 70_000, trial=1, rerun=False)  # more than a pipe holds
    stream.told([event, event])
    stream.close(exit_code=130, ended_by=KeyboardInterrupt())
    for end in (reader, writer):
        os.close(end)


def test_the_schema_is_printed(tmp_path: Path) -> None:
    assert oloproof(tmp_path, "schema", "events").json == events_schema()
