"""``oloproof compare``."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import click

from oloproof import pipeline
from oloproof.cli.baselines import baseline_named, concluded
from oloproof.cli.common import (
    config_option,
    find_run,
    json_option,
    named_config,
    open_store,
    print_json,
    print_rendered,
)
from oloproof.model.comparison import Membership, Sides
from oloproof.project import load
from oloproof.reports.comparison import comparison_notes, comparison_tables
from oloproof.reports.document import comparison_report_document
from oloproof.reports.inert import inert
from oloproof.reports.view import view


@click.command("compare")
@click.argument("candidate")
@click.argument("baseline")
@config_option
@click.option(
    "--membership",
    type=click.Choice(["candidate", "baseline", "both"]),
    default="candidate",
    show_default=True,
    help="Whose slice values group the pairs, where the two runs differ.",
)
@click.option("--no-gate", is_flag=True, help="Report without deciding; exit 0.")
@json_option
def command(candidate: str, baseline: str, config: Path, membership: Membership, no_gate: bool, as_json: bool) -> None:
    """Compare a run with another one, or with a baseline file, case by case.

    The policy's rules that compare are decided; the others are `oloproof gate`'s.

    \b
    Example:
      oloproof compare latest latest~1
    """
    project = load(config)
    policy = None if no_gate else project.policy
    with open_store(config, create=False) as store:
        header = concluded(find_run(store, candidate, config))
        was = baseline_named(store, baseline, config)
        accepted = policy.accept_changed_cases if policy else ()
        comparison = pipeline.compare(store, header, was, accepted=accepted, membership=membership)
        report = pipeline.comparison_report(store, header, comparison, policy, gated=not no_gate)
        partings = {} if as_json else pipeline.partings(store, header, was, comparison)
    if as_json:
        print_json(comparison_report_document(report))
    else:
        from oloproof.reports import terminal

        drawn = view(report, config=named_config(config))
        print(f"candidate {inert(comparison.candidate)}\nbaseline  {inert(comparison.baseline)}")
        print(
            f"{comparison.pairs} cases of the baseline; intervals by Tango's score, {report.run.interval.level:.0%}\n"
        )
        if header.stopping is not None and header.stopping.after is not None:
            print("  the candidate stopped early: the cases that it left out are missing pairs")
        if header.clustered:
            print("  cases belong to clusters: the intervals take them as independent, and are too narrow")
        for note in comparison_notes(comparison):
            print(f"  {note}")
        if isinstance(was, Sides):
            print("  a baseline file keeps no calls: compare with a run to see where they part")
        for table in comparison_tables(report, partings):
            print_rendered(partial(terminal.render_table, table))
        for warning in report.warnings:
            print(f"warning: {inert(warning)}")
        for decision in drawn.decisions:
            print(f"{decision.rule}: {decision.state}: {decision.words}")
        print(drawn.gate)
    sys.exit(report.gate.exit_code)
