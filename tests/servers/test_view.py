"""``view`` over a real socket: who gets in, how it ends, and a run that is followed while it goes on."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from fakes.projects import answered, oloproof, project
from fakes.viewing import WAIT_S, WAITING, Viewing, going_on, viewing

httpx = pytest.importorskip("httpx", reason="httpx is not installed")
pytest.importorskip("starlette", reason="the extra oloproof[view] is not installed")
pytest.importorskip("uvicorn", reason="the extra oloproof[view] is not installed")


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    project(tmp_path)
    assert oloproof(tmp_path, "run").code == 0
    return tmp_path


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewing]:
    directory = project(tmp_path_factory.mktemp("viewed"))
    assert oloproof(directory, "run").code == 0
    with viewing(directory) as found:
        yield found


@contextmanager
def client(view: Viewing) -> Iterator[Any]:
    """A browser that opened the printed address."""
    with httpx.Client(base_url=view.base, timeout=WAIT_S) as found:
        assert found.get(view.address).status_code == 200
        yield found


def test_the_printed_address_opens_the_runs_and_nothing_else_does(stored: Path) -> None:
    with viewing(stored) as view:
        assert httpx.get(view.base, timeout=WAIT_S).status_code == 403
        with client(view) as inside:
            assert "<h1>Runs</h1>" in inside.get("/").text
            assert inside.get("/", headers={"host": "evil.example"}).status_code == 421


def test_it_listens_at_one_address_of_this_machine_alone(stored: Path) -> None:
    with viewing(stored) as view:
        port = int(view.base.rpartition(":")[2])
        with pytest.raises(ConnectionRefusedError):  # whoever listens everywhere answers here too
            socket.create_connection(("127.0.0.2", port), timeout=WAIT_S)


def test_a_run_is_opened_by_name(stored: Path) -> None:
    with viewing(stored, "latest") as view, client(view) as inside:
        opening = inside.get(view.address).text
        (run,) = [part for part in opening.split('"') if part.startswith("/runs/")]
        assert "ALLOW" in inside.get(run).text


def test_the_browser_that_is_opened_is_let_in_once_and_does_not_learn_the_token(stored: Path) -> None:
    pipe, program = stored / "pipe", stored / "browser"
    os.mkfifo(pipe)
    program.write_text(f'#!/bin/sh\nprintf %s "$1" > "{pipe}"\n')
    program.chmod(0o755)
    with viewing(stored, browser=str(program)) as view:
        address = pipe.read_text()  # waits until it is opened
        assert address.startswith(f"{view.base}/?token=")
        assert address != view.address
        assert [httpx.get(address, timeout=WAIT_S).status_code for _ in range(2)] == [200, 403]
        assert httpx.get(view.address, timeout=WAIT_S).status_code == 200


def test_where_no_browser_can_be_opened_the_printed_address_does(stored: Path) -> None:
    with viewing(stored, browser="/nowhere/such-a-browser") as view, client(view) as inside:
        assert inside.get("/").status_code == 200
        assert view.ended()[0] == 0


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_with_0_also_while_somebody_follows_a_run(how: signal.Signals, stored: Path) -> None:
    project(stored, app=WAITING)
    with going_on(stored) as run, viewing(stored) as view, client(view) as inside:
        with inside.stream("GET", f"/runs/{run.id}/events") as events:
            assert next(events.iter_lines()) == "event: progress"
            code, err = view.ended(how)
        assert (code, err.count("\n")) == (0, 1), err


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ("GET / HTTP/1.0\r\n", b"421"),
        ("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n", b"400"),
        ("GET http://127.0.0.1/ HTTP/1.1\r\nHost: evil.example\r\n", b"421"),
        ("GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n", b"404"),
        ("GET /runs/%ed%a0%80%00 HTTP/1.1\r\nHost: localhost\r\n", b"404"),
        ("GET /runs/latest/case?id=%ff&trial=%ff HTTP/1.1\r\nHost: localhost\r\n", b"400"),
        ("nonsense\r\n", b"400"),
    ],
)
def test_a_request_that_no_browser_sends_gets_an_answer(request_: str, status: bytes, view: Viewing) -> None:
    host, port = view.base.removeprefix("http://").split(":")
    token = parse_qs(urlsplit(view.address).query)["token"][0]
    cookie = f"Cookie: oloproof_view_{port}={token}\r\nConnection: close\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=WAIT_S) as line:
        line.sendall(f"{request_}{cookie}".encode())
        assert line.recv(12).partition(b" ")[2] == status


def test_a_taken_port_is_refused(stored: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = oloproof(stored, "view", "--no-open", "--port", str(taken.getsockname()[1]))
    assert done.code == 2
    assert "choose another --port" in done.err


def test_without_a_store_there_is_nothing_to_view(tmp_path: Path) -> None:
    project(tmp_path)
    done = oloproof(tmp_path, "view", "--no-open")
    assert (done.code, "OLO610" in done.err) == (2, True)


def told(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    for line in lines:
        if line.startswith("event: "):
            yield line.removeprefix("event: "), json.loads(next(lines).removeprefix("data: "))


def test_a_run_is_followed_to_its_end(tmp_path: Path) -> None:
    project(tmp_path, app=WAITING, cases=answered("yes", "no"))
    with going_on(tmp_path) as run, viewing(tmp_path) as view, client(view) as inside:
        with inside.stream("GET", f"/runs/{run.id}/events") as stream:
            events = told(stream.iter_lines())
            assert next(events) == ("progress", {"told": "0 of 2 cases", "counts": [["right", "0", "0", "0", "0"]]})
            assert "RUNNING" in inside.get(f"/runs/{run.id}").text
            run.go_on(cases=2)
            *_, last = events
        assert last == ("ended", "")
        assert "BLOCK" in inside.get(f"/runs/{run.id}").text
