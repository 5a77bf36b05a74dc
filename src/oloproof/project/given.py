"""A project and its cases as a program has them: the words of the files as Python values.

They are read as the files are, and what is wrong is told with its place in the values: ``evaluators[1].tool_name``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from oloproof.errors import Problem, UsageError
from oloproof.model.project import Project
from oloproof.model.values import TAG, is_unrepresentable, snapshot
from oloproof.project.codes import DATASET
from oloproof.project.config import NO_POLICY, Departure, read_project
from oloproof.project.dataset import Cases, cases_of
from oloproof.project.nodes import Entry, Fields, Items, Node, Scalar
from oloproof.project.problems import Problems
from oloproof.redaction import problems_redacted

GIVEN = "evaluate()"
"""What stands in messages where there would be the name of a file."""

_LINE = re.compile(r"on line ([0-9]+)")


def project_given(values: Mapping[str, Any]) -> Project:
    """The project that ``values`` describe with the keys of ``oloproof.yaml``, but for the dataset: a program has the
    cases. Paths are relative to the current directory. Without ``policy`` there is none, whatever files lie there.

    Errors: UsageError with all problems.
    """
    written = dict(values) if "policy" in values else {**values, "policy": NO_POLICY}
    names: list[str] = []
    with _located(GIVEN, names):
        problems = Problems(GIVEN)
        root = _Writer(names, problems).node(snapshot(written), "")
        project = read_project(root, Path(GIVEN), problems, Departure(has_cases=True))
    return project if "policy" in values else replace(project, policy_none=False)


def cases_given(rows: Sequence[Any], project: Project) -> Cases:
    """Cases, each with the keys of a dataset's row; checked as those of a file are.

    Errors: UsageError with all problems.
    """
    names: list[str] = []
    plain = snapshot(list(rows))
    with problems_redacted(project.redact), _located(GIVEN, names):
        problems = Problems(GIVEN, codes=DATASET)
        cases = cases_of(_Writer(names, problems).node(plain, "cases"), project, problems)
    digest = hashlib.sha256(msgspec.json.encode(plain, order="sorted")).hexdigest()
    return replace(cases, digest=digest)


class _Writer:
    """Values as a file would say them. A line is the number of a name among ``names``."""

    def __init__(self, names: list[str], problems: Problems) -> None:
        self._names = names
        self._problems = problems

    def node(self, value: Any, name: str) -> Node:
        """The value that is called ``name``."""
        self._names.append(name)
        line = len(self._names)
        match value:
            case dict():
                if is_unrepresentable(value):
                    code, message = self._problems.codes.bad_value, f"{value[TAG]} is no JSON value"
                    self._problems.on(line, 0, code, message, hint="convert it first")
                entries = []
                for key, part in value.items():
                    node = self.node(part, f"{name}.{key}" if name else key)
                    entries.append(Entry(key, node, node.line, 0))
                return Fields(tuple(entries), line, 0)
            case list():
                return Items(tuple(self.node(part, f"{name}[{at}]") for at, part in enumerate(value)), line, 0)
            case bool() | None:
                return Scalar(value, {True: "true", False: "false", None: "null"}[value], line, 0)
            case _:
                return Scalar(value, value if isinstance(value, str) else repr(value), line, 0)


@contextmanager
def _located(file: str, names: list[str]) -> Iterator[None]:
    """Problems of ``file`` are told at the names of their lines."""
    try:
        yield
    except UsageError as error:
        raise UsageError(_at_name(problem, file, names) for problem in error.problems) from None


def _at_name(problem: Problem, file: str, names: list[str]) -> Problem:
    if problem.file != file:
        return problem
    name = names[problem.line - 1] if 0 < problem.line <= len(names) else ""
    message = _LINE.sub(lambda found: f"at {names[int(found[1]) - 1]}", problem.message)
    if problem.hint:  # an exception shows its message alone
        message += f"; {' '.join(problem.hint.split())}"
    return replace(problem, message=message, file=f"{file}: {name}" if name else file, line=0, column=0)
