"""release.yaml becomes a Policy; thresholds stay the decimals that were written."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from oloproof.errors import UsageError
from oloproof.model.decision import IntervalThreshold, ObservedCount, Policy
from oloproof.project.policy import Measurable, MetricKind, read_policy
from oloproof.project.problems import Problems

METRICS: dict[str, MetricKind] = {"right": "rate", "p95": "quantile"}


def policy(tmp_path: Path, text: str) -> Policy:
    file = tmp_path / "release.yaml"
    file.write_text(text)
    return policy_in(file)


def policy_in(file: Path) -> Policy:
    problems = Problems(str(file))
    found = read_policy(file, problems, Measurable(METRICS))
    problems.raise_any()
    assert found is not None
    return found


def test_everything(tmp_path: Path) -> None:
    text = """
version: 1
confidence_level: 0.99
interval_method: exact
block_on: [FAIL]
warn_on: [INSUFFICIENT_EVIDENCE, MANUAL_REVIEW]
rules:
  - {id: a, metric: right, min: 0.70, max: 1, min_cases: 3, max_missing: 0.10, requires_manual_review: true}
  - {id: b, metric: p95, kind: interval_threshold, max: 12.50}
  - {id: c, metric: right, kind: observed_count, max_failures: 0}
"""
    assert policy(tmp_path, text) == Policy(
        confidence_level=0.99,
        interval_method="exact",
        block_on=("FAIL",),
        warn_on=("INSUFFICIENT_EVIDENCE", "MANUAL_REVIEW"),
        rules=(
            IntervalThreshold(
                id="a",
                metric="right",
                min="0.70",
                max="1",
                min_cases=3,
                max_missing="0.10",
                requires_manual_review=True,
            ),
            IntervalThreshold(id="b", metric="p95", max="12.50"),
            ObservedCount(id="c", metric="right", max_failures=0),
        ),
    )


@pytest.mark.parametrize("text", ["0.70", ".7", "7e-1", "+.7", "0.7000000000000000001", "1.", "0", "012", "0x10"])
def test_a_bound_is_fit_for_exact_arithmetic(text: str, tmp_path: Path) -> None:
    rule = policy(tmp_path, f"version: 1\nrules: [{{id: a, metric: p95, min: {text}}}]\n").rules[0]
    assert isinstance(rule, IntervalThreshold)
    assert rule.min is not None
    expected = int(text, 16) if text.startswith("0x") else float(text)
    assert float(Fraction(rule.min)) == expected


@pytest.mark.parametrize("text", ["0e999999999", "1e-999999999", "0." + "1" * 400, "0." + "1" * 31])
def test_a_bound_that_would_take_ages_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"min has too many digits \[OLO108\]"):
        policy(tmp_path, f"version: 1\nrules: [{{id: a, metric: right, min: {text}}}]\n")


@pytest.mark.parametrize("text", ["0." + "1" * 30, "0.7" + "0" * 200, "0." + "0" * 200 + "1"])
def test_a_bound_of_thirty_digits_is_kept(text: str, tmp_path: Path) -> None:
    rule = policy(tmp_path, f"version: 1\nrules: [{{id: a, metric: right, min: {text}}}]\n").rules[0]
    assert isinstance(rule, IntervalThreshold)
    assert rule.min == text


@pytest.mark.parametrize("text", ["1.0000000000000000000001", "-0.0000000000000000000001", "-1e-300"])
def test_a_share_is_held_to_its_decimal_and_not_to_the_double_beside_it(text: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"min must be a share between 0 and 1, found .* \[OLO108\]"):
        policy(tmp_path, f"version: 1\nrules: [{{id: a, metric: right, min: {text}}}]\n")


def test_bounds_that_only_their_decimals_cross_are_refused(tmp_path: Path) -> None:
    text = "version: 1\nrules: [{id: a, metric: right, min: 0.50000000000000000001, max: 0.5}]\n"
    with pytest.raises(UsageError, match=r"min 0.50000000000000000001 is above max 0.5: nothing can pass"):
        policy(tmp_path, text)


def test_a_file_says_its_version(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the policy needs the key 'version'"):
        policy(tmp_path, "rules: [{id: a, metric: right, min: 0.5}]\n")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"release\.yaml: the policy does not exist \[OLO101\]"):
        policy_in(tmp_path / "release.yaml")
