"""``system:``: what is run, or what was recorded of it."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from oloproof.errors import Problem, shown
from oloproof.model.project import (
    Backoff,
    CallableSystem,
    CommandSystem,
    DependsOn,
    HttpSystem,
    ImportSpec,
    Launching,
    LiveSystem,
    RecordedSystem,
    Retry,
    SystemSpec,
    trajectory_readers,
)
from oloproof.model.redaction import SPARE_CHARS
from oloproof.project import codes
from oloproof.project.codes import CONFIG
from oloproof.project.measures import Measures
from oloproof.project.nodes import Fields, Items, Node
from oloproof.project.problems import Problems
from oloproof.project.spec import SYSTEM_KINDS, SystemSection


def read_system(
    section: SystemSection,
    written: Fields,
    directory: Path,
    problems: Problems,
    *,
    recorded: Sequence[str],
    imported: ImportSpec | None,
) -> SystemSpec | None:
    """The system that the section describes, None where it is none; what is wrong is noted.

    ``recorded`` names files of recordings that stand in for it, and ``imported`` says how recordings are read, where
    not as the section has it.
    """
    node = written.place("system")
    assert isinstance(node, Fields)
    kinds = [name for name in SYSTEM_KINDS if getattr(section, name) is not None]
    if len(kinds) != 1:
        message = "system needs one of callable, command, http and recorded"
        message += f", not {' and '.join(kinds)}" if kinds else ""
        hint = "callable: module:function runs your code; recorded: traces.jsonl judges what was recorded"
        problems.at(node, codes.CONFLICTING_KEYS, message, hint=hint)
        return None
    if section.format is not None and section.recorded is None:
        message = "format says what recorded files are, and the system is run"
        problems.at(node.place("format"), codes.CONFLICTING_KEYS, message, hint="remove it")
    isolated = section.callable is not None and section.isolation == "process"
    if section.memory_mb is not None and not isolated:
        message = "memory_mb bounds the process of one case, and cases have none of their own"
        problems.at(node.place("memory_mb"), codes.CONFLICTING_KEYS, message, hint="write isolation: process")
    if section.isolation == "process" and section.callable is None:
        message = "isolation is about a callable; a command has a process for each case anyway"
        problems.at(node.place("isolation"), codes.CONFLICTING_KEYS, message, hint="remove it")
    if section.retry is not None and section.retry.backoff.first_s > section.retry.backoff.max_s:
        message = "backoff.first_s is longer than backoff.max_s"
        problems.at(node.place("retry"), codes.CONFLICTING_KEYS, message, hint="raise max_s, or lower first_s")
    if section.callable is not None:
        _check_module(section.callable, directory, node.place("callable"), problems)
    if imported is None and section.format is not None:
        imported = ImportSpec(format=section.format)
    if recorded:
        _check_named(recorded, problems)
        files = tuple(recorded)
        kind: LiveSystem | RecordedSystem = RecordedSystem(patterns=files, files=files, imported=imported)
    elif section.recorded is not None:
        patterns = (section.recorded,) if isinstance(section.recorded, str) else section.recorded
        place = node.place("recorded")
        matched = _matched(patterns, directory, place, problems, key="recorded", inside="*.jsonl")
        kind = RecordedSystem(patterns=patterns, files=matched, imported=imported)
    else:
        kind = _live(section, directory)
    return SystemSpec(
        kind=kind,
        depends_on=_depends_on(section, node, directory, problems),
        name=section.name,
        version=section.version,
        records=section.records,
    )


def _depends_on(section: SystemSection, node: Fields, directory: Path, problems: Problems) -> DependsOn | None:
    said = section.depends_on
    if said is None:
        return None
    written = node.place("depends_on")
    assert isinstance(written, Fields)
    patterns = (said.files,) if isinstance(said.files, str) else said.files
    home = directory.resolve()
    place = written.place("files")
    files = _matched(patterns, home, place, problems, key="files", inside="**") if patterns else ()
    return DependsOn(directory=str(home), files=tuple(os.path.relpath(file, home) for file in files), env=said.env)


def _check_module(target: str, directory: Path, node: Node, problems: Problems) -> None:
    """``agent.py:run`` is a module ``py`` of a package ``agent``; where ``agent.py`` is a file, that was meant."""
    module, _, attribute = target.partition(":")
    if module.endswith(".py") and (directory / f"{module[:-3].replace('.', '/')}.py").is_file():
        message = f"callable names a module, without its ending, found {shown(target)}"
        problems.at(node, CONFIG.bad_value, message, hint=f"did you mean {shown(f'{module[:-3]}:{attribute}')}?")


def _live(section: SystemSection, directory: Path) -> LiveSystem:
    home, launching = str(directory.resolve()), _launching(section)
    if section.callable is not None:
        return CallableSystem(
            target=section.callable,
            directory=home,
            concurrency=section.concurrency,
            timeout_s=section.timeout_s,
            isolation=section.isolation,
            memory_mb=section.memory_mb,
            launching=launching,
        )
    if section.command is not None:
        return CommandSystem(
            command=section.command,
            directory=home,
            concurrency=section.concurrency,
            timeout_s=section.timeout_s,
            launching=launching,
        )
    assert section.http is not None
    return HttpSystem(
        url=section.http.url,
        headers_env=section.http.headers_env,
        concurrency=section.concurrency,
        timeout_s=section.timeout_s,
        launching=launching,
    )


def _launching(section: SystemSection) -> Launching:
    said, retry = section.retry, None
    if said is not None:
        backoff = Backoff(first_s=said.backoff.first_s, max_s=said.backoff.max_s)
        retry = Retry(attempts=said.attempts, on=said.on, backoff=backoff)
    return Launching(retry=retry, max_per_minute=section.max_per_minute)


def _matched(
    patterns: tuple[str, ...], directory: Path, node: Node, problems: Problems, *, key: str, inside: str
) -> tuple[str, ...]:
    """The files that the patterns under ``key`` match, each once and sorted. Who names a directory is told to name what
    is ``inside``."""
    places = node.items if isinstance(node, Items) else (node,)
    files: set[str] = set()
    for pattern, place in zip(patterns, places, strict=True):
        found = glob.glob(os.path.join(glob.escape(str(directory)), pattern), recursive=True)
        matched = {os.path.normpath(name) for name in found if os.path.isfile(name)}
        if not matched:
            is_directory = os.path.isdir(directory / pattern)
            what = "is a directory" if is_directory else "matches no file"
            hint = f"name the files in it: {pattern.rstrip('/')}/{inside}" if is_directory else ""
            problems.at(place, codes.MISSING_FILE, f"{key}: {shown(pattern)} {what}", hint=hint)
        files |= matched
    return tuple(sorted(files))


def _check_named(recorded: Sequence[str], problems: Problems) -> None:
    for name in recorded:
        if not os.path.isfile(name):
            what = "is a directory" if os.path.isdir(name) else "does not exist"
            problems.found.append(Problem(codes.MISSING_FILE, f"the file of recordings {what}", file=name))


def with_room_to_redact(system: SystemSpec) -> SystemSpec:
    """Texts are cut so much later that no secret is cut in two before it is taken out."""
    if isinstance(system.kind, RecordedSystem):
        return system
    return replace(system, kind=replace(system.kind, spare_chars=SPARE_CHARS))


def check_records(section: SystemSection | None, written: Fields, measures: Measures, problems: Problems) -> None:
    """``records: []`` says that no trajectory is recorded; then nothing may be configured that reads one."""
    if section is None or section.records != ():
        return
    system = written.entry("system")
    assert system is not None
    assert isinstance(system.value, Fields)
    reader = next(trajectory_readers(measures.evaluators, measures.metrics, measures.slices), None)
    if reader is not None:
        message = f"{reader} reads trajectories, and records declares none"
        hint = "record them and write records: [agent_trajectory/v1]"
        problems.at(system.value.place("records"), codes.NO_RECORD, message, hint=hint)


def idle_keys(section: SystemSection, written: Fields) -> tuple[str, ...]:
    """Settings that have nothing to act on."""
    system = written.entry("system")
    if section.recorded is None or system is None or not isinstance(system.value, Fields):
        return ()
    running = ("concurrency", "timeout_s", "max_per_minute", "retry", "depends_on")
    idle = [entry.key for entry in system.value.entries if entry.key in running]
    return tuple(f"system.{key} does nothing: recordings are not run" for key in idle)
