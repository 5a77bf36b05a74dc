"""Where cases run: ``executor`` and ``ray``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fakes.projects import oloproof, project
from oloproof.model.project import RayExecutor
from oloproof.project import load


def test_a_cluster_is_read_with_its_defaults_and_changes_nothing_of_what_is_asked(tmp_path: Path) -> None:
    plain = load(project(tmp_path / "plain") / "oloproof.yaml")
    ray = load(project(tmp_path / "ray", executor="ray") / "oloproof.yaml")
    full = {"address": "head:6379", "code": "upload", "env": ["KEY"]}
    said = load(project(tmp_path / "full", executor="ray", ray=full) / "oloproof.yaml")
    assert plain.system.executor is None
    assert ray.system.executor == RayExecutor(address=None, code="shared", env=())
    assert said.system.executor == RayExecutor(address="head:6379", code="upload", env=("KEY",))
    assert plain.config_digest == ray.config_digest == said.config_digest


@pytest.mark.parametrize("kind", [{"command": ["cat"]}, {"http": {"url": "http://localhost:1/"}}])
def test_what_runs_elsewhere_anyway_is_refused(tmp_path: Path, kind: dict[str, Any]) -> None:
    done = oloproof(project(tmp_path, system=kind, executor="ray"), "check")
    assert done.code == 2
    assert "executor: ray runs a callable" in done.err


def test_recordings_and_a_local_run_have_nothing_to_do_with_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").touch()
    recorded = load(project(tmp_path, system={"recorded": "t.jsonl"}, executor="ray") / "oloproof.yaml")
    assert recorded.system.executor is None
    idle = load(project(tmp_path / "idle", ray={"env": ["KEY"]}) / "oloproof.yaml")
    assert "ray does nothing: executor is local" in idle.warnings
