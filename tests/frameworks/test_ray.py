"""Cases on a real Ray cluster of a head and two machines (three of Ray's node processes, on this one)."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import IO, Any

import pytest

from fakes import wild
from fakes.projects import Done, answered, oloproof, project, spawned, started
from oloproof import __version__
from oloproof.runner.protocol import LoadSystem, encode
from oloproof.runner.ray.node import Assignment, Node, decode_start

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install 'oloproof[ray]'")

OPTIONS = ("--block", "--disable-usage-stats", "--min-worker-port=0", "--max-worker-port=0")
STORE = "--object-store-memory=80000000"

APP = """
import os, signal
from wild import behave
from oloproof import current_case, system

print("loaded")

class Agent:
    def setup(self):
        self.word = "answered"

    @system(records=["agent_trajectory/v1"])
    def run(self, case):
        with current_case().trace() as trace:
            trace.tool_call("work", {"seed": current_case().seed}, cost_usd=0.25)
            behave(case)
            refused = f"{current_case().trial} was refused"
            match case:
                case "raise":
                    raise ValueError("no such order")
                case "lose the machine" if not os.path.exists("was here"):
                    open("was here", "w").close()
                    os.kill(int(os.environ["RAY_RAYLET_PID"]), signal.SIGKILL)
                    signal.pause()
                case "end the worker":
                    os.kill(os.getppid(), signal.SIGKILL)
                    signal.pause()
                case "refused" if not os.path.exists(refused):  # which of two trials is the first nobody knows
                    open(refused, "w").close()
                    raise ConnectionRefusedError("not yet")
                case "secret":
                    return {"answer": os.environ.get("AGENT_TOKEN", "not there")}
        return {"answer": case, "large": 2**60, "share": 0.1}

    def teardown(self):
        with open("torn down", "a") as file:
            file.write(self.word)
"""


class Cluster:
    """Ray's nodes, each with its own process here."""

    def __init__(self, opened: ExitStack) -> None:
        self._opened = opened
        self._home = opened.enter_context(tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True))
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        self.environment |= {"HOME": self._home, "RAY_USAGE_STATS_ENABLED": "0"}
        head = ("--head", "--port=0", "--num-cpus=0", "--include-dashboard=false", f"--temp-dir={self._home}/ray")
        said = self._started(*head)
        found = re.search(r"ray start --address='([^']+)'", said)
        assert found is not None, said
        self.address = found[1]
        self.environment["RAY_ADDRESS"] = self.address

    def add(self, machines: int) -> None:
        for _ in range(machines):
            self._started(f"--address={self.address}", "--num-cpus=1")

    def run(self, directory: Path, *arguments: str) -> Done:
        return spawned(directory, "run", *arguments, env=self.environment)

    def _started(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", *arguments, *OPTIONS, STORE]
        node = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.environment,
            start_new_session=True,
        )  # fmt: skip
        said = ""
        assert node.stdout is not None
        for line in node.stdout:
            said += line
            if "--block" in line:
                listening = Thread(target=_heard, args=(node.stdout,), daemon=True)
                listening.start()  # so that it never waits to be heard
                self._opened.callback(_ended, node, listening)
                return said
        node.wait()
        raise AssertionError(said)


def _heard(said: IO[str]) -> None:
    with said:
        for _ in said:
            pass


def _ended(node: subprocess.Popen[str], listening: Thread) -> None:
    with suppress(ProcessLookupError):
        node.terminate()
        with suppress(subprocess.TimeoutExpired):
            node.wait(timeout=20)
        os.killpg(node.pid, signal.SIGKILL)
    node.wait()
    listening.join(timeout=20)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    if find_spec("ray") is None:
        pytest.skip("Ray is not installed: pip install 'oloproof[ray]'")
    with ExitStack() as opened:
        made = Cluster(opened)
        made.add(2)
        yield made


def suite(directory: Path, *answers: str, executor: str = "ray", **system: Any) -> Path:
    kind = {"callable": "app:Agent", "isolation": "process", "concurrency": 2, "timeout_s": 4, "version": "1"} | system
    options: dict[str, Any] = {"policy": "none"}
    options |= {key: kind.pop(key) for key in ("trials", "ray", "redact") if key in kind}
    cases = answered(*answers)
    project(directory, app=APP, cases=cases, system=kind, executor=executor, rules=None, **options)
    shutil.copy(wild.__file__, directory)
    return directory


TIMING = ("duration_ms", "started_at", "ended_at", "at_ms", "latency_ms", "timestamp", "resumed", "seconds")


def untimed(value: Any) -> Any:
    """The same without what a clock says, and what a run is called."""
    if isinstance(value, dict):
        return {key: untimed(each) for key, each in value.items() if key not in (*TIMING, "run", "run_id")}
    return [untimed(each) for each in value] if isinstance(value, list) else value


def shown(directory: Path, *numbers: int) -> list[Any]:
    """The cases as they are kept."""
    return [untimed(oloproof(directory, "inspect", "--case", f"c{n}", "--json").json) for n in numbers]


