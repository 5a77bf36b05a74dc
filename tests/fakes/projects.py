"""Small project directories, and the real command run in them."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

from oloproof.cli import main

Row = Mapping[str, Any]

ECHO = """
def run(case):
    return {"answer": case}
"""
"""Answers what it is asked."""

AGENT = """
from oloproof import *

@system(records=("agent_trajectory/v1",))
def run(tools):
    with current_case().trace() as trace:
        for tool in tools:
            trace.tool_call(tool, {})
    return {"answer": "yes"}
"""
"""Calls the tools that it is asked to call."""

RIGHT = {"type": "contains", "criterion": "right", "field": "answer", "expected_field": "answer"}
NONE_WRONG = {"id": "none-wrong", "metric": "right", "kind": "observed_count", "max_failures": 0}
REVIEWED = NONE_WRONG | {"requires_manual_review": True}


def case(name: str, asked: Any = "yes", **expected: Any) -> Row:
    return {"id": name, "input": asked, "expected": {"answer": "yes"} | expected}


def answered(*answers: Any) -> list[Row]:
    """A case for each answer of the echo, ``c1`` onwards; "yes" is right."""
    return [case(f"c{number}", answer) for number, answer in enumerate(answers, 1)]


def project(
    directory: Path,
    *,
    app: str = ECHO,
    cases: Sequence[Row] | None = (*answered("yes", "yes", "yes"),),
    rules: Sequence[Row] | None = (NONE_WRONG,),
    evaluators: Sequence[Row] = (RIGHT,),
    **config: Any,
) -> Path:
    """A project in ``directory``, which is returned; ``config`` adds keys to oloproof.yaml or replaces them.

    ``rules`` None leaves release.yaml out, ``cases`` None the dataset. YAML is written as JSON, which is YAML.
    """
    directory.mkdir(parents=True, exist_ok=True)
    written: dict[str, Any] = {"version": 1, "project": "small", "system": {"callable": "app:run"}}
    written["evaluators"] = list(evaluators)
    (directory / "app.py").write_text(dedent(app))
    if cases is not None:
        written["dataset"] = "cases.jsonl"
        write_lines(directory / "cases.jsonl", cases)
    if rules is not None:
        (directory / "release.yaml").write_text(json.dumps({"version": 1, "rules": list(rules)}))
    (directory / "oloproof.yaml").write_text(json.dumps(written | config))
    return directory


def write_lines(path: Path, rows: Sequence[Row]) -> None:
    """JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """Everything printed, line by line, without the spaces around."""
        return [line.strip() for line in (self.out + self.err).splitlines()]

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def verdict(self, criterion: str) -> tuple[int, int, int, int]:
        """Passed, failed, missing and excluded, from the report's JSON document."""
        found = next(metric for metric in self.json["metrics"] if metric["id"] == criterion)
        return found["passed"], found["failed"], found["missing"], found["excluded"]


def oloproof(directory: Path, *arguments: str | Path, columns: int | None = None) -> Done:
    """The command in this process, which is quicker; systems and evaluators have their own in any case. ``columns`` is
    how wide its terminal says that it is, None where it says nothing."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with chdir(directory), _arguments(arguments), _environment(columns), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            code = ended.code
    assert isinstance(code, int)
    return Done(code, *(_text(stream) for stream in (out, err)))


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()


@contextmanager
def _arguments(arguments: Sequence[str | Path]) -> Iterator[None]:
    before, sys.argv = sys.argv, ["oloproof", *map(str, arguments)]
    try:
        yield
    finally:
        sys.argv = before


@contextmanager
def _environment(columns: int | None) -> Iterator[None]:
    before = {name: os.environ.pop(name) for name in ("COLUMNS", "NO_COLOR") if name in os.environ}
    if columns is not None:
        os.environ["COLUMNS"] = str(columns)
    try:
        yield
    finally:
        os.environ.pop("COLUMNS", None)
        os.environ.update(before)


def started(directory: Path, *arguments: str | Path, **options: Any) -> subprocess.Popen[str]:
    """The command in a process of its own, under way."""
    piped: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    return subprocess.Popen(
        [sys.executable, "-m", "oloproof", *map(str, arguments)],
        cwd=directory,
        text=True,
        **(piped | {"env": environment} | options),
    )


def spawned(directory: Path, *arguments: str | Path, **options: Any) -> Done:
    """The command in a process of its own."""
    with started(directory, *arguments, **options) as process:
        out, err = process.communicate()
    return Done(process.returncode, out or "", err or "")
