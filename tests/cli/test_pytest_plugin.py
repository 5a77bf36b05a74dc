"""``pytest --oloproof oloproof.yaml`` in this process; what takes sessions of its own stands in tests/frameworks."""

from __future__ import annotations

import numpy  # noqa: F401 -- pytester forgets what was imported inside, and numpy is not imported twice
import pytest

import oloproof.cli.app
import oloproof.pytest_plugin.session
import oloproof.reports.terminal  # noqa: F401
from fakes.projects import AGENT, NONE_WRONG, case, project
from fakes.pytester import ASKED, PLUGIN

pytest_plugins = ["pytester"]


def test_the_verdict_the_rules_and_the_cases_are_tests(pytester: pytest.Pytester) -> None:
    called = {"type": "agent_tool_called", "tool_name": "lookup", "criterion": "right"}
    rows = [case("good", ["lookup"]), case("bad::\x1b[31m", ["delete\x1b[31m"])]
    project(pytester.path, app=AGENT, cases=rows, evaluators=[called], rules=[NONE_WRONG])
    done = pytester.runpytest_inprocess(*ASKED, "-v")
    assert done.ret == 1
    done.assert_outcomes(passed=1, failed=3)
    done.stdout.fnmatch_lines(
        ["*oloproof.yaml::cases::good PASSED*", "*oloproof.yaml::cases::bad%3A%3A%1B%5B31m FAILED*"]
    )
    done.stdout.fnmatch_lines(["BLOCK (exit 1): none-wrong FAIL"])
    done.stdout.fnmatch_lines(["none-wrong: FAIL (observed_failures_exceed_limit): 1 failure observed, 0 allowed"])
    done.stdout.fnmatch_lines([r"   1  tool_call delete\x1b[[]31m"])
    assert "\x1b[31m" not in done.stdout.str()


def test_a_rule_says_what_to_do_about_it_alone(pytester: pytest.Pytester) -> None:
    called = {"type": "agent_tool_called", "tool_name": "lookup", "criterion": "right"}
    rules = [NONE_WRONG, {"id": "floor", "metric": "right", "min": 0.5}]
    project(
        pytester.path, app=AGENT, cases=[case("good", ["lookup"]), case("bad", [])], evaluators=[called], rules=rules
    )
    told = pytester.runpytest_inprocess(*ASKED).stdout.str()
    failed = told.partition("_ rules::none-wrong _")[2].partition("_ rules::floor _")[0]
    assert "see what failed: oloproof inspect " in failed
    assert "plan a fresh run" not in failed
    assert "plan a fresh run" in told.partition("_ rules::floor _")[2]


def test_nothing_happens_unasked(pytester: pytest.Pytester) -> None:
    project(pytester.path)
    pytester.makepyfile(test_own="def test_own(): pass")
    done = pytester.runpytest_inprocess(*PLUGIN, "-p", "no:cacheprovider")
    done.assert_outcomes(passed=1)
    assert "oloproof:" not in done.stdout.str()
    assert not (pytester.path / ".oloproof").exists()


def test_what_names_no_project_is_refused(pytester: pytest.Pytester) -> None:
    done = pytester.runpytest_inprocess(*ASKED)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    where = f"there is no such file in {pytester.path}"
    done.stderr.fnmatch_lines([f"ERROR: --oloproof oloproof.yaml: {where}; `oloproof init` writes one"])
    done = pytester.runpytest_inprocess(*PLUGIN, "--oloproof-baseline", "latest")
    assert done.ret == pytest.ExitCode.USAGE_ERROR


def test_what_is_wrong_with_a_project_is_told_in_its_own_words(pytester: pytest.Pytester) -> None:
    project(pytester.path, evaluators=[{"type": "contain", "field": "answer"}])
    done = pytester.runpytest_inprocess(*ASKED)
    assert done.ret == pytest.ExitCode.INTERRUPTED
    done.stdout.fnmatch_lines(["*oloproof.yaml:1:*: unknown evaluator type 'contain' [[]OLO111]", "*did you mean*"])
    done.stdout.fnmatch_lines(["oloproof.yaml: the verdict was not decided: *"])
