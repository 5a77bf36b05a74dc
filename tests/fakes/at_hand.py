"""Systems in the tests' own process, for tests of what comes after a system has answered: no worker is started."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from oloproof import runner
from oloproof.model.project import CallableSystem, Project
from oloproof.runner.inprocess import given_system

_real_load = runner.load


@contextmanager
def load(project: Project, *, in_process: bool = False) -> Iterator[runner.LoadedSystem]:
    """What ``runner.load`` gives, but that the function ``run`` of an ``app.py`` is not asked in a worker. What it
    prints is nobody's log, and cases do not run at once."""
    kind = project.system.kind
    if in_process or not isinstance(kind, CallableSystem) or kind.target != "app:run":
        with _real_load(project, in_process=in_process) as loaded:
            yield loaded
        return
    path = Path(kind.directory) / "app.py"
    names: dict[str, Any] = {"__name__": "app"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # small systems leave closing files to their process's end
        exec(compile(path.read_text(), str(path), "exec"), names)
        with given_system(kind, names["run"], project.config) as loaded:
            yield loaded
