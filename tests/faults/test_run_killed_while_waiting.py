"""A run that is killed while a case waits to be made again: the attempts before are there when it is resumed."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from fakes.projects import RIGHT, answered, oloproof, project, started
from oloproof.store import Store

APP = """
import json, os, sys

class Refused(Exception):
    status_code = 503

def run(case):
    refused = case == "no" and not os.path.exists("refused")
    if refused:
        open("refused", "w").close()
        if __name__ == "__main__":
            sys.exit(75)
        from oloproof import current_case
        with current_case().trace() as trace:
            trace.tool_call("delete", {"key": "sk-secret-123"})
        raise Refused("sk-secret-123 is not there")
    if case == "wait":
        os.open("alive", os.O_WRONLY)  # for as long as this process lives
        os.close(os.open("release", os.O_RDONLY))
    return {"answer": case}

if __name__ == "__main__":
    print(json.dumps({"output": run(json.load(sys.stdin)["input"])}))
"""
RESUMED = ("--resume", "latest")
NEVER = {"type": "agent_rule", "criterion": "never_deleted", "rule": "never delete"}


def suite(directory: Path, system: dict[str, Any], *, wait_s: float, **config: Any) -> None:
    retry = {"attempts": 3, "on": ["unavailable"], "backoff": {"first_s": wait_s, "max_s": wait_s}}
    launched = {"max_per_minute": 6000, "retry": retry, "timeout_s": 600}  # a case begins once the one before is kept
    system = system | launched | {"records": ["agent_trajectory/v1"], "version": "1"}
    cases, judged = answered("no", "wait", "yes"), [RIGHT, NEVER]
    project(directory, app=APP, cases=cases, evaluators=judged, rules=None, policy="none", system=system, **config)


def document(directory: Path) -> tuple[Any, str]:
    found = oloproof(directory, "inspect", "--json").json
    del found["run"]["id"]
    return found, oloproof(directory, "inspect", "--verdicts", "--json").out


@pytest.mark.parametrize(
    ("system", "redact", "how"),
    [
        ({"callable": "app:run"}, None, RESUMED),
        ({"callable": "app:run"}, None, ("--reuse",)),
        ({"callable": "app:run"}, {"patterns": [{"name": "key", "pattern": "sk-[a-z0-9-]+"}]}, RESUMED),
        ({"callable": "app:run", "isolation": "process"}, None, RESUMED),
        ({"command": [sys.executable, "app.py"]}, None, RESUMED),
    ],
)
def test_the_attempts_of_a_case_that_waited_are_kept(
    tmp_path: Path, system: dict[str, Any], redact: Any, how: tuple[str, ...]
) -> None:
    config = {} if redact is None else {"redact": redact}
    for name, wait_s in (("whole", 0.001), ("killed", 600)):
        suite(tmp_path / name, system, wait_s=wait_s, **config)
    for file in ("alive", "release"):
        (tmp_path / "whole" / file).touch()
        os.mkfifo(tmp_path / "killed" / file)
    assert oloproof(tmp_path / "whole", "run").code == 0
    killed = tmp_path / "killed"
    with started(killed, "run") as process:
        alive = os.open(killed / "alive", os.O_RDONLY)  # waits for the case to open it too
        process.send_signal(signal.SIGKILL)
        process.communicate()
    release = os.open(killed / "release", os.O_RDWR)  # for a command's process, which outlives its parent
    while os.read(alive, 1):
        pass
    os.close(release)
    os.close(alive)
    with Store.open(killed / ".oloproof") as store:
        (waiting,) = store.waiting(store.find("latest").id).values()
    assert [each.case_id for each in waiting] == ["c1"]
    files = (killed / ".oloproof").iterdir()
    assert redact is None or not any(b"sk-secret" in file.read_bytes() for file in files)
    for file in ("alive", "release"):
        (killed / file).unlink()
        (killed / file).touch()
    suite(killed, system, wait_s=0.001, **config)
    assert oloproof(killed, "run", *how).code == 0
    case = oloproof(killed, "inspect", "latest", "--case", "c1", "--json").json
    assert [each["error"]["infrastructure"] for each in case["earlier"]] == ["unavailable"]
    here, there = document(killed), document(tmp_path / "whole")
    for found, _ in (here, there):
        found["run"].pop("redacted", None)  # what was taken out before the kill was counted by the process that died
        found["warnings"] = [each for each in found["warnings"] if "`redact:`" not in each]
    assert here == there
    if "callable" in system:
        never = next(metric for metric in here[0]["metrics"] if metric["id"] == "never_deleted")
        assert never["failed"] == 1, "what an attempt had settled before it was made again stands"
    with Store.open(killed / ".oloproof") as store:
        assert store.waiting(store.find("latest").id) == {}