def test_what_cases_come_to_is_what_it_is_on_this_machine(tmp_path: Path, cluster: Cluster) -> None:
    answers = ("yes", "hang", "yes", "exit", "no", "crash", "raise", "refused", "yes")
    retry = {"attempts": 2, "on": ["connection"], "backoff": {"first_s": 0.01, "max_s": 0.01}}
    for name in ("local", "ray"):
        suite(tmp_path / name, *answers, executor=name, trials=2, retry=retry, max_per_minute=6000)
    here = spawned(tmp_path / "local", "run", "--json")
    there = cluster.run(tmp_path / "ray", "--json")
    assert (here.code, there.code) == (0, 0), there.err
    numbers = range(1, len(answers) + 1)
    mine, theirs = (json.dumps(shown(tmp_path / name, *numbers), sort_keys=True) for name in ("local", "ray"))
    assert mine.replace(str(tmp_path / "local"), "") == theirs.replace(str(tmp_path / "ray"), "")
    assert here.json["metrics"] == there.json["metrics"]
    # A process that took the place of a dead one may have had no case of its own before the end.
    assert re.fullmatch("(answered){1,2}", (tmp_path / "ray" / "torn down").read_text())


def test_secrets_are_taken_out_of_what_a_cluster_sends(tmp_path: Path, cluster: Cluster) -> None:
    secret = "sk-proj-" + "Ab1" * 14
    answers = (f"the key is {secret}", "yes", "raise")
    for name in ("local", "ray"):
        suite(tmp_path / name, *answers, executor=name, redact={})
    here = spawned(tmp_path / "local", "run", "--json")
    there = cluster.run(tmp_path / "ray", "--json")
    assert (here.code, there.code) == (0, 0), there.err
    assert "taken out by `redact:`" in there.out
    assert here.json["metrics"] == there.json["metrics"]
    mine, theirs = (json.dumps(shown(tmp_path / name, 1, 2, 3), sort_keys=True) for name in ("local", "ray"))
    assert mine.replace(str(tmp_path / "local"), "") == theirs.replace(str(tmp_path / "ray"), "")
    assert secret not in theirs + there.out + there.err
    for kept in (tmp_path / "ray" / ".oloproof").rglob("*"):
        assert not kept.is_file() or secret.encode() not in kept.read_bytes()


def as_asked(directory: Path, *options: str, environment: dict[str, str] | None = None) -> tuple[int, Any]:
    """The exit code of a run, and its report but for the time, whose words are of whichever executor."""
    given = {} if environment is None else {"env": environment}
    done = spawned(directory, "run", "--json", *options, **given)
    assert done.out, done.err
    header = untimed(done.json["run"])
    document = untimed(done.json) | {"header": {key: header[key] for key in header.keys() - {"id", "finished_at"}}}
    document["warnings"] = [re.sub(r"\d{8}T\d{6}-[0-9a-f]+", "RUN", each) for each in document["warnings"]]
    return done.code, document


def test_a_run_is_planned_stopped_and_taken_over_as_on_this_machine(tmp_path: Path, cluster: Cluster) -> None:
    """Early stopping, a budget, what is reused, and what is resumed after its budget."""
    rule = {"id": "few", "metric": "right", "kind": "observed_count", "max_failures": 1}
    found: dict[str, list[Any]] = {}
    for name, environment in (("local", None), ("ray", cluster.environment)):
        directory = suite(tmp_path / name, *["no", "yes", "no", "no"] * 3, executor=name, concurrency=1)
        (directory / "release.yaml").write_text(json.dumps({"version": 1, "rules": [rule]}))
        config = json.loads((directory / "oloproof.yaml").read_text())
        del config["policy"]
        (directory / "oloproof.yaml").write_text(json.dumps(config))
        found[name] = [
            as_asked(directory, *options, environment=environment)
            for options in (
                ("--stop-early", "--seed", "3"),
                ("--max-cost-usd", "0.5"),
                ("--resume", "latest", "--max-wall-s", "0.001"),
                ("--resume", "latest"),
                ("--reuse", "--trials", "2"),
            )
        ]
    assert [code for code, _ in found["ray"]] == [1, 5, 5, 1, 1]
    headers = [document["header"] for _, document in found["ray"]]
    statuses = ["stopped_early", "interrupted", "interrupted", "complete", "complete"]
    assert [header["status"] for header in headers] == statuses
    assert [each["attempts"] for each in headers[-1]["reused"]] == [12]
    for run in (0, 3, 4):  # how far a budget reaches depends on how fast the cases are
        here, there = (found[name][run][1] for name in ("local", "ray"))
        assert [key for key in here if here[key] != there.get(key)] == []


