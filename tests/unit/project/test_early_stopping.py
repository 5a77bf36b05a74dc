"""``early_stopping:`` of the policy, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from oloproof.errors import UsageError
from oloproof.model.decision import Policy
from oloproof.model.stopping import EarlyStopping
from oloproof.project.policy import Measurable, MetricKind, read_policy
from oloproof.project.problems import Problems

METRICS: dict[str, MetricKind] = {"right": "rate", "p95": "quantile"}
RULES = """version: 1
rules:
  - {id: floor, metric: right, min: 0.8}
  - {id: band, metric: right, min: 0.2, max: 0.8}
  - {id: quick, metric: p95, max: 12}
  - {id: safe, metric: right, kind: observed_count, max_failures: 0}
"""


def read(tmp_path: Path, text: str) -> Policy:
    file = tmp_path / "release.yaml"
    file.write_text(RULES + text)
    problems = Problems("release.yaml")
    found = read_policy(file, problems, Measurable(METRICS))
    problems.raise_any()
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", None),
        ("early_stopping: {method: curtailment}", EarlyStopping()),
        ("early_stopping: {method: hybrid, rules: [floor]}", EarlyStopping(method="hybrid", rules=("floor",))),
    ],
)
def test_what_is_written(text: str, wanted: EarlyStopping | None, tmp_path: Path) -> None:
    assert read(tmp_path, text).early_stopping == wanted


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("early_stopping: true", "7:17: early_stopping must be a mapping"),
        ("early_stopping: {}", "7:17: early_stopping needs the key 'method'"),
        ("early_stopping: {method: peek}", "7:26: method must be curtailment or hybrid"),
        ("early_stopping: {method: hybrid}", "7:17: hybrid needs the rules that evidence may settle"),
        ("early_stopping: {method: hybrid, rules: []}", "7:17: hybrid needs the rules that evidence may settle"),
        ("early_stopping: {method: curtailment, rules: [floor]}", "7:46: curtailment takes no rules"),
        ("early_stopping: {method: hybrid, rules: [flor]}", "7:42: early_stopping names no rule 'flor'"),
        ("early_stopping: {method: hybrid, rules: [floor, quick]}", "7:49: evidence cannot settle 'quick'"),
        ("early_stopping: {method: hybrid, rules: [safe]}", "7:42: evidence cannot settle 'safe'"),
        ("early_stopping: {method: hybrid, rules: [band]}", "7:42: evidence settles one bound, and 'band' has two"),
        ("early_stopping: {method: hybrid, rule: floor}", "7:34: unknown key 'rule'"),
    ],
)
def test_what_is_wrong_has_its_place(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        read(tmp_path, text)
    assert str(error.value.problems[0]).startswith(f"release.yaml:{told}")


def test_nothing_is_said_of_names_where_rules_could_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        read(tmp_path, "  - {id: odd, metric: right, min: 7}\nearly_stopping: {method: hybrid, rules: [odd]}")
    assert [problem.line for problem in error.value.problems] == [7]
