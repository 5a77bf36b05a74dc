"""A sound oloproof.yaml becomes a Project."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oloproof.errors import UsageError
from oloproof.model.decision import (
    Equivalence,
    IntervalThreshold,
    MaxNewFailures,
    NonInferiority,
    ObservedCount,
    Policy,
    Superiority,
)
from oloproof.model.project import (
    CallableSystem,
    Launching,
    QuantileSpec,
    RecordedSystem,
    Retry,
    SliceSpec,
    UserEvaluatorSpec,
)
from oloproof.model.redaction import SPARE_CHARS
from oloproof.model.run import IntervalChoice
from oloproof.project import load

ROOT = Path(__file__).parents[3]

SMALL = """version: 1
project: p
dataset: d.jsonl
system: {callable: "app:run"}
evaluators:
  - {type: contains, criterion: right, field: answer, value: x}
"""
RECORDED = SMALL.replace("dataset: d.jsonl\n", "").replace('callable: "app:run"', "recorded: traces/*.jsonl")
RULES = "rules:\n  - {id: a, metric: right, min: 0.50}\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "d.jsonl").write_text('{"id": "a"}\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def loaded(text: str, **options: Any) -> Any:
    Path("oloproof.yaml").write_text(text)
    return load(Path("oloproof.yaml"), **options)


def test_defaults() -> None:
    project = loaded(SMALL)
    assert project.name == "p"
    assert (project.config, project.directory, project.dataset) == ("oloproof.yaml", ".", "d.jsonl")
    assert project.system.kind == CallableSystem(target="app:run", directory=str(Path.cwd()))
    assert (project.system.name, project.system.version, project.system.records) == (None, None, None)
    assert [evaluator.criterion for evaluator in project.evaluators] == ["right"]
    assert (project.metrics, project.slices, project.min_slice_support) == ((), (), 5)
    assert project.interval == IntervalChoice()
    assert (project.policy, project.policy_none) == (None, False)
    assert (project.expected_cases, project.user_evaluators, project.warnings) == (None, (), ())


def test_everything() -> None:
    shutil.copy(ROOT / "oloproof.yaml.example", "oloproof.yaml")
    Path("data").mkdir()
    Path("data/refunds.jsonl").touch()
    project = load(Path("oloproof.yaml"))
    assert project.system.kind == CallableSystem(
        target="app:run",
        directory=str(Path.cwd()),
        concurrency=4,
        timeout_s=60.0,
        launching=Launching(retry=Retry(attempts=4), max_per_minute=120),
        spare_chars=SPARE_CHARS,
    )
    assert project.system.records == ("agent_trajectory/v1",)
    assert project.user_evaluators == (
        UserEvaluatorSpec(
            criterion="well_formed",
            target="oloproof.runner.schemas:check",
            bound={"schema": '{"type":"object","required":["answer"]}', "path": []},
        ),
        UserEvaluatorSpec(
            criterion="mentions_the_order", target="checks:mentions_the_order", bound={"words": ["order"]}
        ),
    )
    assert project.trials == 4
    assert [(spec.id, spec.type, spec.k) for spec in project.pass_k] == [
        ("reliable", "pass_hat_k", 4),
        ("lucky", "pass_at_k", 4),
    ]
    assert project.metrics[0] == QuantileSpec(id="steps_p95", source="agent_steps", quantile="0.95")
    assert SliceSpec(kind="trajectory_length", name="trajectory_length", bounds=(4, 8)) in project.slices
    assert project.policy is not None
    assert project.policy.rules == (
        IntervalThreshold(
            id="answer-floor",
            metric="answer_correct",
            min="0.70",
            min_cases=20,
            max_missing="0.1",
            requires_manual_review=True,
        ),
        ObservedCount(id="no-deletion", metric="agent_constraints_satisfied", max_failures=0),
        IntervalThreshold(id="quick", metric="steps_p95", max="12"),
        NonInferiority(id="no-worse", metric="answer_correct", margin="0.02"),
        Equivalence(id="same-shape", metric="well_formed", margin="0.05"),
        Superiority(id="better", metric="amount_right"),
        MaxNewFailures(id="nothing-new", metric="agent_constraints_satisfied", max_new_failures=0, confirm=3),
    )
    assert project.policy.accept_changed_cases == ("case_007",)
    assert project.warnings == ()


def test_paths_are_relative_to_the_configuration(here: Path) -> None:
    (here / "sub").mkdir()
    (here / "sub" / "d.jsonl").touch()
    (here / "sub" / "release.yaml").write_text(f"version: 1\n{RULES}")
    Path("sub/oloproof.yaml").write_text(SMALL)
    project = load(Path("sub/oloproof.yaml"))
    assert project.dataset == "sub/d.jsonl"
    assert project.directory == "sub"
    assert isinstance(project.system.kind, CallableSystem)
    assert project.system.kind.directory == str(here / "sub")


def test_the_forms_of_a_policy(here: Path) -> None:
    policy = Policy(rules=(IntervalThreshold(id="a", metric="right", min="0.50"),))
    Path("other.yaml").write_text(f"version: 1\n{RULES}")
    assert loaded(SMALL + "policy: other.yaml\n").policy == policy
    inline = "policy:\n  " + RULES.replace("\n", "\n  ")
    assert loaded(SMALL + inline).policy == policy
    assert loaded(SMALL + "policy: none\n").policy_none
    assert loaded(SMALL).policy is None
    Path("release.yaml").write_text(f"version: 1\n{RULES}")
    assert loaded(SMALL).policy == policy
    assert loaded(SMALL + "policy: none\n").policy is None


def test_a_policy_file_that_is_no_policy_is_told_with_its_name(here: Path) -> None:
    Path("release.yaml").mkdir()
    with pytest.raises(UsageError, match=r"release\.yaml: the policy is a directory"):
        loaded(SMALL)


def test_a_missing_configuration_says_what_to_do() -> None:
    with pytest.raises(UsageError) as caught:
        load(Path("oloproof.yaml"))
    problem = caught.value.problems[0]
    assert str(problem) == "oloproof.yaml: the configuration does not exist [OLO101]"
    assert problem.hint == "`oloproof init` writes one; --config names it"


def test_a_file_in_the_place_of_a_module_is_told_before_anything_is_loaded(here: Path) -> None:
    """A package ``app`` with a module ``py`` may be meant where there is no such file."""
    assert loaded(SMALL.replace("app:run", "app.py:run")).system.kind.target == "app.py:run"
    (here / "app.py").write_text("")
    with pytest.raises(UsageError) as caught:
        loaded(SMALL.replace("app:run", "app.py:run"))
    (problem,) = caught.value.problems
    assert str(problem) == (
        "oloproof.yaml:4:20: callable names a module, without its ending, found 'app.py:run' [OLO108]"
    )
    assert problem.hint == "did you mean 'app:run'?"


def test_recordings_by_pattern_and_list(here: Path) -> None:
    (here / "traces").mkdir()
    for name in ("b.jsonl", "a.jsonl", "c.txt"):
        (here / "traces" / name).touch()
    project = loaded(RECORDED + "cases: 4\n")
    files = ("traces/a.jsonl", "traces/b.jsonl")
    assert project.system.kind == RecordedSystem(patterns=("traces/*.jsonl",), files=files)
    assert (project.dataset, project.expected_cases) == (None, 4)
    listed = loaded(RECORDED.replace("traces/*.jsonl", '["traces/a*", "traces/b.jsonl", "traces/[ab].jsonl"]'))
    assert listed.system.kind.files == files


def test_recordings_named_elsewhere_stand_in_for_the_system(here: Path) -> None:
    (here / "r.jsonl").touch()
    project = loaded(SMALL, recorded=["r.jsonl"])
    assert project.system.kind == RecordedSystem(patterns=("r.jsonl",), files=("r.jsonl",))
    assert project.config_digest == loaded(SMALL).config_digest
    with pytest.raises(UsageError, match=r"^nope\.jsonl: the file of recordings does not exist"):
        loaded(SMALL, recorded=["nope.jsonl"])


def test_settings_without_effect_are_warned_about(here: Path) -> None:
    (here / "traces").mkdir()
    (here / "traces" / "a.jsonl").touch()
    project = loaded(RECORDED.replace("recorded:", "timeout_s: 3, recorded:"))
    assert project.warnings == ("system.timeout_s does nothing: recordings are not run",)


def test_what_is_to_be_said_of_the_policy_is_not_the_project_s(here: Path) -> None:
    Path("release.yaml").write_text(f"version: 1\nconfidence_level: 0.8\nblock_on: [FAIL]\n{RULES}")
    assert loaded(SMALL).warnings == ()


@pytest.mark.parametrize(
    ("reads", "what"),
    [
        ("slices: [metadata.a, route]\n", "slice route"),
        ("metrics: [{id: m, type: quantile, source: tokens, quantile: 0.5}]\n", "m"),
    ],
)
def test_records_must_hold_what_is_read(reads: str, what: str) -> None:
    unrecorded = SMALL.replace('"app:run"', '"app:run", records: []')
    assert loaded(unrecorded).system.records == ()
    with pytest.raises(UsageError, match=f"{what} reads trajectories, and records declares none .OLO117."):
        loaded(unrecorded + reads)


def test_the_digest_is_of_what_is_asked_and_not_of_its_spelling() -> None:
    digest = loaded(SMALL).config_digest
    respelt = [
        "# a comment\n" + SMALL,
        SMALL.replace("version: 1\nproject: p", "project: 'p'\nversion: 1"),
        SMALL + "min_slice_support: 5\ninterval: {}\n",
        SMALL.replace('"app:run"', '"app:run", timeout_s: 60, concurrency: 8'),
        SMALL.replace('"app:run"', '"app:run", max_per_minute: 8, retry: {attempts: 5}'),
        SMALL + "policy: {rules: [{id: a, metric: right, min: 0.5}]}\n",
    ]
    assert {loaded(text).config_digest for text in respelt} == {digest}
    changed = [
        SMALL.replace("value: x", "value: y"),
        SMALL.replace("app:run", "app:walk"),
        SMALL + "slices: [route]\n",
        SMALL + "interval: {method: exact}\n",
        SMALL + "  - {type: 'checks:polite'}\n",
        SMALL + "  - {type: 'checks:kind', criterion: polite}\n",
    ]
    digests = {loaded(text).config_digest for text in changed}
    assert len(digests) == len(changed)
    assert digest not in digests


def test_a_name_taken_by_a_broken_evaluator_is_not_called_unknown() -> None:
    broken = "  - {type: agent_tool_sequence, mode: x, criterion: sequence}\n"
    text = SMALL + broken + "policy: {rules: [{id: a, metric: sequence, min: 0.5}, {id: b, metric: seq, min: 0.5}]}\n"
    with pytest.raises(UsageError) as caught:
        loaded(text)
    assert [problem.code for problem in caught.value.problems] == ["OLO108", "OLO104"]


WORDS = st.sampled_from(
    [
        *[
            "version",
            "1",
            "project",
            "system",
            "callable",
            "app:run",
            "evaluators",
            "type",
            "contains",
            "regex",
            "pattern",
            "agent_tool_called",
        ],
        *[
            "tool_name",
            "min_calls",
            "rules",
            "policy",
            "metric",
            "min",
            "0.7",
            "kind",
            "slices",
            "observed_count",
            "metrics",
            "quantile",
            "none",
            "only",
        ],
        *[
            "{",
            "}",
            "[",
            "]",
            "-",
            "&",
            "*",
            "'",
            '"',
            "#",
            "|",
            ">",
            "?",
            "~",
            ":",
            ",",
            "true",
            ".nan",
            "1e999",
            "é",
            "\x00",
            "!!str",
            "id",
        ],
        *("- ", ", ", ": ", "\n", "\n  ", "\n    ", "&a ", "*a", "!!str ", "\t"),
    ]
)


@settings(deadline=None, max_examples=250, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WORDS, max_size=25), st.sampled_from(["", SMALL, SMALL + "policy: ", SMALL + "  - {type: "]))
def test_no_text_raises_anything_but_a_usage_error(words: list[str], before: str) -> None:
    Path("oloproof.yaml").write_bytes((before + "".join(words)).encode())
    try:
        load(Path("oloproof.yaml"))
    except UsageError as error:
        told = error.problems
    else:
        return
    assert told
    assert all(problem.code.startswith("OLO1") and problem.message for problem in told)
