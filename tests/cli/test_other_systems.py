"""Systems that are no Python function: a command, and the example's server."""

from __future__ import annotations

import importlib.util
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from fakes.projects import NONE_WRONG, answered, oloproof, project

EXAMPLE = Path(__file__).parents[2] / "examples" / "http_agent"
ECHO = "import json, sys; print(json.dumps({'output': {'answer': json.load(sys.stdin)['input']}}))"
COMMAND = {"command": [sys.executable, "-S", "-c", ECHO]}


@pytest.fixture
def server() -> Iterator[int]:
    """The port on which the example's agent listens."""
    import uvicorn

    spec = importlib.util.spec_from_file_location("http_agent", EXAMPLE / "app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = uvicorn.Server(uvicorn.Config(module.app, log_level="critical", lifespan="off"))
        thread = Thread(target=serving.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        serving.should_exit = True
        thread.join()


def example(directory: Path, port: int) -> Path:
    shutil.copytree(EXAMPLE, directory, ignore=shutil.ignore_patterns(".oloproof", "__*"))
    config = directory / "oloproof.yaml"
    config.write_text(config.read_text().replace(":8000", f":{port}"))
    return directory


def test_the_example_agent_behind_http_passes_its_gate(tmp_path: Path, server: int) -> None:
    done = oloproof(example(tmp_path / "http", server), "run", "--json")
    assert done.code == 0, done.err
    assert done.verdict("answer_correct") == (4, 0, 0, 0)
    assert done.verdict("agent_tool_sequence") == (4, 0, 0, 0)
    assert done.json["run"]["system"]["name"] == "http-agent"


def test_without_the_server_every_case_is_missing_and_the_gate_blocks(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    done = oloproof(example(tmp_path / "http", port), "run", "--json")
    assert done.code == 3
    assert done.verdict("answer_correct") == (0, 0, 4, 0)


def test_a_command_is_run_for_each_case(tmp_path: Path) -> None:
    done = oloproof(project(tmp_path, cases=answered("yes", "no"), system=COMMAND), "run", "--json")
    assert done.code == 1
    assert done.verdict("right") == (1, 1, 0, 0)
    assert done.json["run"]["system"]["name"] == "small"


def test_a_program_that_does_not_exist_is_an_error_of_the_configuration(tmp_path: Path) -> None:
    done = oloproof(project(tmp_path, system={"command": ["no-such-program"]}), "run")
    assert done.code == 2
    assert "oloproof.yaml: system.command: 'no-such-program' is no program on the PATH [OLO409]" in done.lines


def test_a_script_that_may_not_be_run_is_told_what_would_run_it(tmp_path: Path) -> None:
    directory = project(tmp_path, system={"command": ["./agent.sh"]})
    (directory / "agent.sh").write_text("echo")
    done = oloproof(directory, "run")
    assert done.code == 2
    assert "  `chmod +x ./agent.sh` allows it, or name what runs it before it: [sh, ./agent.sh]" in done.err


def test_a_command_that_prints_beside_its_answer_is_told_where_to(tmp_path: Path) -> None:
    directory = project(tmp_path, system={"command": ["sh", "-c", "echo looking up"]})
    done = oloproof(directory, "run")
    assert "in 'looking up'; print what is no answer to standard error" in done.out


def test_a_command_line_in_one_string_is_told_how_it_is_written(tmp_path: Path) -> None:
    done = oloproof(project(tmp_path, system={"command": ["node agent.js"]}), "run")
    assert done.code == 2
    assert "each argument is an item of its own: [node, agent.js]" in done.lines


@pytest.mark.parametrize(
    ("system", "wrong"),
    [
        ({}, "system needs one of callable, command, http and recorded"),
        (COMMAND | {"callable": "app:run"}, "callable, command, http and recorded, not callable and command"),
        ({"command": "node agent.js"}, "command must be a list, found the string 'node agent.js'"),
        ({"command": []}, "command must not be empty"),
        ({"http": {}}, "http needs the key 'url'"),
        ({"http": {"url": "localhost:8000"}}, "url must be an http:// or https:// address, found 'localhost:8000'"),
        ({"http": {"url": "http://x", "token": "y"}}, "unknown key 'token'"),
    ],
)
def test_a_system_that_is_none_is_said_with_its_place(tmp_path: Path, system: dict[str, Any], wrong: str) -> None:
    done = oloproof(project(tmp_path, system=system), "check")
    assert done.code == 2
    assert wrong in done.err


def test_no_other_system_runs_in_this_process(tmp_path: Path) -> None:
    done = oloproof(project(tmp_path, system=COMMAND, rules=[NONE_WRONG]), "run", "--in-process")
    assert done.code == 2
    assert "OLO623" in done.err
