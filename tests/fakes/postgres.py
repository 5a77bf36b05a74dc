"""A Postgres server of the tests' own, in a directory of its own, where its programs are."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

ACCOUNTS = ("postgres", "nobody")
"""Who may own the server where the tests run as root, whom it refuses."""


class Server:
    """A server that listens on a socket in its directory and on nothing else."""

    def __init__(self, programs: Path, place: Path, **account: Any) -> None:
        self.place = place
        self._programs, self._account = programs, account

    @property
    def address(self) -> str:
        return f"postgresql://oloproof@/postgres?host={self.place}"

    def make(self) -> None:
        self._run("initdb", "--pgdata=data", "--username=oloproof", "--auth=trust", "--encoding=UTF8", "--no-sync")

    def start(self) -> None:
        # Without fsync: it is programs that are killed here, and what they wrote is with the kernel.
        options = f"-c listen_addresses='' -c fsync=off -k {self.place}"
        self._run("pg_ctl", "--pgdata=data", "--wait", "--log=log", f"--options={options}", "start")

    def stop(self) -> None:
        """As a crash would."""
        self._run("pg_ctl", "--pgdata=data", "--wait", "--mode=immediate", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
        command = [str(self._programs / program), *arguments]
        with (self.place / "told").open("ab") as told:  # a file: what pg_ctl starts would hold a pipe open
            done = subprocess.run(
                command,
                cwd=self.place,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=told,
                stderr=subprocess.STDOUT,
                check=False,
                **self._account,
            )
        assert done.returncode == 0, f"{program}: {(self.place / 'told').read_text()}"


@contextmanager
def postgres() -> Iterator[Server]:
    """A server that runs. The test is skipped where there are no programs for one, or nobody to run it as."""
    programs = _programs()
    if programs is None:
        pytest.skip("initdb and pg_ctl of Postgres are not installed")
    account: dict[str, Any] = {}
    if os.geteuid() == 0:
        entry = next(filter(None, map(_account, ACCOUNTS)), None)
        if entry is None:
            pytest.skip("Postgres does not run as root, and there is no other account")
        account = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    place = Path(tempfile.mkdtemp(prefix="olo-pg-"))  # short: a socket's path has a hundred characters
    try:
        if account:
            os.chown(place, account["user"], account["group"])
        server = Server(programs, place, **account)
        server.make()
        server.start()
        try:
            yield server
        finally:
            with suppress(AssertionError):  # a test may have stopped it
                server.stop()
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _programs() -> Path | None:
    """The newest programs that are installed; Debian keeps them off the path."""
    found = shutil.which("initdb")
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda each: float(each.parent.name), reverse=True)
    candidates = [*([Path(found).resolve().parent] if found else []), *places]
    return next((each for each in candidates if (each / "pg_ctl").exists() and (each / "initdb").exists()), None)


def _account(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None
