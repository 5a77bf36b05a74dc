"""Systems that are servers, over real connections to one in this process."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import pytest
from msgspec import UNSET

from fakes.workers import cases
from oloproof import runner
from oloproof.errors import UsageError
from oloproof.model.case import Attempt
from oloproof.model.project import Backoff, HttpSystem, Launching, Project, Retry, SystemSpec
from oloproof.runner import http

STEP = {"step": {"index": 1, "kind": "tool_call", "tool_name": "search", "arguments": {}}}
NEVER = Event()


class Agent(BaseHTTPRequestHandler):
    """Does as the case's input says."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        case = {"authorization": self.headers.get("authorization"), **asked}
        getattr(self, asked["input"])(case)

    def echo(self, case: Any) -> None:
        self.reply(200, json.dumps({"case": case["case"], "output": case}).encode())

    def stream(self, case: Any) -> None:
        self.reply(200, (json.dumps(STEP) + "\n" + json.dumps({"output": 1})).encode())

    def crash(self, case: Any) -> None:
        self.reply(500, b"no such\norder")

    def busy(self, case: Any) -> None:
        self.reply(429, b"slow down", **{"retry-after": "0"})

    def away(self, case: Any) -> None:
        self.reply(503, b"", **{"retry-after": "7200"})

    def redirect(self, case: Any) -> None:
        self.reply(302, b"", location="/elsewhere")

    def page(self, case: Any) -> None:
        self.reply(200, b"<html>")

    def flood(self, case: Any) -> None:
        self.reply(200, b"x" * 300_000)

    def cut(self, case: Any) -> None:
        self.head(200, 100_000)
        self.wfile.write(json.dumps(STEP).encode() + b"\n")
        self.close_connection = True

    def stall(self, case: Any) -> None:
        self.head(200, 100_000)
        self.wfile.write(json.dumps(STEP).encode() + b"\n")
        self.wfile.flush()
        NEVER.wait(60)

    def silence(self, case: Any) -> None:
        NEVER.wait(60)

    def hang_up(self, case: Any) -> None:
        self.close_connection = True

    def reply(self, status: int, body: bytes, **headers: str) -> None:
        self.head(status, len(body), **headers)
        self.wfile.write(body)

    def head(self, status: int, length: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-length": str(length), **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Nobody listens."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """A client that hangs up is part of the tests."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with _Server(("127.0.0.1", 0), Agent) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/run"
        NEVER.set()
        server.shutdown()
        thread.join()


def project(url: str, **kind: Any) -> Project:
    return Project(
        name="test",
        config="oloproof.yaml",
        directory=".",
        system=SystemSpec(kind=HttpSystem(url=url, **kind)),
        evaluators=(),
    )


def run(url: str, *inputs: str, **kind: Any) -> list[Attempt]:
    with runner.load(project(url, **kind)) as loaded:
        return list(loaded.run(cases(*inputs)))


def error(url: str, asked: str, **kind: Any) -> tuple[str, str]:
    (attempt,) = run(url, asked, **kind)
    assert attempt.output is UNSET
    assert attempt.error is not None
    return attempt.error.kind, attempt.error.message


def test_each_case_is_posted_and_answered(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TOKEN", "Bearer secret\n")
    attempts = run(url, *["echo"] * 5, headers_env={"Authorization": "AGENT_TOKEN"}, concurrency=3)
    assert [attempt.error for attempt in attempts] == [None] * 5
    assert [attempt.output["case"] for attempt in attempts] == [f"case_{n}" for n in range(1, 6)]
    assert attempts[0].output["authorization"] == "Bearer secret"
    assert "expected" not in attempts[0].output


def test_a_stream_brings_its_trajectory(url: str) -> None:
    (attempt,) = run(url, "stream")
    assert attempt.output == 1
    assert attempt.trajectory is not None
    assert len(attempt.trajectory.steps) == 1


def test_what_is_no_success_is_that_cases_error(url: str) -> None:
    assert error(url, "crash") == ("system_error", "the server answered 500 Internal Server Error: no such\norder")
    assert error(url, "redirect") == ("system_error", "the server answered 302 Found")


def test_what_is_no_answer_is_that_cases_error(url: str) -> None:
    kind, message = error(url, "page")
    assert kind == "system_error"
    assert message.startswith("line 1 of its answer is no JSON")


def test_a_server_that_answers_without_end(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_ANSWER_BYTES", 100_000)
    assert error(url, "flood") == ("system_error", "its answer takes more than 100000 bytes")


def test_a_server_that_hangs_up(url: str) -> None:
    kind, message = error(url, "hang_up")
    assert kind == "system_error"
    assert message.startswith(f"the server at {url} gave no answer: RemoteProtocolError")


def test_what_came_before_the_connection_broke_is_a_prefix(url: str) -> None:
    (attempt,) = run(url, "cut")
    assert attempt.error is not None
    assert attempt.error.kind == "system_error"
    assert attempt.trajectory is not None
    assert attempt.trajectory.truncated


def test_a_server_that_is_late(url: str) -> None:
    assert error(url, "silence", timeout_s=0.3) == ("timeout", "no answer within 0.3 s")
    (attempt,) = run(url, "stall", timeout_s=2)
    assert attempt.error is not None
    assert attempt.error.kind == "timeout"
    assert attempt.trajectory is not None
    assert len(attempt.trajectory.steps) == 1


def test_a_server_that_is_not_there() -> None:
    kind, message = error("http://127.0.0.1:1/run", "echo")
    assert kind == "system_error"
    assert "ConnectError" in message


def test_a_header_without_its_variable_is_told_before_anything_runs(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENT_TOKEN", raising=False)
    with pytest.raises(UsageError) as caught:
        run(url, "echo", headers_env={"Authorization": "AGENT_TOKEN"})
    assert [(problem.code, problem.message) for problem in caught.value.problems] == [
        ("OLO413", "AGENT_TOKEN is not set")
    ]


def test_without_httpx_the_line_that_installs_it_is_told(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(UsageError) as caught:
        run(url, "echo")
    assert caught.value.problems[0].hint == "pip install 'oloproof[http]'"


@pytest.mark.parametrize(
    ("asked", "kind", "retry_after_s", "made"),
    [
        ("busy", "rate_limit", 0.0, 3),
        ("away", "unavailable", 7200.0, 1),  # longer than anybody would wait
        ("hang_up", "connection", None, 3),
        ("cut", "connection", None, 3),
        ("crash", None, None, 1),
        ("redirect", None, None, 1),
        ("page", None, None, 1),
    ],
)
def test_what_was_in_the_way_is_tried_again(
    url: str, asked: str, kind: str | None, retry_after_s: float | None, made: int
) -> None:
    launching = Launching(retry=Retry(backoff=Backoff(first_s=0.001, max_s=1)))
    (attempt,) = run(url, asked, launching=launching)
    assert attempt.error is not None
    assert (attempt.error.infrastructure, attempt.error.retry_after_s) == (kind, retry_after_s)
    assert len(attempt.earlier) + 1 == made


def test_a_server_that_is_not_there_is_a_connection_error() -> None:
    (attempt,) = run("http://127.0.0.1:9/run", "echo")
    assert attempt.error is not None
    assert attempt.error.infrastructure == "connection"
