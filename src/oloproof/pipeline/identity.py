"""Which run of which system this is, as the configuration, the decorator and the clock say it."""

from __future__ import annotations

import shlex
from typing import assert_never

from msgspec import Struct, to_builtins
from msgspec.structs import fields, replace

from oloproof import runner
from oloproof.errors import Problem, UsageError
from oloproof.evaluators import UserEvaluator
from oloproof.model.evidence import Evaluator
from oloproof.model.project import (
    CallableSystem,
    CommandSystem,
    HttpSystem,
    LiveSystem,
    Project,
    RecordedSystem,
    trajectory_readers,
)
from oloproof.model.run import Run, SystemIdentity
from oloproof.model.trajectory import RECORD
from oloproof.pipeline.ports import Ports, Request, rfc3339
from oloproof.pipeline.redacting import Redacting, redaction_digest
from oloproof.record.steps import printable
from oloproof.runner.dependencies import with_dependencies
from oloproof.store import identity, new_run_id


def run_header(project: Project, request: Request, ports: Ports, system: SystemIdentity) -> Run:
    """The header of a run of ``system``, which begins.

    Errors: UsageError where a name that is kept holds a secret.
    """
    now = ports.now()
    redacting = Redacting.of(project)
    redacting.refuse_selection(request.selection)
    redacting.refuse_system(system)
    system = replace(system, source=redacting.text(system.source))  # a command may be given a key
    return Run(
        id=new_run_id(now, ports.token()),
        project=project.name,
        system=system,
        status="running",
        started_at=rfc3339(now),
        criteria=tuple(evaluator.criterion for evaluator in project.evaluators),
        judged_by=tuple(map(judged_by, project.evaluators)),
        by_functions=_by_functions(project),
        slices=tuple(spec.name for spec in project.slices),
        interval=project.interval,
        config_digest=project.config_digest,
        partial=str(request.selection),
        trials=project.trials or 1,
        asked=request.asked,
        redaction=redaction_digest(project.redact),
        ungated_by_choice=project.policy_none or not request.gated,
    )


def judged_by(evaluator: Evaluator) -> str:
    """Identifies what an evaluator asks, by its type and the keys that are not at their defaults, so that a new key
    changes nothing. Its name asks nothing, and to which cases it applies is told case by case. Of a function that is
    the user's own it is what the configuration says."""
    assert isinstance(evaluator, Struct)
    at_default = {field.encode_name for field in fields(evaluator) if getattr(evaluator, field.name) == field.default}
    written = to_builtins(evaluator)
    return identity({key: written[key] for key in written.keys() - at_default - {"criterion", "only"}})


def _by_functions(project: Project) -> tuple[str, ...]:
    """The criteria that functions judge of whose code a worker may tell: the user's own, else those of plug-ins, which
    are the user's where they lie in no installed package."""
    functions = [each.criterion for each in project.evaluators if isinstance(each, UserEvaluator)]
    plugged = {spec.criterion for spec in project.user_evaluators if spec.origin}
    return tuple([criterion for criterion in functions if criterion not in plugged] or functions)


def configured_identity(project: Project, source: str = "") -> SystemIdentity:
    """The system's identity as far as the configuration gives it, where no code has declared one."""
    return SystemIdentity(name=project.system.name or project.name, version=project.system.version, source=source)


def agreed_identity(project: Project, declared: runner.Declared) -> SystemIdentity:
    """The system's identity from the configuration and the decorator, which may both speak but not disagree.

    Errors: UsageError where they do, or where what it depends on cannot be read.
    """
    spec = project.system
    assert not isinstance(spec.kind, RecordedSystem)  # of which no code declares anything
    problems = [
        Problem(
            "OLO410",
            f"system.{key} is {configured!r} here and {said!r} in the decorator",
            "say it in one place only, or the same in both",
            file=project.config,
        )
        for key, configured, said in (
            ("name", spec.name, declared.name),
            ("version", spec.version, declared.version),
            ("records", spec.records, declared.records),
        )
        if configured is not None and said is not None and configured != said
    ]
    if not problems and RECORD not in (*(spec.records or ()), *(declared.records or ())):
        problems = [
            Problem(
                "OLO411",
                f"{reader} reads trajectories, and the system declares no record of them",
                f"record them and write `records: [{RECORD}]` under `system:` or in @system(...)",
                file=project.config,
            )
            for reader in trajectory_readers(project.evaluators, project.metrics, project.slices)
        ][:1]
    if problems:
        raise UsageError(problems)
    name = spec.name or declared.name or _name_of(spec.kind) or project.name
    version = spec.version or declared.version
    code = with_dependencies(declared.code, spec.depends_on)
    return SystemIdentity(name=name, version=version, source=_source(spec.kind), code=code)


def _name_of(kind: LiveSystem) -> str | None:
    """What the configuration calls the system where nobody has named it, None where it does not."""
    return kind.target.split(":")[-1] if isinstance(kind, CallableSystem) else None


def _source(kind: LiveSystem) -> str:
    match kind:
        case CallableSystem(target=target):
            return f"callable {target}"
        case CommandSystem(command=command):
            return printable(f"command {shlex.join(command)}")
        case HttpSystem(url=url):
            return printable(f"http {url}")
        case _ as never:
            assert_never(never)
