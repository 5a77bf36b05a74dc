"""A project run once in a session of tests, whichever of its processes needs it first.

It is `oloproof run`, in a process of its own: it decides where no test and no conftest can reach it, and its exit code
is the session's lower bound.
"""

from __future__ import annotations

import fcntl
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.json import decode, encode

from oloproof.errors import ExitCode


class Source(Struct, frozen=True, kw_only=True):
    """A project that is tested: its place among those of the session, and its configuration as it was typed in
    ``directory`` and as it is found from anywhere. ``is_demanded``: a session that does not decide it is no success."""

    number: int
    typed: str
    directory: str
    is_demanded: bool = True

    @property
    def path(self) -> Path:
        """The configuration, absolute."""
        return Path(self.directory, self.typed)

    @property
    def named(self) -> Path:
        """The configuration as a command must name it that is typed where the session was started."""
        return Path(self.typed) if Path.cwd() == Path(self.directory) else self.path


class Outcome(Struct, frozen=True, kw_only=True):
    """How `oloproof run` ended. ``run`` is the id of the stored run, None where none began; ``said`` is what it wrote
    to stderr."""

    exit_code: int
    run: str | None
    said: str = ""

    @property
    def is_decided(self) -> bool:
        """The run came to its end, and its exit code is its verdict."""
        decided = (ExitCode.ALLOW, ExitCode.FAIL, ExitCode.INSUFFICIENT_EVIDENCE, ExitCode.MANUAL_REVIEW)
        return self.run is not None and self.exit_code in decided


def outcome_of(source: Source, shared: Path, arguments: Sequence[str]) -> Outcome:
    """What became of the project: it is run now, or was run by this process or another of the session, which is waited
    for. ``shared`` is the directory that the session's processes have in common."""
    with _locked(shared / f"{source.number}.lock"):
        found = known_outcome(source, shared)
        if found is not None:
            return found
        if has_begun(source, shared):
            return Outcome(exit_code=ExitCode.BROKEN, run=None, said="the process that ran it did not see its end")
        _begun_at(source, shared).touch()
        outcome = _run(source, shared / f"{source.number}.run", arguments)
        _kept_at(source, shared).write_bytes(encode(outcome))
        return outcome


def known_outcome(source: Source, shared: Path) -> Outcome | None:
    """What became of the project, None where nobody has run it to its end."""
    kept = _kept_at(source, shared)
    return decode(kept.read_bytes(), type=Outcome) if kept.exists() else None


def has_begun(source: Source, shared: Path) -> bool:
    """Whether somebody has begun to run it."""
    return _begun_at(source, shared).exists()


def _begun_at(source: Source, shared: Path) -> Path:
    return shared / f"{source.number}.begun"


def _kept_at(source: Source, shared: Path) -> Path:
    return shared / f"{source.number}.json"


def _run(source: Source, run_id_file: Path, arguments: Sequence[str]) -> Outcome:
    # -P: nothing is imported from the directory that pytest was started in.
    command = [sys.executable, "-P", "-m", "oloproof", "run", "--config", source.typed, "--no-stop-early"]
    with run_id_file.with_suffix(".stderr").open("w+b") as said:
        process = subprocess.Popen(
            [*command, "--run-id-file", str(run_id_file), *arguments],
            cwd=source.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
        try:
            process.wait()
        except KeyboardInterrupt:  # it has heard of it as well, and lets running cases finish
            process.wait()
            raise
        said.seek(0)
        told = said.read().decode("utf-8", "backslashreplace")
    run = run_id_file.read_text(encoding="utf-8").strip() if run_id_file.exists() else None
    return Outcome(exit_code=process.returncode, run=run, said=told)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Alone among the session's processes; whoever dies lets go."""
    with path.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
