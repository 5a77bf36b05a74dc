"""``oloproof.yaml``: from the file to a checked :class:`~oloproof.model.project.Project`, or to all that is wrong."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from oloproof.errors import Problem
from oloproof.model.decision import Policy
from oloproof.model.project import (
    Backoff,
    CallableSystem,
    CommandSystem,
    HttpSystem,
    ImportSpec,
    Launching,
    LiveSystem,
    Project,
    RecordedSystem,
    Retry,
    SystemSpec,
    trajectory_readers,
)
from oloproof.model.redaction import SPARE_CHARS, Redaction
from oloproof.model.run import IntervalChoice
from oloproof.model.tally import MIN_SLICE_SUPPORT
from oloproof.project import codes, shape
from oloproof.project.codes import CONFIG
from oloproof.project.executors import idle_executor, read_executor
from oloproof.project.measures import Measures, read_measures
from oloproof.project.nodes import Entry, Fields, Items, Node, Scalar, describe
from oloproof.project.policy import DEFAULT_POLICY, Measurable, policy_of, read_policy
from oloproof.project.problems import Problems, read_bytes, refuse, shown
from oloproof.project.spec import SYSTEM_KINDS, ConfigFile, IntervalSection, RedactSection, SystemSection
from oloproof.project.yaml_nodes import parse_yaml

NO_POLICY = "none"
_RAW = ("evaluators", "metrics", "slices", "policy")


class _Gate(Struct, frozen=True):
    """``policy:`` in its three forms, and absent."""

    policy: Policy | None = None
    said_none: bool = False


class Departure(Struct, frozen=True, kw_only=True):
    """How a project is other than its configuration says.

    ``recorded`` names files of recordings, relative to the current directory, that stand in for the configured system,
    and ``imported`` says how they are read where not as the configuration has it. ``trials`` says how often each case
    is tried, None leaves it to the configuration. ``has_cases``: a program has them, and there is no dataset.
    """

    recorded: Sequence[str] = ()
    imported: ImportSpec | None = None
    trials: int | None = None
    has_cases: bool = False


def load(
    config: Path,
    *,
    recorded: Sequence[str] = (),
    imported: ImportSpec | None = None,
    trials: int | None = None,
) -> Project:
    """The project that ``config`` describes, its policy included.

    ``recorded`` names files of recordings, relative to the current directory, that stand in for the configured
    system, and ``imported`` says how they are read where not as the configuration has it. ``trials`` says how often
    each case is tried, whatever the configuration says. Raises a UsageError with
    every problem of both files. The dataset's rows are :func:`read_cases`'s business; that the file is there is
    checked here.
    """
    problems = Problems(str(config))
    data = read_bytes(
        config, what="the configuration", codes=CONFIG, hint="`oloproof init` writes one; --config names it"
    )
    root = parse_yaml(data, problems)
    if root is None:
        problems.raise_any()
    assert root is not None
    departure = Departure(recorded=recorded, imported=imported, trials=trials)
    return read_project(root, config, problems, departure)


def read_project(root: Node, config: Path, problems: Problems, departure: Departure) -> Project:
    """The project that is written in ``root``, relative to the directory of ``config``; UsageError as :func:`load`."""
    trials = departure.trials
    written = shape.mapping(root, problems, what="the configuration")
    if written is None:
        problems.raise_any()
    assert written is not None
    values, _ = shape.keys(written, ConfigFile, problems, what="the configuration", raw=_RAW)
    measures = read_measures(written, problems)
    section: SystemSection | None = values.get("system")
    system = None if section is None else _system(section, written, config.parent, departure.recorded, problems)
    if system is not None:
        system = replace(
            _read_as(system, departure.imported), executor=read_executor(values, system, written, problems)
        )
    if not departure.has_cases:
        _check_dataset(values.get("dataset"), written, section, config.parent, problems)
    _check_records(section, written, measures, problems)
    tried = values.get("trials") if trials is None else trials
    _check_trials(tried, system, written, measures, problems, repeated=trials is not None)
    redact = _redaction(values.get("redact"), written, measures, problems)
    policy_problems = Problems(str(config.parent / DEFAULT_POLICY))
    is_recorded = system is not None and isinstance(system.kind, RecordedSystem)
    measurable = replace(measures.measurable, recorded=is_recorded)
    gate = _gate(written.entry("policy"), config.parent, measurable, problems, policy_problems)
    refuse([*problems.found, *policy_problems.found])
    assert system is not None
    assert section is not None
    return Project(
        name=values["project"],
        config=str(config),
        directory=str(config.parent),
        system=system if redact is None else _with_room_to_redact(system),
        evaluators=tuple(measures.evaluators),
        dataset=str(config.parent / values["dataset"]) if "dataset" in values else None,
        metrics=tuple(measures.metrics),
        pass_k=tuple(spec for spec, _ in measures.pass_k),
        trials=tried,
        cluster=tuple(values["cluster"].split(".")[1:]) if "cluster" in values else None,
        slices=tuple(measures.slices),
        interval=_interval(values.get("interval", IntervalSection())),
        min_slice_support=values.get("min_slice_support", MIN_SLICE_SUPPORT),
        redact=redact,
        policy=gate.policy,
        policy_none=gate.said_none,
        expected_cases=values.get("cases"),
        user_evaluators=tuple(measures.users),
        config_digest=_digest(values, section, measures),
        warnings=(*_idle_keys(section, written), *idle_executor(values)),
    )


def _interval(section: IntervalSection) -> IntervalChoice:
    return IntervalChoice(method=section.method, level=section.level)


# --- where cases and attempts come from ----------------------------------------------------------------------------


def _system(
    section: SystemSection, written: Fields, directory: Path, recorded: Sequence[str], problems: Problems
) -> SystemSpec | None:
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
    kind = _kind(section, node, directory, recorded, problems)
    return SystemSpec(kind=kind, name=section.name, version=section.version, records=section.records)


def _kind(
    section: SystemSection, node: Fields, directory: Path, recorded: Sequence[str], problems: Problems
) -> LiveSystem | RecordedSystem:
    imported = None if section.format is None else ImportSpec(format=section.format)
    if recorded:
        _check_named(recorded, problems)
        return RecordedSystem(patterns=tuple(recorded), files=tuple(recorded), imported=imported)
    home, concurrency, timeout_s = str(directory.resolve()), section.concurrency, section.timeout_s
    launching = _launching(section)
    if section.callable is not None:
        return CallableSystem(
            target=section.callable,
            directory=home,
            concurrency=concurrency,
            timeout_s=timeout_s,
            isolation=section.isolation,
            memory_mb=section.memory_mb,
            launching=launching,
        )
    if section.command is not None:
        command = section.command
        return CommandSystem(
            command=command, directory=home, concurrency=concurrency, timeout_s=timeout_s, launching=launching
        )
    if section.http is not None:
        url, headers = section.http.url, section.http.headers_env
        return HttpSystem(
            url=url, headers_env=headers, concurrency=concurrency, timeout_s=timeout_s, launching=launching
        )
    patterns = (section.recorded,) if isinstance(section.recorded, str) else section.recorded or ()
    return replace(_recorded(patterns, directory, node.place("recorded"), problems), imported=imported)


def _launching(section: SystemSection) -> Launching:
    said, retry = section.retry, None
    if said is not None:
        backoff = Backoff(first_s=said.backoff.first_s, max_s=said.backoff.max_s)
        retry = Retry(attempts=said.attempts, on=said.on, backoff=backoff)
    return Launching(retry=retry, max_per_minute=section.max_per_minute)


def _recorded(patterns: tuple[str, ...], directory: Path, node: Node, problems: Problems) -> RecordedSystem:
    places = node.items if isinstance(node, Items) else (node,)
    files: set[str] = set()
    for pattern, place in zip(patterns, places, strict=True):
        found = glob.glob(os.path.join(glob.escape(str(directory)), pattern), recursive=True)
        matched = {os.path.normpath(name) for name in found if os.path.isfile(name)}
        if not matched:
            is_directory = os.path.isdir(directory / pattern)
            what = "is a directory" if is_directory else "matches no file"
            hint = f"name the files in it: {pattern.rstrip('/')}/*.jsonl" if is_directory else ""
            problems.at(place, codes.MISSING_FILE, f"recorded: {shown(pattern)} {what}", hint=hint)
        files |= matched
    return RecordedSystem(patterns=patterns, files=tuple(sorted(files)))


def _check_named(recorded: Sequence[str], problems: Problems) -> None:
    for name in recorded:
        if not os.path.isfile(name):
            what = "is a directory" if os.path.isdir(name) else "does not exist"
            problems.found.append(Problem(codes.MISSING_FILE, f"the file of recordings {what}", file=name))


def _check_dataset(
    dataset: str | None, written: Fields, section: SystemSection | None, directory: Path, problems: Problems
) -> None:
    entry, cases = written.entry("dataset"), written.entry("cases")
    if entry is None:
        if section is not None and section.recorded is None:
            message, hint = "the configuration needs the key 'dataset'", "a system is run on its cases"
            problems.at(written, CONFIG.missing_key, message, hint=hint)
    elif cases is not None:
        message = "cases is for recordings that are their own dataset, and there is a dataset"
        problems.at(cases, codes.CONFLICTING_KEYS, message, hint="remove one of the two")
    if entry is not None and dataset is not None:
        path = directory / dataset
        if os.path.isdir(path):
            problems.at(
                entry.value,
                codes.MISSING_FILE,
                f"the dataset {shown(dataset)} is a directory",
                hint="name a file in it",
            )
        elif not os.path.exists(path):
            message = f"the dataset {shown(dataset)} does not exist"
            hint = "a path is relative to the directory of the configuration"
            problems.at(entry.value, codes.MISSING_FILE, message, hint=hint)


def _with_room_to_redact(system: SystemSpec) -> SystemSpec:
    """Texts are cut so much later that no secret is cut in two before it is taken out."""
    if isinstance(system.kind, RecordedSystem):
        return system
    return replace(system, kind=replace(system.kind, spare_chars=SPARE_CHARS))


def _read_as(system: SystemSpec, imported: ImportSpec | None) -> SystemSpec:
    """Recordings of a foreign format, where the command line names one."""
    if imported is None or not isinstance(system.kind, RecordedSystem):
        return system
    return replace(system, kind=replace(system.kind, imported=imported))


def _check_records(section: SystemSection | None, written: Fields, measures: Measures, problems: Problems) -> None:
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


def _check_trials(
    trials: int | None,
    system: SystemSpec | None,
    written: Fields,
    measures: Measures,
    problems: Problems,
    *,
    repeated: bool,
) -> None:
    """Recordings without ``trials`` have as many as there are. ``repeated``: the number is from the command line."""
    recorded = system is not None and isinstance(system.kind, RecordedSystem)
    if repeated and recorded:
        message = "--trials repeats what is run, and the system is recorded"
        hint = "write `trials:`, the number that must be there; recordings number theirs themselves"
        problems.at(written.place("system"), codes.RECORDED_ONCE, message, hint=hint)
    if trials is None and recorded:
        return
    for spec, place in measures.pass_k:
        if spec.k > (trials or 1):
            times = "once" if trials in (None, 1) else f"{trials} times"
            message = f"metric {shown(spec.id)} is about {spec.k} trials of a case, and each case is tried {times}"
            problems.at(place, codes.TOO_FEW_TRIALS, message, hint=f"write trials: {spec.k}, or a smaller k")


def _redaction(
    section: RedactSection | None, written: Fields, measures: Measures, problems: Problems
) -> Redaction | None:
    if section is None:
        return None
    from oloproof.project.redact import redaction_of  # most projects redact nothing

    functions = {spec.criterion for spec in measures.users}
    return redaction_of(section, written.place("redact"), problems, functions=functions)


def _idle_keys(section: SystemSection, written: Fields) -> tuple[str, ...]:
    """Settings that have nothing to act on."""
    system = written.entry("system")
    if section.recorded is None or system is None or not isinstance(system.value, Fields):
        return ()
    running = ("concurrency", "timeout_s", "max_per_minute", "retry")
    idle = [entry.key for entry in system.value.entries if entry.key in running]
    return tuple(f"system.{key} does nothing: recordings are not run" for key in idle)


# --- what decides --------------------------------------------------------------------------------------------------


def _gate(
    entry: Entry | None, directory: Path, measurable: Measurable, problems: Problems, policy_problems: Problems
) -> _Gate:
    if entry is None:
        path = directory / DEFAULT_POLICY
        if not os.path.exists(path):
            return _Gate()
        return _Gate(policy=read_policy(path, policy_problems, measurable))
    node = entry.value
    if isinstance(node, Fields):
        return _Gate(policy=policy_of(node, problems, measurable))
    if not isinstance(node, Scalar) or not isinstance(node.value, str) or not node.value:
        message = f"policy must be a file, a mapping or {NO_POLICY}, found {describe(node)}"
        problems.at(node, CONFIG.wrong_type, message, hint=f"to gate nothing: policy: {NO_POLICY}")
        return _Gate()
    if node.value == NO_POLICY:
        return _Gate(said_none=True)
    path = directory / node.value
    policy_problems.file = str(path)
    if not os.path.isfile(path):
        what = "is a directory" if os.path.isdir(path) else "does not exist"
        hint = f"to gate nothing: policy: {NO_POLICY}"
        problems.at(node, codes.MISSING_FILE, f"the policy {shown(node.value)} {what}", hint=hint)
        return _Gate()
    return _Gate(policy=read_policy(path, policy_problems, measurable))


def _digest(values: Mapping[str, Any], section: SystemSection, measures: Measures) -> str:
    """SHA-256 of what is asked, whatever its spelling: order of keys, comments and written defaults do not count.

    The policy is left out, since it decides runs that are already judged; so is what says how attempts are launched,
    which judges nothing.
    """
    system = msgspec.to_builtins(replace(section, concurrency=1))
    at_default = {key for key, value in (("isolation", "worker"), ("memory_mb", None)) if system[key] == value}
    at_default |= {"max_per_minute", "retry"}
    asked = {
        "project": values["project"],
        "dataset": values.get("dataset"),
        "cases": values.get("cases"),
        "system": {key: value for key, value in system.items() if key not in at_default},
        "evaluators": [measures.evaluators, measures.users],
        "metrics": measures.metrics,
        "slices": measures.slices,
        "interval": values.get("interval", IntervalSection()),
        "min_slice_support": values.get("min_slice_support", MIN_SLICE_SUPPORT),
    }
    asked |= {key: values[key] for key in ("trials", "cluster", "redact") if key in values}
    asked |= {"pass_k": [spec for spec, _ in measures.pass_k]} if measures.pass_k else {}
    return hashlib.sha256(msgspec.json.encode(asked, order="sorted")).hexdigest()
