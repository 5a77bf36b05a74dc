"""``oloproof inspect``."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Literal

import click

from oloproof import pipeline
from oloproof.cli.common import (
    COUNT,
    TEXT,
    Shown,
    config_option,
    given,
    named_config,
    print_json,
    print_rendered,
    report_options,
    show_report,
    verdict_rows,
)
from oloproof.errors import Problem, UsageError, with_article
from oloproof.model.judgment import WORDS
from oloproof.model.run import CaseRecord, Report, Run
from oloproof.pipeline.world import find_run, open_store
from oloproof.reports.document import encode, report_document
from oloproof.reports.inert import inert_lines
from oloproof.reports.lists import TrialVerdicts
from oloproof.store import Store

Listing = Literal["failures", "missing", "verdicts"]
LISTED = {"failures": "fail", "missing": "missing"}

VIEWS = {
    "--case": {"--trial", "--all-steps", "--json"},
    "--failures": {"--json", "--csv"},
    "--missing": {"--json", "--csv"},
    "--verdicts": {"--json", "--csv"},
    "--log": set[str](),
    "--report": set[str](),
    "": {"--json", "--markdown", "--junit", "--sarif", "--tap", "--html", "--github", "--slices"},
}
"""What can be shown instead of the report (""), and the options that each of them has."""


@click.command("inspect")
@click.argument("run", default="latest")
@config_option
@click.option(
    "--case", "case_id", type=TEXT, metavar="ID", help="One case: its numbered steps, with the offending marked."
)
@click.option("--trial", type=COUNT, help="Which attempt at --case; default: the first that failed, else the first.")
@click.option("--all-steps", is_flag=True, help="With --case: every step, however many there are.")
@click.option("--failures", is_flag=True, help="The verdicts that failed, with the reason and the steps.")
@click.option("--missing", is_flag=True, help="The verdicts that are missing, with the reason.")
@click.option("--verdicts", is_flag=True, help="Every verdict; with --json a line each, with --csv a spreadsheet.")
@click.option("--log", "log", is_flag=True, help="What user code printed outside of any case.")
@click.option("--report", "plugin", type=TEXT, metavar="NAME", help="The report as an installed plug-in writes it.")
@click.option("--csv", "as_csv", is_flag=True, help="With --verdicts, --failures or --missing: CSV on stdout.")
@report_options
@click.pass_context
def command(
    context: click.Context,
    run: str,
    config: Path,
    case_id: str | None,
    trial: int | None,
    all_steps: bool,
    failures: bool,
    missing: bool,
    verdicts: bool,
    log: bool,
    plugin: str | None,
    as_csv: bool,
    shown: Shown,
) -> None:
    """Show a run, its failing cases, or one case step by step.

    RUN is an id, a unique part of one, latest (default) or latest~2.

    \b
    Example:
      oloproof inspect latest --case case_012
    """
    _refuse_ignored(given(context))
    with open_store(config, create=False) as store:
        header = find_run(store, run, config)
        if case_id is not None:
            trials = _trials(store, header, case_id) if header.trials > 1 or header.reruns else []
            record = store.case(header.id, case_id, trial or _telling(trials))
            _show_case(record, trials, as_json=shown.as_json, all_steps=all_steps)
        elif plugin is not None:
            _show_plugged_in(pipeline.stored_report(store, header, store.policy(header.id)), plugin)
        elif log:
            sys.stdout.writelines(f"{line}\n" for line in inert_lines(store.log(header.id)))
        elif failures or missing or verdicts:
            listing: Listing = "failures" if failures else "missing" if missing else "verdicts"
            _show_verdicts(store, header, listing, as_json=shown.as_json, as_csv=as_csv, config=config)
        else:
            report = pipeline.stored_report(store, header, store.policy(header.id))
            show_report(report, store, config=config, shown=shown)


def _refuse_ignored(given: list[str]) -> None:
    """Whoever asks for two things at once gets neither, rather than one of them."""
    views = [option for option in given if option in VIEWS]
    others = [option for option in given if option not in VIEWS and option != "--config"]
    problems = []
    if len(views) > 1:
        problems.append(Problem("OLO609", f"{' and '.join(views)} do not go together", "ask for one at a time"))
    else:
        allowed = VIEWS[views[0] if views else ""]
        for option in others:
            if option not in allowed:
                fitting = " or ".join(view or "the report alone" for view in VIEWS if option in VIEWS[view])
                problems.append(Problem("OLO609", f"{option} goes with {fitting}"))
        if not problems and {"--json", "--csv"} <= set(others):
            problems.append(Problem("OLO609", "--json and --csv do not go together", "ask for one of them"))
    if problems:
        raise UsageError(problems)


def _trials(store: Store, header: Run, case_id: str) -> list[TrialVerdicts]:
    """Every attempt at the case."""
    rows = sorted((row for row in store.verdicts(header.id) if row.case_id == case_id), key=lambda row: row.trial)
    return [
        TrialVerdicts(
            trial=row.trial,
            rerun=row.trial > header.trials,
            verdicts=tuple(zip(header.criteria, map(WORDS.__getitem__, row.codes), strict=True)),
        )
        for row in rows
    ]


def _telling(trials: list[TrialVerdicts]) -> int:
    """The first trial that failed, else the first."""
    return next((each.trial for each in trials if any(word == "fail" for _, word in each.verdicts)), 1)


def _show_case(record: CaseRecord, trials: list[TrialVerdicts], *, as_json: bool, all_steps: bool) -> None:
    if as_json:
        from oloproof.reports.document import case_document

        print_json(case_document(record, trials, alignments=pipeline.alignments(record)))
    else:
        from oloproof.reports import terminal
        from oloproof.reports.case import case_view
        from oloproof.reports.lists import trials_table

        if len(trials) > 1:
            print_rendered(partial(terminal.render_table, trials_table(trials)))
            print(f"trial {record.attempt.trial}; --trial N shows another\n")
        view = case_view(record, alignments=pipeline.alignments(record), all_steps=all_steps)
        print_rendered(partial(terminal.render_case, view))


def _show_plugged_in(report: Report, name: str) -> None:
    """What the plug-in makes of the report's document, a copy of it. Its code runs here, where nothing is decided."""
    from oloproof.plugins import failed, loaded

    plugin, render = loaded("reports", name, ())
    try:
        text = render(json.loads(encode(report_document(report))))
        if not isinstance(text, str):
            raise TypeError(f"it returned {with_article(type(text).__name__)}, not text")
    except BaseException as error:
        raise failed(plugin, "failed", error) from error
    sys.stdout.write(text)


def _show_verdicts(store: Store, header: Run, listing: Listing, *, as_json: bool, as_csv: bool, config: Path) -> None:
    rows = verdict_rows(store, header)
    if as_json or as_csv:
        from oloproof.reports import document

        listed = (row for row in rows if listing == "verdicts" or row.verdict == LISTED[listing])
        sys.stdout.writelines(document.verdict_csv(listed) if as_csv else document.verdict_lines(listed))
        return
    from oloproof.reports import terminal
    from oloproof.reports.hints import Typed
    from oloproof.reports.lists import failure_table, missing_table, verdict_table

    if listing == "verdicts":
        print_rendered(partial(terminal.render_table, verdict_table(rows)))
        return
    kept, missing = [], 0
    for row in rows:
        missing += row.verdict == "missing"
        if row.verdict == LISTED[listing]:
            kept.append(row)
    table = failure_table(kept) if listing == "failures" else missing_table(kept)
    print_rendered(partial(terminal.render_table, table))
    if listing == "failures" and missing:
        told = "1 verdict is missing" if missing == 1 else f"{missing:,} verdicts are missing"
        print(f"{told}: {Typed(header.id, named_config(config))('inspect', '--missing')}")
