"""``oloproof.yaml``: from the file to a checked :class:`~oloproof.model.project.Project`, or to all that is wrong."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from oloproof.errors import shown
from oloproof.model.decision import Policy
from oloproof.model.measured import MIN_SLICE_SUPPORT
from oloproof.model.project import (
    ImportSpec,
    Project,
    RecordedSystem,
    SystemSpec,
)
from oloproof.model.redaction import Redaction
from oloproof.model.run import IntervalChoice
from oloproof.project import codes, shape
from oloproof.project.above import hint_above
from oloproof.project.codes import CONFIG
from oloproof.project.executors import idle_executor, read_executor
from oloproof.project.measures import Measures, read_measures
from oloproof.project.nodes import Entry, Fields, Node, Scalar, describe
from oloproof.project.policy import DEFAULT_POLICY, Measurable, policy_of, read_policy
from oloproof.project.problems import Problems, read_bytes, refuse
from oloproof.project.spec import ConfigFile, IntervalSection, RedactSection, SystemSection
from oloproof.project.system import check_records, idle_keys, read_system, with_room_to_redact
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
    """The project that ``config`` describes, its policy included; the arguments are those of :class:`Departure`.

    The dataset's rows are :func:`read_cases`'s business; that the file is there is checked here. Raises a UsageError
    with every problem of both files.
    """
    problems = Problems(str(config))
    hint = "" if config.exists() else hint_above(config, otherwise="`oloproof init` writes one; --config names it")
    data = read_bytes(config, what="the configuration", codes=CONFIG, hint=hint)
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
    system = None
    if section is not None:
        instead, imported = departure.recorded, departure.imported
        system = read_system(section, written, config.parent, problems, recorded=instead, imported=imported)
    if system is not None:
        system = replace(system, executor=read_executor(values, system, written, problems))
    if not departure.has_cases:
        _check_dataset(values.get("dataset"), written, section, config.parent, problems)
    check_records(section, written, measures, problems)
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
        system=system if redact is None else with_room_to_redact(system),
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
        warnings=(*idle_keys(section, written), *idle_executor(values)),
    )


def _interval(section: IntervalSection) -> IntervalChoice:
    return IntervalChoice(method=section.method, level=section.level)


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
