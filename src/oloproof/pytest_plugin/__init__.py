"""``pytest --oloproof oloproof.yaml``: a project's verdict, its rules and its cases as tests; off until asked for.

pytest imports this wherever oloproof is installed, so it imports nothing but pytest until a project is named.
"""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("oloproof", "judge what an AI agent did")
    group.addoption(
        "--oloproof",
        action="append",
        default=[],
        dest="oloproof_configs",
        metavar="CONFIG",
        help="Run this project (oloproof.yaml) once; its verdict, rules and cases are tests. May be repeated.",
    )
    group.addoption(
        "--oloproof-cases",
        choices=("fail", "xfail"),
        default="fail",
        help="A case that failed or is missing fails (the default), or is an expected failure that only rules count.",
    )
    group.addoption(
        "--oloproof-baseline",
        default=None,
        metavar="BASELINE",
        help="Compare the run with this one, for the rules that compare.",
    )
    parser.addini(
        "oloproof", "Projects (oloproof.yaml) to test, from the directory of this file.", type="paths", default=[]
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("oloproof_configs") or config.getini("oloproof"):
        from oloproof.pytest_plugin.session import watch_over

        watch_over(config)
    elif config.getoption("oloproof_baseline") is not None:
        raise pytest.UsageError("--oloproof-baseline goes with --oloproof CONFIG, or with oloproof among the settings")