def test_the_cases_of_a_lost_machine_are_run_again_and_it_is_told(tmp_path: Path, cluster: Cluster) -> None:
    cluster.add(1)  # so that others have as many as before
    suite(tmp_path, *["yes"] * 4, "lose the machine", *["yes"] * 4, "end the worker", timeout_s=600)
    done = cluster.run(tmp_path, "--json")
    assert done.code == 0
    assert done.verdict("right") == (8, 1, 1, 0)  # also: nothing of Ray's stands in the JSON
    warnings = " ".join(done.json["warnings"])
    assert "Ray workers were lost" in warnings
    assert "c5" in warnings
    case = oloproof(tmp_path, "inspect", "--case", "c10", "--json").json
    assert case["error"]["kind"] == "system_error"
    assert "Ray workers in a row were lost while this case ran" in case["error"]["message"]


def test_interrupts_and_what_is_resumed(tmp_path: Path, cluster: Cluster) -> None:
    suite(tmp_path, "yes", *["wait"] * 4, timeout_s=600)
    for name in ("alive", "release"):
        os.mkfifo(tmp_path / name)
    with started(tmp_path, "run", env=cluster.environment) as process:
        alive = os.open(tmp_path / "alive", os.O_RDONLY)  # waits for a case to open it too
        assert process.stderr is not None
        assert any(line.startswith("run ") for line in process.stderr)
        process.send_signal(signal.SIGINT)
        assert any(line.startswith("stopping") for line in process.stderr)
        process.send_signal(signal.SIGINT)
        process.communicate()
        assert os.read(alive, 1) == b""  # no process of a case is left
        os.close(alive)
    assert process.returncode == 130
    for name in ("alive", "release"):
        (tmp_path / name).unlink()
        (tmp_path / name).touch()
    resumed = cluster.run(tmp_path, "--resume", "latest", "--json")
    assert resumed.code == 0, resumed.err
    assert resumed.verdict("right") == (1, 4, 0, 0)


def test_files_are_sent_along_and_secrets_stay_but_for_those_named(tmp_path: Path, cluster: Cluster) -> None:
    environment = cluster.environment | {"AGENT_TOKEN": "t-1"}
    (tmp_path / "sent").mkdir()
    app = APP.replace(
        'os.environ.get("AGENT_TOKEN", "not there")', '[__file__, os.listdir("."), os.getenv("AGENT_TOKEN")]'
    )
    suite(tmp_path / "sent", "secret", "raise", ray={"code": "upload", "env": ["AGENT_TOKEN"]}, concurrency=1)
    (tmp_path / "sent" / "app.py").write_text(app)
    (tmp_path / "sent" / ".env").write_text("AGENT_TOKEN=t-2")
    done = spawned(tmp_path / "sent", "run", "--json", env=environment)
    assert done.code == 0, done.err
    secret, failed = shown(tmp_path / "sent", 1, 2)
    path, files, token = secret["output"]["answer"]
    assert token == "t-1"
    assert str(tmp_path) not in path
    assert "app.py" in files
    assert not {".env", ".oloproof"} & set(files)
    assert str(tmp_path / "sent" / "app.py") in failed["error"]["traceback"]
    suite(tmp_path / "kept", "secret", concurrency=1)
    assert spawned(tmp_path / "kept", "run", env=environment).code == 0
    assert shown(tmp_path / "kept", 1)[0]["output"]["answer"] == "not there"


def test_a_system_that_does_not_load_is_told_as_anywhere(tmp_path: Path, cluster: Cluster) -> None:
    suite(tmp_path, "yes", callable="app:Nobody")
    done = cluster.run(tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "[OLO402]" in done.err


@needs_ray
def test_a_cluster_of_this_machine_is_started_where_none_is_named(tmp_path: Path, cluster: Cluster) -> None:
    suite(tmp_path, "yes", "yes")
    environment = {name: value for name, value in cluster.environment.items() if name != "RAY_ADDRESS"}
    done = spawned(tmp_path, "run", "--json", env=environment)
    assert done.code == 0, done.err
    assert done.verdict("right") == (2, 0, 0, 0)


@needs_ray
@pytest.mark.parametrize(
    ("address", "code", "told"),
    [
        ("nobody", 5, "no Ray cluster could be reached at 127.0.0.1:"),
        ("nothing", 2, "which is not host:port, auto or local [OLO436]"),
        ("ray://127.0.0.1:1", 2, "which is not host:port, auto or local [OLO436]"),
    ],
)
def test_an_address_where_no_cluster_is(tmp_path: Path, address: str, code: int, told: str) -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        address = f"127.0.0.1:{taken.getsockname()[1]}" if address == "nobody" else address
        done = oloproof(suite(tmp_path, "yes", ray={"address": address}), "run")
    assert (done.code, done.out) == (code, "")
    assert told in done.err


def test_a_machine_that_is_not_fit_for_the_run_is_told(tmp_path: Path) -> None:
    def said(version: str, directory: Path) -> Any:
        load = LoadSystem("app:run", os.fsencode(directory), 1.0)
        made = Assignment(version=version, load=load, config="oloproof.yaml", uploaded=False, env={})
        return decode_start(Node(encode(made)).start())

    assert said("0.0.0", tmp_path).code == "OLO435"
    assert said(__version__, tmp_path / "elsewhere").code == "OLO433"
