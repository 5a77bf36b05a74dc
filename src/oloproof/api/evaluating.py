"""``evaluate``: a function and cases that a program has, through the same pipeline as a project."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from oloproof import pipeline
from oloproof.api import Settings
from oloproof.api.cases import read_cases
from oloproof.api.results import Result
from oloproof.errors import did_you_mean, with_article
from oloproof.model.case import Case
from oloproof.model.comparison import Sides
from oloproof.model.project import Project
from oloproof.model.run import Report, Run
from oloproof.model.trajectory import RECORD
from oloproof.pipeline.world import CONFIG, open_store, real_ports
from oloproof.project import Cases
from oloproof.project import read_cases as read_dataset
from oloproof.project.given import cases_given, project_given
from oloproof.record.marks import evaluator_mark, system_mark
from oloproof.runner.given import GivenCode
from oloproof.store import MemoryStore, Store, read_baseline


class Asked(Struct, frozen=True, kw_only=True):
    """What is asked of a function, as ``evaluate`` is given it; ``baseline`` has been read."""

    evaluators: Any
    rules: Any
    policy: Any
    settings: Mapping[str, Any]
    baseline: Sides | None = None


def evaluated(system: object, cases: object, asked: Asked, *, store: str | os.PathLike[str] | None) -> Result:
    """As ``evaluate`` says."""
    if not callable(system):
        hint = "; pass the function itself" if isinstance(system, str) else ""
        raise TypeError(f"evaluate() calls a function, not {with_article(type(system).__name__)}{hint}")
    for name in asked.settings:
        if name not in Settings.__annotations__:
            hint = did_you_mean(name, Settings.__annotations__, otherwise="the settings are")
            raise TypeError(f"evaluate() has no keyword {name!r}; {hint}")
    if asked.rules is not None and asked.policy is not None:
        raise TypeError("evaluate() takes rules, or a policy that has them, and not both")
    project, functions = _project(system, asked)
    chosen = _cases(cases, project)
    kept = MemoryStore() if store is None else open_store(Path(store) / CONFIG, create=True)
    with kept:
        if asked.baseline is not None:
            pipeline.refuse_incomparable(kept, asked.baseline, project, chosen)
        request = pipeline.Request(in_process=True, baseline=asked.baseline)
        report = _run(project, chosen, request, GivenCode(system, functions), kept)
        found = read_cases(kept, report.run)
        decided = pipeline.decided_here(report)
        sides = pipeline.sides_of(kept, pipeline.concluded(decided.run), identified=True)
    return Result(decided, lambda: found, lambda: sides)


def baseline_of(given: Result | str | os.PathLike[str] | None) -> Sides | None:
    """What ``evaluate`` is to compare with. Errors: UsageError for a path that is no baseline file."""
    if given is None:
        return None
    if isinstance(given, Result):
        return given.sides()
    if isinstance(given, str | os.PathLike):
        return read_baseline(Path(given))
    raise TypeError(f"evaluate() takes a result or a path as its baseline, not {with_article(type(given).__name__)}")


def _project(system: Callable[..., Any], asked: Asked) -> tuple[Project, dict[str, Callable[..., Any]]]:
    """The project, and its evaluators that are functions by criterion."""
    functions: dict[str, Callable[..., Any]] = {}
    evaluators = _listed(asked.evaluators)
    if isinstance(evaluators, list):
        evaluators = [_written(each, functions) for each in evaluators]
    mark = system_mark(system)
    written: dict[str, Any] = {
        "version": 1,
        "project": _name(system) if asked.baseline is None else asked.baseline.project,
        "system": {"callable": _target(system)} | ({"records": [RECORD]} if mark is None else {}),
        "evaluators": evaluators,
        **asked.settings,
    }
    if asked.rules is not None:
        written["policy"] = {"version": 1, "rules": _listed(asked.rules)}
    elif asked.policy is not None:
        written["policy"] = asked.policy
    return project_given(written), functions


def _listed(given: Any) -> Any:
    """A list of what is a sequence; anything else is refused where it is read."""
    return list(given) if isinstance(given, Sequence) and not isinstance(given, str) else given


def _written(given: Any, functions: dict[str, Callable[..., Any]]) -> Any:
    """An evaluator in the words of a configuration. A function is noted under its criterion."""
    written = dict(given) if isinstance(given, Mapping) else {"type": given} if callable(given) else given
    if not isinstance(written, dict) or not callable(written.get("type")):
        return written
    function = written["type"]
    mark = evaluator_mark(function)
    criterion = written.get("criterion") or (mark.criterion if mark else None) or _name(function)
    functions[criterion] = function
    return written | {"type": _target(function), "criterion": criterion}


def _name(function: Callable[..., Any]) -> str:
    """What it is called, as a name of a function."""
    name = getattr(function, "__name__", None) or type(function).__name__
    return re.sub(r"\W", "_", name)


def _target(function: Callable[..., Any]) -> str:
    """``module:function``, for reports. Nothing is imported by it."""
    module = getattr(function, "__module__", None) or "program"
    return ".".join(re.sub(r"\W", "_", part) for part in module.split(".")) + f":{_name(function)}"


def _cases(cases: Any, project: Project) -> Cases:
    if isinstance(cases, str | os.PathLike):
        return read_dataset(replace(project, dataset=os.fspath(cases)))
    if not isinstance(cases, Iterable):
        raise TypeError(f"evaluate() takes cases as a list or a path, not {with_article(type(cases).__name__)}")
    rows = [_row(each) if isinstance(each, Case) else each for each in cases]
    return cases_given(rows, project)


def _row(case: Case) -> dict[str, Any]:
    written = to_builtins(case)
    return {key: value for key, value in written.items() if key != "line"}


def _run(project: Project, cases: Cases, request: pipeline.Request, code: GivenCode, store: Store) -> Report:
    watch = _Interrupted()
    ports = replace(real_ports(store), code=code)
    with watch.listening():
        report = pipeline.run(project, cases, request, ports, watch)
    if watch.was_interrupted:
        raise KeyboardInterrupt
    return report


class _Interrupted(pipeline.Watch):
    """Ends the run at the first Ctrl-C: the case that it meets is an error, and no other begins.

    A command lets the cases in its workers finish first. Here the function runs in the thread that hears the signal, so
    that the first one must get through to it: a function that hangs would never finish.
    """

    def __init__(self) -> None:
        self.was_interrupted = False
        self._stop: Callable[[], None] | None = None

    def started(self, run: Run, stop: Callable[[], None]) -> None:
        self._stop = stop

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear the signal while a run goes on. Where a program has a handler of its own, that is how it is interrupted,
        and stays; and only the main thread may have one."""
        mine = threading.current_thread() is threading.main_thread()
        if not mine or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return
        signal.signal(signal.SIGINT, self._interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        self.was_interrupted = True
        if self._stop is not None:
            self._stop()
        raise KeyboardInterrupt
