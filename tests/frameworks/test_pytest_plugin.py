"""``pytest --oloproof`` in sessions of its own, with real workers of pytest-xdist."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from fakes.projects import AGENT, ECHO, NONE_WRONG, RIGHT, answered, case, project
from fakes.pytester import ASKED, PLUGIN
from oloproof.store import Store

pytest_plugins = ["pytester"]

CALLED = {"type": "agent_tool_called", "tool_name": "lookup", "criterion": "called"}
FLOOR = {"id": "floor", "metric": "right", "min": 0.9}


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """The whole command in a process of its own."""
    return pytester.runpytest_subprocess(*ASKED, *arguments)


def runs(directory: Path) -> int:
    """How often the project was run."""
    if not (directory / ".oloproof").exists():
        return 0
    with Store.open(directory / ".oloproof") as store:
        return len(store.runs())


def test_a_project_that_is_let_through(pytester: pytest.Pytester) -> None:
    project(pytester.path, app="import sys\nassert 'pytest' not in sys.modules\n" + ECHO)
    done = run(pytester)
    assert done.ret == 0
    done.assert_outcomes(passed=5)
    done.stdout.fnmatch_lines(["oloproof.yaml: run *: ALLOW (exit 0); oloproof inspect *"])
    assert runs(pytester.path) == 1


def test_two_workers_share_one_run(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    project(pytester.path, cases=answered(*["yes"] * 12, "no"))
    done = run(pytester, "-n", "2", "-v")
    assert done.ret == 1
    done.assert_outcomes(passed=12, failed=3)
    assert {"[gw0]", "[gw1]"} <= set(done.stdout.str().split())
    assert runs(pytester.path) == 1
    done.stdout.fnmatch_lines(["FAILED oloproof.yaml::cases::c13 - Failed: right: fail:*"])


def test_a_verdict_that_is_hidden_from_two_workers_fails_the_session(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    project(pytester.path, cases=answered("yes", "no"))
    done = run(pytester, "-n", "2", "-k", "c1")
    assert done.ret == 1
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["*BLOCK (exit 1): none-wrong FAIL*", "no selected test failed; the session does, *"])


def test_a_selection_hides_no_verdict(pytester: pytest.Pytester) -> None:
    project(pytester.path, cases=answered("yes", "no"))
    done = run(pytester, "-k", "c1")
    assert done.ret == 1
    done.assert_outcomes(passed=1, deselected=3)
    done.stdout.fnmatch_lines(["no selected test failed; the session does, *"])
    with Store.open(pytester.path / ".oloproof") as store:
        (stored,) = store.runs()
    assert (stored.status, stored.cases, stored.partial) == ("complete", 2, "")


def test_what_no_test_asked_for_is_not_run_and_not_decided(pytester: pytest.Pytester) -> None:
    project(pytester.path)
    pytester.makepyfile(test_own="def test_own(): pass")
    done = run(pytester, "-k", "test_own")
    assert done.ret == 1
    done.assert_outcomes(passed=1, deselected=5)
    done.stdout.fnmatch_lines(["oloproof.yaml: the verdict was not decided: none of its tests began*"])
    assert runs(pytester.path) == 0


def test_the_first_failure_and_the_last_failed(pytester: pytest.Pytester) -> None:
    project(pytester.path, cases=answered("yes", "no", "yes"), rules=None, policy="none")
    arguments = (*PLUGIN, "--oloproof", "oloproof.yaml")
    done = pytester.runpytest_subprocess(*arguments, "-x")
    done.assert_outcomes(skipped=1, passed=1, failed=1)
    done = pytester.runpytest_subprocess(*arguments, "--lf")
    done.assert_outcomes(failed=1, deselected=3)
    assert done.ret == 1
    done.stdout.fnmatch_lines(["FAILED oloproof.yaml::cases::c2 - *"])


def test_one_test_by_its_node_id_with_others_beside_it(pytester: pytest.Pytester) -> None:
    project(pytester.path)
    pytester.makepyfile(test_own="def test_own(): pass")
    run(pytester, "oloproof.yaml::cases::c2").assert_outcomes(passed=1)
    run(pytester, "oloproof.yaml::rules::none-wrong", "test_own.py").assert_outcomes(passed=2)
    run(pytester, "test_own.py").assert_outcomes(passed=6)


def test_missing_fails_and_what_does_not_apply_is_skipped(pytester: pytest.Pytester) -> None:
    app = (
        "def run(case):\n    if case == 'raise':\n        raise ValueError('no such order')\n    return {'answer': 1}\n"
    )
    for_one = RIGHT | {"only": "metadata.for == one"}
    rows = [case("c1", "raise") | {"metadata": {"for": "one"}}, case("c2") | {"metadata": {"for": "two"}}]
    project(pytester.path, app=app, cases=rows, evaluators=[for_one])
    done = run(pytester, "-rs")
    done.assert_outcomes(failed=3, skipped=1)
    first = "system_error: ValueError: no such order"
    done.stdout.fnmatch_lines([first, "right: missing: system_error", "*ValueError: no such order*"])
    done.stdout.fnmatch_lines(["SKIPPED [[]1] oloproof.yaml:1: right: excluded: not_selected"])
    done.stdout.fnmatch_lines(["none-wrong: INSUFFICIENT_EVIDENCE (no_observation)*"])


def test_cases_that_only_rules_count(pytester: pytest.Pytester) -> None:
    project(pytester.path, cases=answered(*["yes"] * 40, "no"), rules=[{"id": "most", "metric": "right", "min": 0.5}])
    assert run(pytester).ret == 1
    done = run(pytester, "--oloproof-cases", "xfail", "-rx")
    assert done.ret == 0
    done.assert_outcomes(passed=42, xfailed=1)
    done.stdout.fnmatch_lines(["XFAIL oloproof.yaml::cases::c41 - *right: fail*"])


def test_cases_that_only_rules_count_and_a_rule_that_blocks(pytester: pytest.Pytester) -> None:
    project(pytester.path, cases=answered("yes", "no"))
    done = run(pytester, "--oloproof-cases", "xfail", "-k", "cases")
    assert done.ret == 1
    done.assert_outcomes(passed=1, xfailed=1)


def test_a_rule_that_is_open_blocks_unless_it_only_warns(pytester: pytest.Pytester) -> None:
    project(pytester.path, rules=[FLOOR])
    done = run(pytester, "-k", "rules or gate")
    done.assert_outcomes(failed=2)
    done.stdout.fnmatch_lines(["floor: INSUFFICIENT_EVIDENCE (interval_overlaps_threshold)*"])
    policy = {"version": 1, "block_on": ["FAIL"], "warn_on": ["INSUFFICIENT_EVIDENCE", "MANUAL_REVIEW"]}
    policy["rules"] = [FLOOR, NONE_WRONG]
    project(pytester.path, rules=None, policy=policy)
    done = run(pytester, "-k", "rules or gate", "-rs")
    assert done.ret == 0
    done.assert_outcomes(passed=2, skipped=1)
    done.stdout.fnmatch_lines(["SKIPPED *INSUFFICIENT_EVIDENCE, which does not block*"])


def test_a_project_without_a_policy_is_no_pass_unless_it_says_so(pytester: pytest.Pytester) -> None:
    project(pytester.path, rules=None)
    done = run(pytester)
    assert done.ret == 1
    done.assert_outcomes(passed=3, failed=1)
    done.stdout.fnmatch_lines(["NOT GATED (exit 3): there is no policy*"])
    project(pytester.path, rules=None, policy="none")
    done = run(pytester)
    assert done.ret == 0
    done.assert_outcomes(passed=3, skipped=1)


@pytest.mark.parametrize(
    ("app", "told"),
    [
        ("", "oloproof.yaml: app has no 'run' [[]OLO402]"),
        ("raise ValueError('no key')", "*importing app failed: ValueError: no key*"),
    ],
)
def test_a_system_that_does_not_load_is_an_error_of_every_test(pytester: pytest.Pytester, app: str, told: str) -> None:
    project(pytester.path, app=app)
    done = run(pytester)
    assert done.ret == 1
    done.assert_outcomes(errors=5)
    done.stdout.fnmatch_lines([told, "*`oloproof run` ended with exit *"])
    assert done.stdout.str().count("\n`oloproof run` ended with exit ") == 1  # the others say it in a line
    done.stdout.fnmatch_lines(["oloproof.yaml: the verdict was not decided: `oloproof run` ended with exit *"])


def test_a_system_that_ends_its_process_with_0_passes_nothing(pytester: pytest.Pytester) -> None:
    project(pytester.path, app="import os\ndef run(case):\n    os._exit(0)\n")
    done = run(pytester)
    assert done.ret == 1
    done.assert_outcomes(failed=5)


def test_collecting_runs_nothing(pytester: pytest.Pytester) -> None:
    project(pytester.path, app="raise SystemExit('imported')")
    done = run(pytester, "--collect-only", "-q")
    assert done.ret == 0
    done.stdout.fnmatch_lines(
        ["oloproof.yaml::gate", "oloproof.yaml::rules::none-wrong", "oloproof.yaml::cases::c1", "*::cases::c2"]
    )
    assert runs(pytester.path) == 0


def test_junit_xml_of_hostile_names(pytester: pytest.Pytester) -> None:
    names = ["a\u202eb]]>", "<script>", "x\u0000\u009b[2J", "a::b::c", 'q"[0]', "line\nbreak", "%41", "A"]
    rows = [case(name, [f"tool {name}"]) for name in names]
    project(pytester.path, app=AGENT, cases=rows, evaluators=[CALLED], rules=None, policy="none")
    done = run(pytester, "--junit-xml=out.xml", "-v")
    done.assert_outcomes(failed=len(names), skipped=1)
    assert not set("\u202e\x00\x9b") & set(done.stdout.str())
    tests = ET.parse(pytester.path / "out.xml").getroot().findall(".//testcase[@classname='oloproof.yaml.cases']")
    assert len({test.get("name") for test in tests}) == len(names)
    assert all("called: fail" in test.findtext("failure", "") for test in tests)


def test_recordings_that_are_their_own_dataset(pytester: pytest.Pytester) -> None:
    lines = [{"case": f"r{n}", "output": {"answer": "yes"}, "expected": {"answer": "yes"}} for n in range(3)]
    (pytester.path / "traces.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    right: dict[str, Any] = {"cases": None, "system": {"recorded": "traces.jsonl"}}
    project(pytester.path, **right)
    written = json.loads((pytester.path / "oloproof.yaml").read_text())
    (pytester.path / "oloproof.yaml").write_text(json.dumps(written | {"cases": 3}))
    done = run(pytester)
    assert done.ret == 0
    done.assert_outcomes(passed=5)


def test_several_trials_of_a_case_are_one_test(pytester: pytest.Pytester) -> None:
    app = (
        "from oloproof import current_case\n"
        "def run(case):\n    return {'answer': case if current_case().trial == 1 else 'no'}\n"
    )
    project(pytester.path, app=app, cases=answered("yes"), trials=2)
    done = run(pytester, "-k", "cases")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["trial 2: right: fail:*"])


def test_a_baseline_for_the_rules_that_compare(pytester: pytest.Pytester) -> None:
    rule = {"id": "new", "metric": "right", "kind": "max_new_failures", "max_new_failures": 0}
    project(pytester.path, rules=[rule])
    assert run(pytester, "-k", "rules").ret == 1
    done = run(pytester, "--oloproof-baseline", "latest")
    assert done.ret == 0
    done.assert_outcomes(passed=5)


def test_two_projects_and_each_its_verdict(pytester: pytest.Pytester) -> None:
    project(pytester.path / "one")
    project(pytester.path / "two", cases=answered("no"))
    arguments = (*PLUGIN, "--oloproof", "one/oloproof.yaml", "--oloproof", "two/oloproof.yaml")
    done = pytester.runpytest_subprocess(*arguments, "-p", "no:cacheprovider", "-v")
    assert done.ret == 1
    done.assert_outcomes(passed=5, failed=3)
    done.stdout.fnmatch_lines(["one/oloproof.yaml::gate PASSED*", "two/oloproof.yaml::gate FAILED*"])
    done.stdout.fnmatch_lines(["one/oloproof.yaml: run *: ALLOW *--config one/oloproof.yaml"])
    assert (runs(pytester.path / "one"), runs(pytester.path / "two")) == (1, 1)


def test_a_conftest_that_tampers_with_the_judge_moves_no_exit_code(pytester: pytest.Pytester) -> None:
    project(pytester.path, cases=answered("no"))
    pytester.makeconftest(
        """
        import oloproof.gates
        from oloproof.model.decision import Gate
        from oloproof.errors import ExitCode
        oloproof.gates.verdict = lambda *_: Gate(outcome="ALLOW", exit_code=ExitCode.ALLOW)
        oloproof.gates.decide = lambda *_, **__: ()
        """
    )
    done = run(pytester)
    assert done.ret == 1
    done.stdout.fnmatch_lines(["`oloproof run` ended with exit 1, and the store says: ALLOW (exit 0)"])


def test_an_interruption_ends_the_run_as_well(pytester: pytest.Pytester) -> None:
    app = "import os, signal\ndef run(case):\n    os.killpg(int(os.environ['SESSION']), signal.SIGINT)\n    return {}\n"
    project(pytester.path, app=app)
    command = [sys.executable, "-m", "pytest", *ASKED]
    script = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        " os.environ['SESSION'] = str(os.getpid()); os.execv(sys.argv[1], sys.argv[1:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *command], capture_output=True, text=True, start_new_session=True, check=False
    )
    assert done.returncode == pytest.ExitCode.INTERRUPTED
    assert "oloproof.yaml: the verdict was not decided: its run did not come to an end" in done.stdout


def configured(pytester: pytest.Pytester, setting: str = 'oloproof = ["suite/oloproof.yaml"]', **keys: Any) -> Path:
    """A directory of tests of one's own, beneath settings that name a project beside it."""
    pytester.path.joinpath("pyproject.toml").write_text(f"[tool.pytest.ini_options]\n{setting}\n")
    suite, tests = pytester.mkdir("suite"), pytester.mkdir("tests")
    project(suite, **keys)
    (tests / "test_own.py").write_text("def test_own(): pass\n")
    return tests


