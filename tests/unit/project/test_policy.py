"""release.yaml becomes a Policy; thresholds stay the decimals that were written."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from oloproof.errors import UsageError
from oloproof.model.decision import IntervalThreshold, ObservedCount, Policy
from oloproof.project import load_policy, policy_warnings
from oloproof.project.policy import MetricKind

METRICS: dict[str, MetricKind] = {"right": "rate", "p95": "quantile"}


def policy(tmp_path: Path, text: str) -> Policy:
    file = tmp_path / "release.yaml"
    file.write_text(text)
    return load_policy(file, metrics=METRICS)


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


@pytest.mark.parametrize("text", ["0e999999999", "1e-999999999", "0." + "1" * 400])
def test_a_bound_that_would_take_ages_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"min has too many digits \[OLO108\]"):
        policy(tmp_path, f"version: 1\nrules: [{{id: a, metric: right, min: {text}}}]\n")


def test_a_file_says_its_version(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the policy needs the key 'version'"):
        policy(tmp_path, "rules: [{id: a, metric: right, min: 0.5}]\n")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"release\.yaml: the policy does not exist \[OLO101\]"):
        load_policy(tmp_path / "release.yaml", metrics=METRICS)


def test_warnings() -> None:
    rules = (IntervalThreshold(id="a", metric="right", min="0.5"),)
    assert policy_warnings(Policy(rules=rules)) == ()
    assert policy_warnings(Policy(rules=rules, confidence_level=0.9)) == ()
    assert len(policy_warnings(Policy(rules=rules, confidence_level=0.8999))) == 1
    assert policy_warnings(Policy(rules=rules, block_on=("FAIL",), warn_on=("MANUAL_REVIEW",))) == (
        "the policy neither blocks nor warns on INSUFFICIENT_EVIDENCE",
    )
