"""Small systems and evaluators in real worker processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

from oloproof import runner
from oloproof.model.case import Attempt, Case
from oloproof.model.project import CallableSystem, Project, RecordedSystem, SystemSpec, UserEvaluatorSpec

HEADER = """
import asyncio, atexit, os, signal, sys, threading, time
from oloproof import *

def steps(*names):
    return tuple(AgentStep(index=i, kind="tool_call", tool_name=n, arguments={}) for i, n in enumerate(names, 1))
"""


def project(
    directory: Path,
    source: str,
    *,
    target: str = "app:run",
    concurrency: int = 1,
    timeout_s: float = 30.0,
    evaluators: dict[str, str] | None = None,
    recorded: bool = False,
) -> Project:
    """A project whose ``app.py`` holds ``source`` below the usual imports."""
    (directory / "app.py").write_text(HEADER + dedent(source))
    kind: CallableSystem | RecordedSystem = CallableSystem(
        target=target, directory=str(directory), concurrency=concurrency, timeout_s=timeout_s
    )
    if recorded:
        kind = RecordedSystem(patterns=("traces.jsonl",), files=())
    return Project(
        name="test",
        config="oloproof.yaml",
        directory=str(directory),
        system=SystemSpec(kind=kind),
        evaluators=(),
        user_evaluators=tuple(
            UserEvaluatorSpec(criterion=criterion, target=name) for criterion, name in (evaluators or {}).items()
        ),
    )


def cases(*inputs: Any) -> list[Case]:
    """A case for each input, named ``case_1`` onwards."""
    return [Case(id=f"case_{n}", input=value, expected={"answer": "secret"}) for n, value in enumerate(inputs, 1)]


def run(project: Project, inputs: Iterable[Any], **options: Any) -> list[Attempt]:
    """Load the system and run it once on each input."""
    with runner.load(project, **options) as loaded:
        return list(loaded.run(cases(*inputs)))


@contextmanager
def judge(project: Project) -> Iterator[runner.UserJudge]:
    with runner.evaluation_worker(project) as user_judge:
        yield user_judge
