"""The tests of a project: ``oloproof.yaml::gate``, ``oloproof.yaml::rules::RULE``, ``oloproof.yaml::cases::CASE``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import pytest

from oloproof.errors import OloproofError
from oloproof.model.project import Project, RecordedSystem
from oloproof.project import load, read_cases
from oloproof.pytest_plugin.names import node_name
from oloproof.pytest_plugin.stored import StoredRun, advice, rule_text
from oloproof.reports.inert import TEXT_LIMIT, inert
from oloproof.reports.lists import judgment_line

if TYPE_CHECKING:
    from oloproof.pytest_plugin.once import Outcome, Source


class Projects(Protocol):
    """The projects of the session."""

    @property
    def tolerates_cases(self) -> bool:
        """Cases that did not pass are expected failures."""

    def tested(self, source: Source) -> tuple[Outcome, StoredRun | str]:
        """What became of a project, and its run where it was decided, else why it was not."""


class ProjectFile(pytest.File):
    """A configuration. Collecting it checks the whole project, and runs nothing."""

    def __init__(self, *, source: Source, projects: Projects, **node: Any) -> None:
        super().__init__(**node)
        self._source = source
        self._projects = projects

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        try:
            project = load(self._source.named)
            case_ids = list(_case_ids(project))
        except OloproofError as error:
            raise self.CollectError("\n".join(problem_lines(error))) from None
        rules = () if project.policy is None else tuple(rule.id for rule in project.policy.rules)
        run = Tested(self._source, self._projects)
        yield GateTest.from_parent(self, name="gate", run=run)
        yield Group.from_parent(self, name="rules", kind=RuleTest, ids=rules, run=run)
        yield Group.from_parent(self, name="cases", kind=CaseTest, ids=case_ids, run=run)


class Tested:
    """The run that tests share, which is made when the first of them begins."""

    def __init__(self, source: Source, projects: Projects) -> None:
        self._source = source
        self._projects = projects
        self._is_told = False

    @property
    def tolerates_cases(self) -> bool:
        """Cases that did not pass are for the rules to count."""
        return self._projects.tolerates_cases

    def stored(self) -> StoredRun:
        """The run as the store has it. Where there is none, fails the test that asks: the first with all that is told,
        the others in a line."""
        __tracebackhide__ = True
        _, stored = self._projects.tested(self._source)
        if isinstance(stored, str):
            told, self._is_told = stored.partition("\n")[0] if self._is_told else stored, True
            _fail(told)
        return stored

    def exit_code(self) -> int:
        """What `oloproof run` ended with."""
        outcome, _ = self._projects.tested(self._source)
        return outcome.exit_code


class Group(pytest.Collector):
    """The rules, or the cases."""

    def __init__(self, *, kind: type[ProjectTest], ids: Iterable[str], run: Tested, **node: Any) -> None:
        super().__init__(**node)
        self._kind = kind
        self._ids = ids
        self._run = run

    def collect(self) -> Iterator[pytest.Item]:
        for identifier in self._ids:
            yield self._kind.from_parent(self, name=node_name(identifier), run=self._run, identifier=identifier)


class ProjectTest(pytest.Item):
    """A test of the run. ``identifier`` is the rule's or case's own id."""

    def __init__(self, *, run: Tested, identifier: str = "", **node: Any) -> None:
        super().__init__(**node)
        self._run = run
        self._identifier = identifier

    def setup(self) -> None:
        __tracebackhide__ = True
        self.user_properties.append(("oloproof_run", self._run.stored().view.run_id))

    def reportinfo(self) -> tuple[os.PathLike[str], int, str]:
        return self.path, 0, self.nodeid.partition("::")[2]


class GateTest(ProjectTest):
    """The verdict: it passes where `oloproof run` exits with 0 because rules let the run through."""

    def runtest(self) -> None:
        __tracebackhide__ = True
        view, exit_code = self._run.stored().view, self._run.exit_code()
        if exit_code != view.exit_code:
            _fail(f"`oloproof run` ended with exit {exit_code}, and the store says: {view.gate}")
        if exit_code != 0:
            _fail("\n".join((view.gate, *advice(view.next_steps))))
        if view.outcome != "ALLOW":
            _skip(view.gate)


class RuleTest(ProjectTest):
    """One rule: it passes in the state PASS and fails where it blocks; a rule that only warns is skipped."""

    def runtest(self) -> None:
        __tracebackhide__ = True
        stored = self._run.stored()
        row = stored.decision(self._identifier)
        if row is None:
            _fail(f"{inert(self._identifier)}: not decided: {stored.view.gate}")
        if row.blocking:
            _fail(rule_text(row))
        if row.state != "PASS":
            _skip(f"{row.state}, which does not block: {row.words}")


class CaseTest(ProjectTest):
    """One case under all criteria, in all its trials. It fails where a verdict is fail or missing, and is skipped where
    no criterion applies to it."""

    def runtest(self) -> None:
        __tracebackhide__ = True
        stored = self._run.stored()
        trials = stored.trials(self._identifier)
        if not trials:
            _fail(f"{inert(self._identifier)}: the run does not have this case")
        for letter in "fm":
            for trial, codes in trials:
                if letter in codes:
                    self._not_passed(stored.failure(self._identifier, trial))
        trial, codes = trials[0]
        if not codes:
            _skip("no criterion judges a case by itself")
        if not any("p" in codes for _, codes in trials):
            judged = stored.judgments(self._identifier, trial)
            _skip("; ".join(judgment_line(criterion, judgment) for criterion, judgment in judged))

    def _not_passed(self, text: str) -> NoReturn:
        __tracebackhide__ = True
        if self._run.tolerates_cases:
            pytest.xfail(text.partition("\n")[0])
        _fail(text)


def problem_lines(error: OloproofError) -> Iterator[str]:
    """What went wrong, where, and what to do, as the command line tells it."""
    for problem in error.problems:
        yield inert(str(problem), TEXT_LIMIT)
        yield from (f"  {inert(line, TEXT_LIMIT)}" for line in problem.hint.splitlines())


def _fail(text: str) -> NoReturn:
    __tracebackhide__ = True
    pytest.fail(text, pytrace=False)


def _skip(text: str) -> NoReturn:
    """Skip the test, at its configuration and not in here."""
    raise pytest.skip.Exception(text, _use_item_location=True)


def _case_ids(project: Project) -> Iterator[str]:
    """Every case of the project, in the order of its dataset; where recordings are their own, of the recordings."""
    if project.dataset is not None:
        yield from (case.id for case in read_cases(project))
        return
    from oloproof.runner.recorded import Recordings

    assert isinstance(project.system.kind, RecordedSystem)
    recordings = Recordings(project, project.system.kind, None)
    yield from dict.fromkeys(attempted.case.id for attempted in recordings.attempts())
