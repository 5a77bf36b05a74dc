"""Runs killed at random moments, again and again, and resumed: nothing that was reported is lost, nothing is there
twice, and the report is the one of a run that nobody disturbed."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import time
from collections.abc import Callable
from contextlib import chdir
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from msgspec.structs import replace

from fakes.projects import oloproof, project, spawned, started
from oloproof import pipeline
from oloproof.pipeline import Ports, Request, Resumption, Watch
from oloproof.pipeline.world import real_ports
from oloproof.project import load, read_cases
from oloproof.store import Store

KILLS = int(os.environ.get("OLOPROOF_KILLS", "40"))
"""How many runs are killed, each at a moment of its own: ``OLOPROOF_KILLS=200`` takes some minutes."""

CASES = 60
APP = """
from oloproof import current_case, system

REFUSED = set()

class Refused(Exception):
    status_code = 503

@system(records=["agent_trajectory/v1"])
def run(case):
    current = current_case()
    with open("ran", "a") as file:
        print(current.id, current.trial, current.seed, file=file)
    with current.trace() as trace:
        for tool in case:
            trace.tool_call(tool, {"seed": current.seed})
        if "b" in case and (current.id, current.trial) not in REFUSED:
            REFUSED.add((current.id, current.trial))
            raise Refused("once in each process")
    return {"answer": "yes" if "c" in case else "no"}
