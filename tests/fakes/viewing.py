"""``oloproof view`` in a process of its own, and a run that goes on until it is let."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from fakes.projects import started

WAIT_S = 60

WAITING = """
import os, socket

def run(case):
    with socket.create_connection(("127.0.0.1", int(os.environ["GATE"]))) as line:
        line.recv(1)
    return {"answer": case}
"""
"""Each case knocks at the gate and waits until it is let."""


@dataclass(frozen=True)
class Viewing:
    """The server: the address that it printed, and what stands before the token in it."""

    process: subprocess.Popen[str]
    address: str

    @property
    def base(self) -> str:
        parts = urlsplit(self.address)
        return f"{parts.scheme}://{parts.netloc}"

    def ended(self, how: signal.Signals = signal.SIGINT) -> tuple[int, str]:
        """The exit code after this signal, and what was said on stderr."""
        self.process.send_signal(how)
        _, err = self.process.communicate(timeout=WAIT_S)
        return self.process.returncode, err


@contextmanager
def viewing(directory: Path, *arguments: str, browser: str = "") -> Iterator[Viewing]:
    """The server of the project in ``directory``, killed at the end where it is still there. ``browser`` is a program
    that it is to open, "" where it must not."""
    opening = "--open" if browser else "--no-open"
    environment = os.environ | {"BROWSER": browser}
    with started(directory, "view", opening, *arguments, env=environment) as process:
        try:
            assert process.stdout is not None
            yield Viewing(process, process.stdout.readline().strip())
        finally:
            process.kill()


@dataclass(frozen=True)
class GoingOn:
    """A run of ``WAITING``."""

    id: str
    gate: socket.socket

    def go_on(self, *, cases: int) -> None:
        """Let so many cases finish."""
        for _ in range(cases):
            self.gate.accept()[0].close()


@contextmanager
def going_on(directory: Path) -> Iterator[GoingOn]:
    """The project's run, killed at the end where it is still there."""
    with socket.create_server(("127.0.0.1", 0)) as gate:
        gate.settimeout(WAIT_S)
        environment = os.environ | {"GATE": str(gate.getsockname()[1])}
        with started(directory, "run", env=environment) as process:
            try:
                assert process.stderr is not None
                yield GoingOn(process.stderr.readline().split()[1], gate)
            finally:
                process.kill()
