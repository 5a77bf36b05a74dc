"""Where cases run: ``executor:`` and ``ray:``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oloproof.model.project import CallableSystem, RayExecutor, RecordedSystem, SystemSpec
from oloproof.project import codes
from oloproof.project.nodes import Fields
from oloproof.project.problems import Problems
from oloproof.project.spec import RaySection


def read_executor(
    values: Mapping[str, Any], system: SystemSpec, written: Fields, problems: Problems
) -> RayExecutor | None:
    """The cluster that cases run on; None where they run on this machine, or not at all."""
    if values.get("executor", "local") != "ray" or isinstance(system.kind, RecordedSystem):
        return None
    if not isinstance(system.kind, CallableSystem):
        message = "executor: ray runs a callable; a command and a server are asked from this machine"
        problems.at(written.place("executor"), codes.CONFLICTING_KEYS, message, hint="write executor: local")
        return None
    section: RaySection = values.get("ray", RaySection())
    return RayExecutor(address=section.address, code=section.code, env=section.env)


def idle_executor(values: Mapping[str, Any]) -> tuple[str, ...]:
    """That what is said of a cluster has nothing to act on."""
    if "ray" not in values or values.get("executor", "local") == "ray":
        return ()
    return ("ray does nothing: executor is local",)
