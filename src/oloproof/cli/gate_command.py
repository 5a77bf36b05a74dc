"""``oloproof gate``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from oloproof import pipeline
from oloproof.cli.base_policy import base_policy_options, relaxed_from
from oloproof.cli.common import TEXT, Shown, config_option, report_options, show_report
from oloproof.errors import Problem, UsageError, did_you_mean
from oloproof.model.decision import Policy
from oloproof.pipeline.deciding import NOT_FOR_REVIEW
from oloproof.pipeline.world import find_run, open_store, real_ports
from oloproof.project import load


@click.command("gate")
@click.argument("run", default="latest")
@config_option
@click.option("--as-judged", is_flag=True, help="Decide with the configuration and policy stored with the run.")
@click.option("--approve", "approved", multiple=True, metavar="RULE", help="Approve a rule that asks for a person.")
@click.option("--by", type=TEXT, metavar="NAME", help="Who approves; printed in every report of the run.")
@base_policy_options
@report_options
def command(
    run: str,
    config: Path,
    as_judged: bool,
    approved: tuple[str, ...],
    by: str | None,
    base_policy: Path | None,
    fail_on_relaxed: bool,
    shown: Shown,
) -> None:
    """Decide a stored run again, under the policy at hand, without running or judging anything.

    \b
    Example:
      oloproof gate latest --approve no-deletion --by "A. Reviewer"
    """
    if bool(approved) != bool(by):
        raise UsageError(Problem("OLO607", "--approve RULE and --by NAME go together"))
    if by and not any(map(str.isalnum, by)):
        raise UsageError(Problem("OLO607", "--by names nobody", "write the name of who looked at the run"))
    approved = tuple(dict.fromkeys(approved))
    with open_store(config, create=False) as store:
        header = find_run(store, run, config)
        project = None if as_judged else load(config)
        policy = store.policy(header.id) if project is None else project.policy
        _refuse_unknown(approved, policy)
        place = None if project is None else config
        relaxed = relaxed_from(base_policy, policy, config=place, fail=fail_on_relaxed)
        report = pipeline.gate(header, project, real_ports(store), approve=approved, by=by or "")
        report = pipeline.beside_base(report, relaxed or (), fail=fail_on_relaxed)
        show_report(report, store, config=config, shown=shown)
    sys.exit(report.gate.exit_code)


def _refuse_unknown(approved: tuple[str, ...], policy: Policy | None) -> None:
    rules = [] if policy is None else [rule.id for rule in policy.rules]
    unknown = [rule for rule in approved if rule not in rules]
    if unknown:
        raise UsageError(
            Problem(
                NOT_FOR_REVIEW,
                f"--approve {rule!r}: the policy has no such rule",
                did_you_mean(rule, rules, otherwise="the policy's rules are") or "there is no policy",
            )
            for rule in unknown
        )
