"""Tests depend on nothing that a busy machine, a second on a clock, or chance decides."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# A test writes one module after another into the same file, and within a second: of two that have the same length,
# Python would take the bytecode of the first for the second's. So what tests start keeps none.
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"

# What a CI server or a terminal tells of itself decides what pytest, rich and the commands here print: on a server's
# machine the same is to be read as on anybody's.
for told in (
    "BUILD_NUMBER",
    "CI",
    "COLUMNS",
    "FORCE_COLOR",
    "LINES",
    "NO_COLOR",
    "PYTEST_ADDOPTS",
    "PY_COLORS",
    "TERM",
):
    os.environ.pop(told, None)
for told in [name for name in os.environ if name.startswith(("GITHUB_", "GITLAB_", "CI_"))]:
    del os.environ[told]

# How long an example takes is the machine's. `make` asks for the same examples every time, so that what fails was
# broken by the change at hand; pytest by itself draws others, and finds what they did not.
settings.register_profile(
    "oloproof",
    deadline=None,
    derandomize="OLOPROOF_STEADY" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("oloproof")
