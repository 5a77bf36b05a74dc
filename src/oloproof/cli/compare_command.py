"""``oloproof compare``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import click
from msgspec import Struct

from oloproof import pipeline
from oloproof.cli import actions
from oloproof.cli.baselines import baseline_named
from oloproof.cli.common import (
    OutputFile,
    config_option,
    github_option,
    json_option,
    junit_option,
    markdown_option,
    named_config,
    print_json,
    print_rendered,
    sarif_option,
    write_file,
)
from oloproof.errors import Problem, UsageError
from oloproof.model.comparison import Comparison, Membership
from oloproof.model.run import Report
from oloproof.pipeline import Baseline
from oloproof.pipeline.world import find_run, open_store
from oloproof.project import load
from oloproof.reports.comparison import comparison_notes, comparison_tables, pairs_text
from oloproof.reports.document import comparison_report_document
from oloproof.reports.inert import inert
from oloproof.reports.view import view
from oloproof.store import Store


@click.command("compare")
@click.argument("candidate", metavar="CANDIDATE", required=False)
@click.argument("baseline", metavar="BASELINE", required=False)
@config_option
@click.option(
    "--membership",
    type=click.Choice(["candidate", "baseline", "both"]),
    default="candidate",
    show_default=True,
    help="Whose slice values group the pairs, where the two runs differ.",
)
@click.option("--no-gate", is_flag=True, help="Report without deciding; exit 0.")
@click.option("--html", type=OutputFile(), help="Also write one HTML file that opens offline.")
@markdown_option
@junit_option
@sarif_option
@github_option
@click.option("--no-content", is_flag=True, help="With --html: leave inputs, outputs, arguments and results out.")
@json_option
def command(
    candidate: str | None,
    baseline: str | None,
    config: Path,
    membership: Membership,
    no_gate: bool,
    html: Path | None,
    markdown: Path | None,
    junit: Path | None,
    sarif: Path | None,
    github: bool,
    no_content: bool,
    as_json: bool,
) -> None:
    """Compare a run with another one, or with a baseline file, case by case.

    CANDIDATE is a run: an id, a unique part of one, latest or latest~1. BASELINE is another run, or a file that
    `oloproof baseline save` wrote.
    The policy's rules that compare are decided; the others are `oloproof gate`'s.

    \b
    Example:
      oloproof compare latest latest~1
    """
    if candidate is None or baseline is None:
        raise click.UsageError("name two runs, or a run and a baseline file: oloproof compare latest latest~1")
    if no_content and html is None:
        raise UsageError(Problem("OLO720", "--no-content goes with --html FILE"))
    project = load(config)
    gated = not (no_gate or project.policy_none)
    policy = project.policy if gated else None
    with open_store(config, create=False) as store:
        header = pipeline.concluded(find_run(store, candidate, config))
        was = baseline_named(store, baseline, config)
        comparison = pipeline.compare(store, header, was, policy=policy, membership=membership)
        report = pipeline.comparison_report(store, header, comparison, policy, gated=gated)
        written = _Written(markdown=markdown, junit=junit, sarif=sarif, github=github)
        is_explained = not as_json or html is not None or written.is_any
        found = _Found(
            report=report,
            comparison=comparison,
            caveats=tuple(pipeline.caveats(header, was)),
            partings=pipeline.partings(store, header, was, comparison) if is_explained else {},
            config=config,
        )
        if html is not None:
            _write_page(html, found, store, was, content=not no_content)
        told = _write(written, found, store) if written.is_any else ()
    _print(found, as_json=as_json)
    actions.annotate(told, as_json=as_json)
    sys.exit(report.gate.exit_code)


class _Found(Struct, frozen=True, kw_only=True):
    """A comparison with everything that is told of it."""

    report: Report
    comparison: Comparison
    caveats: tuple[str, ...]
    partings: Mapping[str, str]
    config: Path

    @property
    def notes(self) -> tuple[str, ...]:
        """What is told above the tables."""
        return *self.caveats, *comparison_notes(self.comparison)


class _Written(Struct, frozen=True, kw_only=True):
    """In which forms that are drawn from a view a comparison is asked for."""

    markdown: Path | None
    junit: Path | None
    sarif: Path | None
    github: bool

    @property
    def is_any(self) -> bool:
        """Something is asked for."""
        return bool(self.markdown or self.junit or self.sarif or self.github)


def _write_page(path: Path, found: _Found, store: Store, baseline: Baseline, *, content: bool) -> None:
    from oloproof.pipeline.paging import changed_entries
    from oloproof.reports.html import comparison_page

    page = comparison_page(
        found.report,
        changed_entries(store, found.report, baseline, content=content),
        notes=found.notes,
        partings=found.partings,
        config=named_config(found.config),
        content=content,
    )
    write_file(path, page)


def _write(written: _Written, found: _Found, store: Store) -> tuple[str, ...]:
    """Write what is asked for; the annotations that are still to be printed."""
    report = found.report
    drawn = view(report, config=named_config(found.config))
    if written.markdown is not None or written.github:
        from oloproof.reports.markdown import render_comparison

        text = render_comparison(drawn, comparison_tables(report, found.partings), (pairs_text(report), *found.notes))
        if written.markdown is not None:
            write_file(written.markdown, [text])
        if written.github:
            actions.summarize(text)
    if written.junit is not None:
        from oloproof.reports.junit import comparison_junit

        write_file(written.junit, comparison_junit(drawn, found.comparison, found.partings))
    if written.sarif is None and not written.github:
        return ()
    from oloproof.cli.places import run_places
    from oloproof.reports.github import workflow_commands
    from oloproof.reports.remarks import comparison_remarks
    from oloproof.reports.sarif import comparison_sarif

    places = run_places(store, report.run, found.config)
    remarks = tuple(comparison_remarks(drawn, found.comparison, places, found.partings))
    if written.sarif is not None:
        write_file(written.sarif, comparison_sarif(drawn, remarks))
    return tuple(workflow_commands(remarks, inspect=drawn.inspect)) if written.github else ()


def _print(found: _Found, *, as_json: bool) -> None:
    report, comparison = found.report, found.comparison
    if as_json:
        print_json(comparison_report_document(report, found.caveats))
        return
    from oloproof.reports import terminal

    drawn = view(report, config=named_config(found.config))
    print(f"candidate {inert(comparison.candidate)}\nbaseline  {inert(comparison.baseline)}")
    print(pairs_text(report))
    if found.notes:
        print()
    for note in found.notes:
        print(f"  {note}")
    for table in comparison_tables(report, found.partings):
        print_rendered(partial(terminal.render_table, table))
    for warning in report.warnings:
        print(f"warning: {inert(warning)}")
    for decision in drawn.decisions:
        print(f"{decision.rule}: {decision.state}: {decision.words}")
    print(drawn.gate)
