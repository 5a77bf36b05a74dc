"""Functions that a program has already, in the place of names to import: its system and its evaluators run here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import tee
from typing import Any

from msgspec.structs import replace

from oloproof.model.case import Attempt, Case
from oloproof.model.judgment import Judgment
from oloproof.model.project import CallableSystem, Project
from oloproof.runner.evaluation import WorkerJudge
from oloproof.runner.inprocess import given_system
from oloproof.runner.judging import UserFunction, apart
from oloproof.runner.loading import LoadError, function_of
from oloproof.runner.ports import LoadedSystem, UserJudge


class GivenCode:
    """A system, and evaluators by criterion. Evaluators that the project names by module and function are loaded in a
    worker as ever."""

    def __init__(self, system: Callable[..., Any], evaluators: Mapping[str, Callable[..., Any]]) -> None:
        self._system = system
        self._evaluators = evaluators

    def load(self, project: Project, *, in_process: bool) -> AbstractContextManager[LoadedSystem]:
        assert isinstance(project.system.kind, CallableSystem)
        return given_system(project.system.kind, self._system, project.config)

    @contextmanager
    def evaluation_worker(self, project: Project) -> Iterator[UserJudge]:
        """Errors: UsageError for a function that no evaluator can be."""
        here: list[UserFunction] = []
        spare = project.spare_chars
        named = []
        for spec in project.user_evaluators:
            function = self._evaluators.get(spec.criterion)
            if function is None:
                named.append(spec)
                continue
            try:
                here.append(
                    UserFunction(spec, project.directory, given=function_of(function, spec.target), spare=spare)
                )
            except LoadError as exc:
                raise exc.failed(spare).error(project.config) from None
        elsewhere = replace(project, user_evaluators=tuple(named))
        with WorkerJudge(elsewhere).started() if named else nullcontext() as worker:
            yield _Judge(tuple(here), worker)


class _Judge:
    """Functions that are called here, and the worker that judges by the others; None where there are none."""

    def __init__(self, functions: tuple[UserFunction, ...], worker: WorkerJudge | None) -> None:
        self._functions = functions
        self._worker = worker

    @property
    def code(self) -> str:
        return "" if self._worker is None else self._worker.code

    @property
    def log(self) -> str:
        return "" if self._worker is None else self._worker.log

    def judge(self, pairs: Iterable[tuple[Case, Attempt]]) -> Iterator[Mapping[str, Judgment]]:
        if self._worker is None:
            yield from map(self._here, pairs)
            return
        asked, told = tee(pairs)
        for verdicts, pair in zip(self._worker.judge(told), asked, strict=True):
            yield {**verdicts, **self._here(pair)}

    def _here(self, pair: tuple[Case, Attempt]) -> dict[str, Judgment]:
        return {each.criterion: each.judge(case, attempt) for each, case, attempt in apart(self._functions, *pair)}
