"""Installed packages that bring plug-ins: hand-written metadata in a directory that goes on the path."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fakes.projects import Done, spawned


def package(site: Path, name: str, entry_points: Mapping[str, Mapping[str, str]], **modules: str) -> Path:
    """A package ``name`` 1.0 in ``site``: ``entry_points`` by group (``evaluators``, …), and its modules' source."""
    metadata = site / f"{name}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [
        line
        for group, points in entry_points.items()
        for line in (f"[oloproof.{group}]", *(f"{point} = {target}" for point, target in points.items()))
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")
    for module, source in modules.items():
        (site / f"{module}.py").write_text(source)
    return site


def with_packages(site: Path, directory: Path, *arguments: str | Path) -> Done:
    """The command in a process that finds the packages of ``site``."""
    environment: dict[str, Any] = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    path = os.pathsep.join(filter(None, (str(site), environment.get("PYTHONPATH"))))
    return spawned(directory, *arguments, env=environment | {"PYTHONPATH": path})
