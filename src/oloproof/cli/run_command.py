"""``oloproof run``."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from pathlib import Path

import click
from msgspec.structs import replace

from oloproof import pipeline
from oloproof.cli.common import config_option, open_store, real_ports, report_options, show_report
from oloproof.cli.progress import watched
from oloproof.errors import Problem, UsageError
from oloproof.model.project import CallableSystem, Project
from oloproof.model.selection import Selection
from oloproof.project import load, read_cases


@click.command("run")
@config_option
@click.option("--case", "case_ids", multiple=True, metavar="ID", help="Run only this case (repeatable). Never gates.")
@click.option("--slice", "slice_text", metavar="metadata.KEY=VALUE", help="Run only these cases. Never gates.")
@click.option("--limit", type=click.IntRange(min=1), help="Run only the first cases. Never gates.")
@click.option("--concurrency", type=click.IntRange(min=1), help="Cases at a time, instead of what the project says.")
@click.option("--no-gate", is_flag=True, help="Report without deciding; exit 0.")
@click.option("--in-process", is_flag=True, help="Run the system in this process, for a debugger. Never gates.")
@click.option("--run-id-file", type=click.Path(path_type=Path), help="Write the run's id to this file when it starts.")
@report_options
def command(
    config: Path,
    case_ids: tuple[str, ...],
    slice_text: str | None,
    limit: int | None,
    concurrency: int | None,
    no_gate: bool,
    in_process: bool,
    run_id_file: Path | None,
    as_json: bool,
    markdown: Path | None,
    junit: Path | None,
) -> None:
    """Run the system over the dataset, judge, measure and gate.

    \b
    Example:
      oloproof run --markdown report.md
    """
    project = load(config)
    selection = Selection(case_ids=case_ids, slice=_parsed_slice(slice_text), limit=limit)
    request = pipeline.Request(selection=selection, gated=not no_gate, in_process=in_process)
    cases = None if project.dataset is None else read_cases(project)
    if cases is not None:
        _refuse_unknown(case_ids, {case.id for case in cases})
    with open_store(config, create=True) as store, watched(run_id_file) as watch:
        if cases is not None and isinstance(project.system.kind, CallableSystem):
            project = _with_concurrency(project, project.system.kind, concurrency)
            report = pipeline.run(project, cases, request, real_ports(store), watch)
        else:
            report = pipeline.judge(project, cases, request, real_ports(store), watch)
        watch.close()
        show_report(report, store, as_json=as_json, markdown=markdown, junit=junit)
    sys.exit(report.gate.exit_code)


def _with_concurrency(project: Project, system: CallableSystem, concurrency: int | None) -> Project:
    if concurrency is None:
        return project
    return replace(project, system=replace(project.system, kind=replace(system, concurrency=concurrency)))


def _refuse_unknown(case_ids: tuple[str, ...], known: set[str]) -> None:
    unknown = [case_id for case_id in case_ids if case_id not in known]
    if unknown:
        raise UsageError(
            Problem(None, 0, 0, "OLO603", f"--case {case_id!r}: the dataset has no such case", _nearest(case_id, known))
            for case_id in unknown
        )


def _nearest(case_id: str, known: set[str]) -> str:
    close = get_close_matches(case_id, known, 1)
    return f"did you mean {close[0]!r}?" if close else ""


def _parsed_slice(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    name, equals, value = text.partition("=")
    if not equals or not name.startswith("metadata."):
        hint = "only metadata is known before a case has run"
        raise UsageError(Problem(None, 0, 0, "OLO601", f"--slice {text!r} is not metadata.KEY=VALUE", hint))
    return name, value
