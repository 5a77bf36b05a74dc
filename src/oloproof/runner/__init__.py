"""Runs the system under test, and the user's evaluators, in workers: this process never imports user code.

A worker imports this package too, to get at its own part, and must start fast: so what drives workers is imported only
by the functions that do.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import assert_never

from oloproof.model.project import CallableSystem, CommandSystem, HttpSystem, Project, RecordedSystem
from oloproof.runner.ports import Launch, LoadedSystem, UserCode, UserJudge
from oloproof.runner.protocol import Declared

__all__ = ["Declared", "Launch", "LoadedSystem", "UserCode", "UserJudge", "evaluation_worker", "load", "prepare"]


def prepare() -> None:
    """Import what drives workers, before the first of them runs user code."""
    from oloproof.runner import evaluation, inprocess, system  # noqa: F401


def load(project: Project, *, in_process: bool = False) -> AbstractContextManager[LoadedSystem]:
    """The project's live system, ready for the length of a ``with`` block.

    ``in_process`` runs a callable in this process, for debuggers.

    Errors, on entering the block: UsageError when the name of the system is wrong, BrokenError when what it names
    fails to load. ValueError when the project's system is not run.
    """
    executor = project.system.executor
    match project.system.kind:
        case CallableSystem() as kind if in_process:
            from oloproof.runner.inprocess import local_system

            return local_system(kind, project.config)
        case CallableSystem() as kind if executor is not None:
            from oloproof.runner.ray.system import RaySystem

            return RaySystem(kind, executor, project.config).started()
        case CallableSystem(isolation="process") as kind:
            from oloproof.runner.isolated import IsolatedSystem

            return IsolatedSystem(kind, project.config).started()
        case CallableSystem() as kind:
            from oloproof.runner.system import WorkerSystem

            return WorkerSystem(kind, project.config).started()
        case CommandSystem() as kind:
            from oloproof.runner.command import command_system

            return command_system(kind, project.config)
        case HttpSystem() as kind:
            from oloproof.runner.http import http_system

            return http_system(kind, project.config)
        case RecordedSystem():
            raise ValueError("a recorded system is not run")
        case _ as never:
            assert_never(never)


def evaluation_worker(project: Project) -> AbstractContextManager[UserJudge]:
    """The project's user evaluators, loaded in a worker of their own for the length of a ``with`` block.

    Errors, on entering the block: UsageError when a name is wrong, BrokenError when what it names fails to load.
    """
    from oloproof.runner.evaluation import WorkerJudge

    return WorkerJudge(project).started()
