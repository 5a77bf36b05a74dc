"""``oloproof inspect``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from oloproof import pipeline
from oloproof.cli.common import (
    config_option,
    find_run,
    open_store,
    print_json,
    print_rendered,
    report_options,
    show_report,
    verdict_rows,
)
from oloproof.errors import Problem, UsageError
from oloproof.model.run import Run
from oloproof.reports.view import CaseRecord, Table, VerdictRow
from oloproof.store import Store


@click.command("inspect")
@click.argument("run", default="latest")
@config_option
@click.option("--case", "case_id", metavar="ID", help="One case: its numbered steps, the offending ones marked.")
@click.option("--trial", type=click.IntRange(min=1), default=1, show_default=True, help="Which attempt at --case.")
@click.option("--failures", is_flag=True, help="The verdicts that failed, with the reason and the steps.")
@click.option("--verdicts", is_flag=True, help="Every verdict; with --json a line each, with --csv a spreadsheet.")
@click.option("--csv", "as_csv", is_flag=True, help="With --verdicts or --failures: CSV on stdout.")
@report_options
def command(
    run: str,
    config: Path,
    case_id: str | None,
    trial: int,
    failures: bool,
    verdicts: bool,
    as_csv: bool,
    as_json: bool,
    markdown: Path | None,
    junit: Path | None,
) -> None:
    """Show a run, its failing cases, or one case step by step.

    RUN is an id, a unique part of one, latest (default) or latest~2.

    \b
    Example:
      oloproof inspect latest --case case_012
    """
    if as_csv and not (verdicts or failures):
        raise UsageError(Problem(None, 0, 0, "OLO609", "--csv goes with --verdicts or --failures"))
    with open_store(config, create=False) as store:
        header = find_run(store, run, config)
        if case_id is not None:
            _show_case(store, header, case_id, trial=trial, as_json=as_json)
        elif failures or verdicts:
            rows = (row for row in verdict_rows(store, header) if verdicts or row.verdict == "fail")
            _show_verdicts(rows, title="verdicts" if verdicts else "failures", as_json=as_json, as_csv=as_csv)
        else:
            report = pipeline.stored_report(store, header, store.policy(header.id))
            show_report(report, store, as_json=as_json, markdown=markdown, junit=junit)


def _show_case(store: Store, header: Run, case_id: str, *, trial: int, as_json: bool) -> None:
    detail = store.case(header.id, case_id, trial)
    record = CaseRecord(
        run_id=header.id, case=detail.case, attempt=detail.attempt, judgments=tuple(detail.judgments.items())
    )
    if as_json:
        from oloproof.reports.document import case_document

        print_json(case_document(record))
    else:
        from oloproof.reports import terminal
        from oloproof.reports.case import case_view

        drawn = case_view(record)
        print_rendered(
            lambda width, color, encoding: terminal.render_case(drawn, width=width, color=color, encoding=encoding)
        )


def _show_verdicts(rows: Iterator[VerdictRow], *, title: str, as_json: bool, as_csv: bool) -> None:
    if as_json or as_csv:
        from oloproof.reports import document

        sys.stdout.writelines(document.verdict_csv(rows) if as_csv else document.verdict_lines(rows))
    else:
        from oloproof.reports import terminal
        from oloproof.reports.lists import verdict_table

        table: Table = verdict_table(rows, title=title)
        print_rendered(
            lambda width, color, encoding: terminal.render_table(table, width=width, color=color, encoding=encoding)
        )
