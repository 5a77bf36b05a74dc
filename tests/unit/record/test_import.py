"""What users put into their agents imports next to nothing."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("numpy", "scipy", "rich", "yaml", "click", "re2", "jsonschema", "asyncio", "subprocess", "sqlite3", "logging")


def imported_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_recording_sdk_imports_nothing_heavy():
    modules = imported_by("import oloproof; oloproof.system, oloproof.current_case")
    assert modules.isdisjoint(HEAVY)
    ours = {name for name in modules if name.startswith("oloproof.")}
    assert all(name.split(".")[1] in {"_version", "errors", "model", "record"} for name in ours)


def test_a_worker_imports_nothing_heavy_before_the_users_module():
    modules = imported_by("import oloproof.runner.worker")
    assert modules.isdisjoint(HEAVY)