"""
EVALUATORS = [
    {"type": "contains", "criterion": "right", "field": "answer", "expected_field": "answer"},
    {"type": "agent_tool_called", "tool_name": "b"},
]


def suite(directory: Path, *, noise: int = 0) -> Path:
    """Cases tried twice each, with so many bytes of ``noise`` that no compression makes smaller."""
    dice = random.Random(0)
    cases = [
        {
            "id": f"c{number}",
            "input": ["a", "b", "c"][: 1 + number % 3],
            "expected": {"answer": "yes"},
            "metadata": {"noise": dice.randbytes(noise).hex()},
        }
        for number in range(CASES)
    ]
    system = {"callable": "app:run", "retry": {"backoff": {"first_s": 0.001}}}
    rule = {"id": "floor", "metric": "right", "min": 0.2}
    return project(directory, app=APP, cases=cases, rules=[rule], evaluators=EVALUATORS, trials=2, system=system)


class Told(Watch):
    """Writes what is reported where it outlives the process."""

    def judged(self, count: int) -> None:
        with Path("told").open("a") as file:
            print(count, file=file)


class Broken(Watch):
    """Ends the run with the first attempts that were stored."""

    def judged(self, count: int) -> None:
        raise KeyboardInterrupt


def run_once(directory: Path, watch: Watch, ports: Callable[[Store], Ports] = real_ports) -> None:
    """Begin the run, or go on with it, in this process."""
    with chdir(directory):
        loaded = load(Path("oloproof.yaml"))
        with Store.open(Path(".oloproof")) as store:
            begun = [run.id for run in store.runs()]
            request = Request(resume=Resumption(run=begun[0]) if begun else None)
            pipeline.run(loaded, read_cases(loaded), request, ports(store), watch)


def kill_after(seconds: float, directory: Path) -> None:
    """A run in a process of its own, which is killed if it has not ended by then."""
    child = os.fork()
    if child == 0:
        try:
            run_once(directory, Told())
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def document(directory: Path) -> str:
    """The report, without how many attempts were made again: each process is refused anew."""
    found = oloproof(directory, "inspect", "--json").json
    del found["run"]["id"]
    assert found["run"].pop("retried") >= 2 * CASES * 2 // 3, "no attempt is forgotten that was refused"
    found["warnings"] = [each for each in found["warnings"] if "made again after an error" not in each]
    verdicts = oloproof(directory, "inspect", "--verdicts", "--json").out
    return json.dumps(found) + verdicts


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[str], float]:
    """The report, the attempts, and how long the run took."""
    directory = suite(tmp_path_factory.mktemp("undisturbed"))
    began = time.monotonic()
    oloproof(directory, "run")
    took = time.monotonic() - began
    return document(directory), (directory / "ran").read_text().splitlines(), took


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def stored(directory: Path) -> list[tuple[str, int]]:
    if not (directory / ".oloproof" / "oloproof.db").exists():
        return []
    with Store.open(directory / ".oloproof") as store:
        runs = store.runs()
        return [(each.case_id, each.trial) for each in store.verdicts(runs[0].id)] if runs else []


@pytest.mark.parametrize("seed", range(max(1, KILLS // 4)))
def test_killed_four_times_and_resumed(tmp_path: Path, seed: int, undisturbed: tuple[str, list[str], float]) -> None:
    report, everything, took = undisturbed
    directory, dice = suite(tmp_path), random.Random(seed)
    kept: list[tuple[str, int]] = []
    for _ in range(4):
        ran_before = len(lines_of(directory / "ran"))
        kill_after(dice.uniform(0, took), directory)
        told = sum(map(int, lines_of(directory / "told")))
        now = stored(directory)
        assert len(now) >= told, "what was reported is stored"
        assert now[: len(kept)] == kept, "what was stored stays"
        assert len(set(now)) == len(now)
        ran = lines_of(directory / "ran")[ran_before:]
        assert not {(line.split()[0], int(line.split()[1])) for line in ran} & set(kept), "what is stored is not run"
        kept = now
    begun = oloproof(directory, "runs", "--json").json["runs"]
    complete = bool(begun) and begun[0]["status"] == "complete"
    if not complete:
        assert oloproof(directory, "run", *(["--resume", "latest"] if begun else [])).code == 0
    (run,) = oloproof(directory, "runs", "--json").json["runs"]
    assert document(directory) == report
    assert set((directory / "ran").read_text().splitlines()) == set(everything)
    # A kill between the last thing stored and the lock's end leaves an empty file, which nothing goes by.
    assert complete or not (directory / ".oloproof" / f"{run['id']}.running").exists()


def test_of_two_that_resume_a_run_one_does(tmp_path: Path, undisturbed: tuple[str, list[str], float]) -> None:
    directory = suite(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run_once(directory, Broken())
    processes = [started(directory, "run", "--resume", "latest") for _ in range(2)]
    ended = [(*process.communicate(), process.returncode) for process in processes]
    codes = sorted(code for *_, code in ended)
    assert codes == [0, 2]
    refused = next(err for _, err, code in ended if code == 2)
    assert "OLO415" in refused or "OLO414" in refused
    assert document(directory) == undisturbed[0]


def test_a_disk_that_is_full_costs_what_was_not_stored_and_nothing_else(tmp_path: Path) -> None:
    undisturbed, directory = suite(tmp_path / "undisturbed", noise=2000), suite(tmp_path / "full", noise=2000)
    assert oloproof(undisturbed, "run").code == 0
    most = (undisturbed / ".oloproof" / "oloproof.db").stat().st_size // 2
    limited = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
    done = spawned(directory, "run", preexec_fn=limited)
    assert done.code == 5
    assert "[OLO503]" in done.err or "[OLO504]" in done.err
    assert oloproof(directory, "run", "--resume", "latest").code == 0
    assert document(directory) == document(undisturbed)


@pytest.mark.parametrize("step", [timedelta(days=-1), timedelta(days=400), timedelta(0)])
def test_a_clock_that_jumps_changes_nothing(
    tmp_path: Path, step: timedelta, undisturbed: tuple[str, list[str], float]
) -> None:
    directory = suite(tmp_path)
    moments = (datetime(2026, 11, 30, 10, tzinfo=UTC) + number * step for number in count())
    stopwatch = (number * step.total_seconds() for number in count())

    def ports(store: Store) -> Ports:
        return replace(real_ports(store), now=partial(next, moments), monotonic=partial(next, stopwatch))

    run_once(directory, Told(), ports)
    assert document(directory) == undisturbed[0]
    shown = oloproof(directory, "inspect")
    assert shown.code == 0
    assert "took      -" not in shown.out
    oloproof(directory, "run")
    assert oloproof(directory, "runs", "--json").json["runs"][1]["status"] == "complete"
