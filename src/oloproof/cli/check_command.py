"""``oloproof check``."""

from __future__ import annotations

from pathlib import Path

import click

from oloproof import pipeline
from oloproof.cli.common import config_option, json_option, print_json
from oloproof.project import load, read_cases
from oloproof.reports.inert import inert


@click.command("check")
@config_option
@json_option
def command(config: Path, as_json: bool) -> None:
    """Validate the project and say what each rule could decide. Nothing is run.

    \b
    Example:
      oloproof check --config examples/support_agent/oloproof.yaml
    """
    project = load(config)
    cases = None if project.dataset is None else read_cases(project)
    warnings = (*project.warnings, *(() if cases is None else cases.warnings))
    outlooks = () if cases is None else pipeline.outlooks(project, cases)
    count = None if cases is None else len(cases)
    criteria = [evaluator.criterion for evaluator in project.evaluators]
    if as_json:
        rules = [{"rule": outlook.rule, "cases": outlook.n, "outlook": outlook.text} for outlook in outlooks]
        print_json(
            {
                "format": "oloproof.check/v1",
                "project": project.name,
                "cases": count,
                "criteria": criteria,
                "rules": rules,
                "warnings": list(warnings),
            }
        )
        return
    known = "cases not known before they are recorded" if count is None else f"{count} cases"
    print(f"{inert(project.name)}: {known}, {len(criteria)} criteria, {len(project.metrics)} quantiles: all well")
    for outlook in outlooks:
        print(f"  {inert(outlook.rule)}: {outlook.text}")
    if project.policy is None:
        print("  not gated: there is no policy" if not project.policy_none else "  not gated: policy: none")
    for warning in warnings:
        print(f"  warning: {inert(warning)}")
