"""The projects of one test session: what is collected for them, the run that their tests share, and what the session
ends with."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from oloproof.errors import ExitCode, OloproofError
from oloproof.pipeline.world import CONFIG, open_store
from oloproof.pytest_plugin.items import ProjectFile, ProjectTest, problem_lines
from oloproof.pytest_plugin.once import Outcome, Source, has_begun, known_outcome, outcome_of
from oloproof.pytest_plugin.stored import StoredRun
from oloproof.reports.inert import TEXT_LIMIT, inert

_WORKER_INPUT = "oloproof"


def watch_over(config: pytest.Config) -> None:
    """Collect and judge the projects that the command line names, or else pytest's settings. UsageError for one that is
    not there."""
    given: dict[str, Any] | None = getattr(config, "workerinput", {}).get(_WORKER_INPUT)
    directory = str(config.invocation_params.dir) if given is None else given["directory"]
    sources: dict[Path, Source] = {}
    for source in _demanded(config, directory) or _configured(config):
        if not source.path.is_file():
            raise pytest.UsageError(_not_there(source, config))
        sources.setdefault(source.path.resolve(), source)
    projects = Projects(config, sources, given, directory=directory)
    config.pluginmanager.register(projects, "oloproof-projects")
    named = {_path_of(argument, directory) for argument in config.args}
    chosen = config.args_source is pytest.Config.ArgsSource.ARGS
    config.args += [
        str(source.path) for path, source in sources.items() if path not in named and (source.is_demanded or not chosen)
    ]


def _demanded(config: pytest.Config, directory: str) -> list[Source]:
    """Those of the command line, from the directory that pytest was started in."""
    typed: list[str] = config.getoption("oloproof_configs")
    return [Source(number=number, typed=each, directory=directory) for number, each in enumerate(typed)]


def _configured(config: pytest.Config) -> list[Source]:
    """Those of pytest's settings, from the directory that these are in."""
    paths: list[Path] = config.getini("oloproof")
    home = config.rootpath if config.inipath is None else config.inipath.parent
    return [
        Source(number=number, typed=os.path.relpath(path, home), directory=str(home), is_demanded=False)
        for number, path in enumerate(paths)
    ]


def _not_there(source: Source, config: pytest.Config) -> str:
    """That there is no such file, and what to write where it is there for pytest's settings."""
    named = "--oloproof" if source.is_demanded else "pytest's setting oloproof:"
    what = f"{named} {inert(source.typed)}: there is no such file in {inert(source.directory, TEXT_LIMIT)}"
    if source.is_demanded and config.inipath is not None and (config.inipath.parent / source.typed).is_file():
        return f'{what}; it is beside {config.inipath.name}: write oloproof = ["{inert(source.typed)}"] there'
    return f"{what}; `oloproof init` writes one"


