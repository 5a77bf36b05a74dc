"""``oloproof gate``."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from msgspec.structs import replace

from oloproof import pipeline
from oloproof.cli.common import config_option, find_run, open_store, real_ports, report_options, show_report
from oloproof.errors import Problem, UsageError
from oloproof.model.run import Run
from oloproof.project import load


@click.command("gate")
@click.argument("run", default="latest")
@config_option
@click.option("--as-judged", is_flag=True, help="Decide with the configuration and policy stored with the run.")
@click.option("--approve", "approved", multiple=True, metavar="RULE", help="Approve a rule that asks for a person.")
@click.option("--by", metavar="NAME", help="Who approves; printed in every report of the run.")
@report_options
def command(
    run: str,
    config: Path,
    as_judged: bool,
    approved: tuple[str, ...],
    by: str | None,
    as_json: bool,
    markdown: Path | None,
    junit: Path | None,
) -> None:
    """Decide a stored run again, under the policy at hand, without running or judging anything.

    \b
    Example:
      oloproof gate latest --approve no-deletion --by "A. Reviewer"
    """
    if bool(approved) != bool(by):
        raise UsageError(Problem(None, 0, 0, "OLO607", "--approve RULE and --by NAME go together"))
    with open_store(config, create=False) as store:
        header = replace(find_run(store, run, config), ungated_by_choice=False)
        if as_judged:
            policy = store.policy(header.id)
        else:
            project = load(config)
            _refuse_other_configuration(header, project.config_digest, config)
            header = replace(header, ungated_by_choice=project.policy_none)
            policy = project.policy
        report = pipeline.gate(header, policy, real_ports(store), approve=approved, by=by or "")
        show_report(report, store, as_json=as_json, markdown=markdown, junit=junit)
    sys.exit(report.gate.exit_code)


def _refuse_other_configuration(header: Run, digest: str, config: Path) -> None:
    if header.config_digest != digest:
        message = (
            f"run {header.id} was judged with configuration {header.config_digest[:12]}; this one is {digest[:12]}"
        )
        hint = "run again, or decide with what was stored: --as-judged"
        raise UsageError(Problem(str(config), 0, 0, "OLO606", message, hint))
