"""Infrastructure errors are tried again: every attempt is kept, and no verdict is thrown until it falls well."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from fakes.projects import RIGHT, Done, Row, answered, oloproof, project
from oloproof import pipeline
from oloproof.model.run import Run
from oloproof.pipeline import Request, Watch
from oloproof.pipeline.world import real_ports
from oloproof.project import load, read_cases
from oloproof.store import Store

APP = """
import os
from oloproof import current_case, system

class Refused(Exception):
    status_code = 429

@system(records=["agent_trajectory/v1"])
def run(case):
    current = current_case()
    name = f"made-{current.id}-{current.trial}"
    with open(name, "a") as file:
        file.write(".")
    made = os.path.getsize(name)
    plan = case.split()
    with current.trace() as trace:
        if made < len(plan):
            trace.tool_call(plan[made - 1], {"made": made}, cost_usd=0.25)
            raise Refused("too many requests")
        trace.tool_call("look", {"made": made}, cost_usd=0.25)
    return {"answer": plan[-1]}
"""
"""A case is what its attempts do: a word is the tool that an attempt calls before it is refused, and the last word the
answer."""

NEVER: Row = {"type": "agent_rule", "criterion": "kept", "rule": "never delete"}
RETRY: dict[str, Any] = {"attempts": 3, "backoff": {"first_s": 0.001, "max_s": 0.01}}


def suite(directory: Path, *inputs: str, evaluators: list[Row] | None = None, **config: Any) -> Path:
    system = {"callable": "app:run", "retry": RETRY} | config.pop("system", {})
    return project(
        directory,
        app=APP,
        cases=answered(*inputs),
        rules=None,
        evaluators=evaluators or [RIGHT, NEVER],
        system=system,
        policy="none",
        **config,
    )


def attempts_made(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.glob("made-*"))


def case(directory: Path, name: str) -> Any:
    return oloproof(directory, "inspect", "latest", "--case", name, "--json").json


def test_every_attempt_is_kept_counted_and_shown(tmp_path: Path) -> None:
    suite(tmp_path, "yes", "look yes", "look look yes", "look look look yes", trials=2)
    done = oloproof(tmp_path, "run", "--json")
    assert done.code == 0
    rate = next(metric for metric in done.json["metrics"] if metric["id"] == "right")
    assert rate["trials"]["passed"] == 6
    assert rate["trials"]["missing"] == 2
    assert attempts_made(tmp_path) == 2 * (1 + 2 + 3 + 3)
    assert done.json["run"]["retried"] == 2 * (0 + 1 + 2 + 2)
    assert any(text.startswith("10 attempts made again after an error") for text in done.json["warnings"])
    assert done.json["errors"][0]["cases"] == 2
    document = case(tmp_path, "c3")
    assert document["error"] is None
    assert [each["error"]["infrastructure"] for each in document["earlier"]] == ["rate_limit"] * 2
    assert [each["trajectory"]["steps"][0]["arguments"] for each in document["earlier"]] == [{"made": 1}, {"made": 2}]
    assert document["trajectory"]["steps"][0]["arguments"] == {"made": 3}
    assert case(tmp_path, "c4")["error"]["infrastructure"] == "rate_limit"
    shown = oloproof(tmp_path, "inspect", "latest", "--case", "c4")
    told = [" ".join(line.split()) for line in shown.lines]
    assert "attempt 2 system_error (rate_limit): Refused: too many requests; 1 step; made again" in told
    assert "error system_error (rate_limit): Refused: too many requests" in told
    assert oloproof(tmp_path, "inspect", "latest", "--json").json["run"]["retried"] == 10


def test_what_an_attempt_had_settled_stands(tmp_path: Path) -> None:
    suite(tmp_path, "delete yes", "look yes", "yes", "delete no")
    done = oloproof(tmp_path, "run", "--json")
    assert done.verdict("kept") == (2, 2, 0, 0)
    assert done.verdict("right") == (3, 1, 0, 0)
    verdicts = {judged["criterion"]: judged["verdict"] for judged in case(tmp_path, "c1")["judgments"]}
    assert verdicts == {"right": "pass", "kept": "fail"}


def test_a_failure_is_never_tried_again(tmp_path: Path) -> None:
    suite(tmp_path, "no", "no", "yes")
    assert oloproof(tmp_path, "run", "--json").verdict("right") == (1, 2, 0, 0)
    assert attempts_made(tmp_path) == 3


def test_an_error_that_counts_as_a_failure_is_the_last_ones(tmp_path: Path) -> None:
    counted = [RIGHT | {"on_system_error": "fail"}]
    suite(tmp_path, "look yes", "look look look yes", "delete no", evaluators=counted)
    assert oloproof(tmp_path, "run", "--json").verdict("right") == (1, 2, 0, 0)


def test_what_is_not_asked_for_is_not_done(tmp_path: Path) -> None:
    project(tmp_path, app=APP, cases=answered("look yes", "yes"))
    assert oloproof(tmp_path, "run", "--json").verdict("right") == (1, 0, 1, 0)
    assert attempts_made(tmp_path) == 2


class Stopping(Watch):
    """Ctrl-C once the file is there, from another thread as a signal comes."""

    def started(self, run: Run, stop: Any) -> None:
        self.stop = stop


def stopped_while_waiting(directory: Path, **config: Any) -> Done:
    """A run that is stopped when every case has been refused once."""
    suite(directory, "delete yes", "look look yes", "yes", system={"concurrency": 3, **config})
    watch = Stopping()

    def wait() -> None:
        while len(list(directory.glob("made-*"))) < 3:
            Event().wait(0.005)
        watch.stop()

    loaded = load(directory / "oloproof.yaml")
    with pytest.MonkeyPatch.context() as patch, Store.open(directory / ".oloproof") as store:
        patch.chdir(directory)
        thread = Thread(target=wait)
        thread.start()
        pipeline.run(loaded, read_cases(loaded), Request(), real_ports(store), watch)
        thread.join()
    return oloproof(directory, "inspect", "latest", "--json")


def test_a_case_that_waited_when_the_run_was_stopped_is_completed(tmp_path: Path) -> None:
    slowly = {"attempts": 3, "backoff": {"first_s": 3600, "max_s": 3600}}
    done = stopped_while_waiting(tmp_path, retry=slowly)
    assert done.json["run"]["status"] == "interrupted"
    assert done.verdict("right") == (1, 0, 2, 0)
    assert done.verdict("kept") == (1, 0, 2, 0), "what was not over is not judged"
    waited = case(tmp_path, "c1")
    assert waited["error"]["kind"] == "not_run"
    assert [each["error"]["infrastructure"] for each in waited["earlier"]] == ["rate_limit"]
    config = tmp_path / "oloproof.yaml"
    config.write_text(config.read_text().replace("3600", "0.001"))
    done = oloproof(tmp_path, "run", "--resume", "latest", "--json")
    assert (done.code, done.json["run"]["status"]) == (0, "complete")
    assert "resumed: 1 of 3 cases are there from before" in done.err
    assert (done.verdict("right"), done.verdict("kept")) == ((3, 0, 0, 0), (2, 1, 0, 0))
    assert [len(case(tmp_path, name).get("earlier", [])) for name in ("c1", "c2", "c3")] == [1, 2, 0]
    assert done.json["run"]["retried"] == 3
    assert attempts_made(tmp_path) == 2 + 3 + 1


def test_an_outage_that_is_over_is_made_good_by_retry_errors(tmp_path: Path) -> None:
    suite(tmp_path, "delete look look look yes", "yes")
    done = oloproof(tmp_path, "run", "--json")
    assert (done.verdict("right"), done.verdict("kept")) == ((1, 0, 1, 0), (1, 1, 0, 0))
    done = oloproof(tmp_path, "run", "--resume", "latest", "--retry-errors", "--json")
    assert (done.verdict("right"), done.verdict("kept")) == ((2, 0, 0, 0), (1, 1, 0, 0))
    made = [each["trajectory"]["steps"][0]["arguments"]["made"] for each in case(tmp_path, "c1")["earlier"]]
    assert made == [1, 2, 3, 4]
    assert done.json["run"]["retried"] == 4


def test_money_is_spent_by_every_attempt(tmp_path: Path) -> None:
    suite(tmp_path, "look look yes", *["yes"] * 300)
    done = oloproof(tmp_path, "run", "--max-cost-usd", "0.75", "--json")
    assert done.json["run"]["status"] == "interrupted"
    assert "the budget was spent (0.75 USD of 0.75)" in done.out


def test_a_run_that_may_stop_early_counts_what_was_settled(tmp_path: Path) -> None:
    suite(tmp_path, "delete yes", *["look yes"] * 5)
    rule = {"id": "kept", "metric": "kept", "kind": "observed_count", "max_failures": 0}
    policy = {"version": 1, "rules": [rule]}
    config = tmp_path / "oloproof.yaml"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"policy": policy}))
    done = oloproof(tmp_path, "run", "--stop-early", "--seed", "1", "--json")
    assert done.code == 1
    assert done.verdict("kept")[1] == 1