class Projects:
    """A plug-in of its own, which is there only where a project is tested."""

    def __init__(
        self, config: pytest.Config, sources: dict[Path, Source], given: dict[str, Any] | None, *, directory: str
    ) -> None:
        self._config = config
        self._directory = directory
        self._sources = sources
        self._is_worker = given is not None
        self._shared = Path(tempfile.mkdtemp(prefix="oloproof-pytest-") if given is None else given["shared"])
        baseline = config.getoption("oloproof_baseline")
        self._arguments = () if baseline is None else ("--baseline", str(baseline))
        self._names = {path.name for path in sources}
        self._fails_for_it = False
        self._tested: dict[int, tuple[Outcome, StoredRun | str]] = {}

    @property
    def tolerates_cases(self) -> bool:
        """Cases that did not pass are expected failures."""
        return bool(self._config.getoption("oloproof_cases") == "xfail")

    def tested(self, source: Source) -> tuple[Outcome, StoredRun | str]:
        """The project's outcome, and its run where it was decided, else why it was not. The first to ask runs it."""
        if source.number not in self._tested:
            outcome = outcome_of(source, self._shared, self._arguments)
            self._tested[source.number] = outcome, _opened(source, outcome)
        return self._tested[source.number]

    # --- hooks -----------------------------------------------------------------------------------------------------

    def pytest_report_header(self) -> str:
        return "oloproof: " + ", ".join(inert(source.typed) for source in self._sources.values())

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> ProjectFile | None:
        if file_path.name not in self._names:
            return None
        source = self._sources.get(file_path.resolve())
        if source is None:
            return None
        return ProjectFile.from_parent(parent, path=file_path, source=source, projects=self)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """A configuration that lies where tests are looked for was found there too: each of its tests counts once."""
        seen: set[str] = set()
        kept = []
        for item in items:
            if isinstance(item, ProjectTest):
                if item.nodeid in seen:
                    continue
                seen.add(item.nodeid)
            kept.append(item)
        items[:] = kept

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of pytest-xdist where the session's processes meet."""
        node.workerinput[_WORKER_INPUT] = {"directory": self._directory, "shared": str(self._shared)}

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A session that would end with 0 ends with 1 where `oloproof run` did not, or was not run."""
        if self._is_worker or session.config.option.collectonly or session.exitstatus != pytest.ExitCode.OK:
            return
        if any(self._fails(source, outcome) for source, outcome in self._outcomes().items()):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            self._fails_for_it = True

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        if self._is_worker or config.option.collectonly:
            return
        terminalreporter.section("oloproof")
        for source, outcome in self._outcomes().items():
            terminalreporter.line(f"{inert(source.typed)}: {self._told(source, outcome)}")
        if self._fails_for_it:
            terminalreporter.line(
                "no selected test failed; the session does, because `oloproof run` did not end with exit 0"
            )

    def pytest_unconfigure(self) -> None:
        for _, stored in self._tested.values():
            if isinstance(stored, StoredRun):
                stored.close()
        if not self._is_worker:
            rmtree(self._shared, ignore_errors=True)

    # --- beneath ---------------------------------------------------------------------------------------------------

    def _outcomes(self) -> dict[Source, Outcome | None]:
        return {source: known_outcome(source, self._shared) for source in self._sources.values()}

    def _fails(self, source: Source, outcome: Outcome | None) -> bool:
        """Whether the session is no success because of what became of the project."""
        if outcome is None:
            return source.is_demanded or has_begun(source, self._shared)
        return outcome.exit_code != ExitCode.ALLOW

    def _told(self, source: Source, outcome: Outcome | None) -> str:
        if outcome is None:
            begun = has_begun(source, self._shared)
            why = "its run did not come to an end" if begun else "none of its tests began, so it was not run"
            return f"the verdict was not decided: {why}"
        stored = self.tested(source)[1]
        if isinstance(stored, str):
            return f"the verdict was not decided: {stored.splitlines()[-1]}"
        return f"run {stored.view.run_id}: {stored.view.gate}; {stored.view.inspect}"


def _opened(source: Source, outcome: Outcome) -> StoredRun | str:
    """The decided run, or what is told where there is none that can be read, inert."""
    ended = f"`oloproof run` ended with exit {outcome.exit_code}"
    if not outcome.is_decided or outcome.run is None:
        said = (line for line in outcome.said.splitlines() if line.strip() and line != f"run {outcome.run}")
        return "\n".join((*(inert(line, TEXT_LIMIT) for line in said), ended))
    try:
        store = open_store(source.path, create=False)
        return StoredRun(store, outcome.run, config="" if source.named == Path(CONFIG) else str(source.named))
    except OloproofError as error:
        return "\n".join((*problem_lines(error), f"{ended}, and the run cannot be read"))


def _path_of(argument: str, directory: str) -> Path:
    """The file or directory of an argument such as ``oloproof.yaml::rules::no-deletion``."""
    return Path(directory, argument.partition("[")[0].partition("::")[0]).resolve()