def told(arguments: tuple[str, ...], directory: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", *PLUGIN, "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True)


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_project_of_the_settings_is_tested_from_any_directory(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    if workers:
        pytest.importorskip("xdist")
    tests = configured(pytester, cases=answered("yes", "no"))
    named = "suite/oloproof.yaml"
    for directory, config in ((pytester.path, named), (tests, str(pytester.path / named))):
        done = told(workers, directory)
        assert done.returncode == 1, done.stdout + done.stderr
        assert "3 failed, 2 passed" in done.stdout
        assert f"--failures --config {config}\n" in done.stdout
    assert runs(pytester.path / "suite") == 2


def test_a_project_of_the_settings_is_not_run_where_other_tests_are_asked_for(pytester: pytest.Pytester) -> None:
    tests = configured(pytester, cases=answered("yes", "no"))
    for arguments in (("test_own.py",), ("-k", "own"), ("-o", "oloproof=")):
        done = told(arguments, tests)
        assert done.returncode == 0, done.stdout
        assert "1 passed" in done.stdout
    assert runs(pytester.path / "suite") == 0
    done = told(("../suite/oloproof.yaml::cases::c1",), tests)
    assert done.returncode == 1
    assert "1 passed" in done.stdout
    assert "no selected test failed; the session does" in done.stdout


def test_the_command_line_stands_over_the_settings(pytester: pytest.Pytester) -> None:
    configured(pytester)
    other = pytester.mkdir("other")
    project(other)
    assert told(("--oloproof", "other/oloproof.yaml"), pytester.path).returncode == 0
    assert (runs(pytester.path / "suite"), runs(other)) == (0, 1)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ('addopts = "--oloproof suite/oloproof.yaml"', 'write oloproof = ["suite/oloproof.yaml"] there'),
        ('oloproof = ["none.yaml"]', "pytest's setting oloproof: none.yaml: there is no such file"),
    ],
)
def test_a_setting_that_names_no_file(pytester: pytest.Pytester, setting: str, words: str) -> None:
    done = told((), configured(pytester, setting))
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert words in done.stderr
