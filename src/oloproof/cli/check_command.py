"""``oloproof check``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from oloproof import gates, pipeline
from oloproof.cli.base_policy import base_policy_options, relaxed_from
from oloproof.cli.common import config_option, json_option, print_json
from oloproof.errors import ExitCode, counted
from oloproof.model.project import Project
from oloproof.project import load, read_cases
from oloproof.reports.document import check_document
from oloproof.reports.inert import TEXT_LIMIT, inert


@click.command("check")
@config_option
@base_policy_options
@json_option
def command(config: Path, base_policy: Path | None, fail_on_relaxed: bool, as_json: bool) -> None:
    """Validate the project and say what each rule could decide. Nothing is run.

    \b
    Example:
      oloproof check --config examples/support_agent/oloproof.yaml
    """
    project = load(config)
    relaxed = relaxed_from(base_policy, project.policy, config=config, fail=fail_on_relaxed)
    cases = None if project.dataset is None else read_cases(project)
    pipeline.Redacting.of(project).refuse_cases(cases or ())
    early = () if cases is None else pipeline.early_outlook(project, cases)
    outlooks = () if cases is None else pipeline.outlooks(project, pipeline.followed_policy(project), cases)
    about_policy = _about_policy(project, outlooks)
    warnings = (*project.warnings, *about_policy, *(() if cases is None else cases.warnings))
    count = None if cases is None else len(cases)
    criteria = [evaluator.criterion for evaluator in project.evaluators]
    code = ExitCode.MANUAL_REVIEW if fail_on_relaxed and relaxed else ExitCode.ALLOW
    if as_json:
        document = check_document(
            project.name,
            cases=count,
            criteria=criteria,
            rules=outlooks,
            warnings=warnings,
            early_stopping=early,
            relaxed=relaxed,
        )
        print_json(document)
        sys.exit(code)
    known = "cases not known before they are recorded" if count is None else counted(count, "case")
    print(
        f"{inert(project.name)}: {known}, {counted(len(criteria), 'criterion', 'criteria')},"
        f" {counted(len(project.metrics), 'quantile')}: no problems,"
        f" {counted(len(warnings), 'warning')}; the system was not loaded"
    )
    for outlook in outlooks:
        print(f"  {inert(outlook.rule)}: {outlook.text}")
    for line in early:
        print(f"  {inert(line, TEXT_LIMIT)}")
    if project.policy is None:
        print("  not gated: there is no policy" if not project.policy_none else "  not gated: policy: none")
    for warning in warnings:
        print(f"  warning: {inert(warning)}")
    for problem in relaxed or ():
        print(f"  relaxed: {inert(str(problem), TEXT_LIMIT)}")
    if relaxed == ():
        print(f"  nothing was relaxed against {inert(str(base_policy))}")
    sys.exit(code)


def _about_policy(project: Project, outlooks: Sequence[gates.Outlook]) -> Iterator[str]:
    """What the author of the policy should know of it."""
    if project.policy is None:
        return
    yield from gates.policy_warnings(project.policy)
    quantiles, sizes = {spec.id for spec in project.metrics}, {each.rule: each.n for each in outlooks}
    yield from gates.never_failing(project.policy, sizes=sizes, quantiles=quantiles)
