"""Stored runs as results."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from oloproof.api.cases import CaseResult, read_cases
from oloproof.api.results import Result
from oloproof.api.rows import Rows
from oloproof.errors import Problem, UsageError
from oloproof.model.comparison import Sides
from oloproof.pipeline import concluded, sides_of, stored_report
from oloproof.pipeline.world import CONFIG, find_run, open_store
from oloproof.store import codes


def loaded(run_id: str, path: str | os.PathLike[str]) -> Result:
    """As ``load_run`` says. Cases are read when they are asked for."""
    given = Path(path)
    if not given.exists():
        what = f"{given}: there is no such file or directory; name a project's directory, or its configuration"
        raise UsageError(Problem(codes.NO_STORE, what))
    config = given / CONFIG if given.is_dir() else given
    with _hints_told(), open_store(config, create=False) as store:
        header = find_run(store, run_id, config)
        report = stored_report(store, header, store.policy(header.id))

    def cases() -> Rows[CaseResult]:
        with open_store(config, create=False) as store:
            return read_cases(store, header)

    def sides() -> Sides:
        with open_store(config, create=False) as store:
            return sides_of(store, concluded(header), identified=True)

    return Result(report, cases, sides, config="" if str(config) == CONFIG else str(config))


@contextmanager
def _hints_told() -> Iterator[None]:
    """What to do next stands in the message: an exception shows nothing else."""
    try:
        yield
    except UsageError as error:
        raise UsageError(
            replace(problem, message=f"{problem.message}; {problem.hint}") if problem.hint else problem
            for problem in error.problems
        ) from None
