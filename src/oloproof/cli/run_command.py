"""``oloproof run``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from oloproof import pipeline
from oloproof.cli.asked import OPTIONS, Asked, words_again
from oloproof.cli.common import COUNT, TEXT, Amount, OutputFile, Shown, config_option, given, report_options
from oloproof.cli.conducting import Door, conduct
from oloproof.cli.rehearsal import rehearse
from oloproof.cli.streaming import json_events_option
from oloproof.errors import MOST_PROBLEMS, Problem, UsageError, did_you_mean
from oloproof.model.case import Case
from oloproof.model.project import METADATA_PREFIX, MOST_TRIALS, CallableSystem, Project
from oloproof.model.run import Run
from oloproof.model.selection import MetadataValue, Selection
from oloproof.model.slice_values import NONE
from oloproof.pipeline.world import find_run, open_store
from oloproof.project import Cases, load, read_cases

AMOUNT = Amount(min=0, min_open=True, max=1e9)
"""Of money or of time."""


@click.command("run")
@config_option
@click.option(
    "--case", "case_ids", type=TEXT, multiple=True, metavar="ID", help="Run only this case (repeatable). Never gates."
)
@click.option(
    "--failed",
    type=TEXT,
    metavar="RUN",
    help="Run only the cases that failed, or lack a verdict, in this run. Never gates.",
)
@click.option("--slice", "slice_text", metavar="metadata.KEY=VALUE", help="Run only these cases. Never gates.")
@click.option("--limit", type=COUNT, metavar="N", help="Run only the first cases. Never gates.")
@click.option(
    "--concurrency",
    type=click.IntRange(min=1, max=1024),
    metavar="N",
    help="Cases at a time, instead of what the project says.",
)
@click.option(
    "--trials",
    type=click.IntRange(min=1, max=MOST_TRIALS),
    metavar="N",
    help="How often each case is tried, instead of what the project says.",
)
@click.option(
    "--baseline",
    metavar="BASELINE",
    help="Compare with this run (an id, latest~1) or baseline file, for the rules that compare.",
)
@click.option(
    "--stop-early/--no-stop-early", default=None, help="End the run once its verdict is settled; default: the policy's."
)
@click.option(
    "--seed", type=click.IntRange(min=0, max=2**63 - 1), metavar="N", help="Draws the launch order with --stop-early."
)
@click.option("--no-gate", is_flag=True, help="Report without deciding; exit 0.")
@click.option("--in-process", is_flag=True, help="Run the system in this process, for a debugger. Never gates.")
@click.option(
    "--reuse", is_flag=True, help="Take over what earlier runs of this version of the system did, and judge it anew."
)
@click.option("--run-id-file", type=OutputFile(), help="Write the run's id to this file when it starts.")
@click.option(
    "--resume",
    "resumed",
    type=TEXT,
    metavar="RUN",
    help="Complete this run, which was cut short; start no other.",
)
@click.option(
    "--max-cost-usd", type=AMOUNT, metavar="USD", help="Launch nothing more once the recorded cost has come to this."
)
@click.option(
    "--max-wall-s", type=AMOUNT, metavar="SECONDS", help="Launch nothing more once the run has taken so many seconds."
)
@click.option(
    "--retry-errors", is_flag=True, help="Also make attempts again that ended with an error; what they settled stands."
)
@click.option("--resume-changed", is_flag=True, help="Also where something has changed since. Never gates.")
@json_events_option
@report_options
@click.pass_context
def command(
    context: click.Context,
    /,
    config: Path,
    failed: str | None,
    concurrency: int | None,
    run_id_file: Path | None,
    resumed: str | None,
    max_cost_usd: float | None,
    max_wall_s: float | None,
    retry_errors: bool,
    resume_changed: bool,
    json_events: bool,
    shown: Shown,
    **_: Any,
) -> None:
    """Run the system over the dataset, judge, measure and gate.

    \b
    Example:
      oloproof run --markdown report.md
    """
    was = _cut_short(context, resumed, config)
    asked = Asked.of(context.params if was is None else words_again(command, was.asked))
    project = load(config, trials=asked.trials)
    if failed is not None:
        asked = replace(asked, case_ids=(*asked.case_ids, *_failed_in(failed, config, project)))
    _refuse_in_process(asked, project, json_events=json_events)
    request = replace(
        asked.request(),
        concurrency=concurrency,
        resume=None if was is None else _resumption(was, changed_too=resume_changed, retry_errors=retry_errors),
        budget=pipeline.Budget(cost_usd=max_cost_usd, wall_s=max_wall_s),
    )
    cases = None if project.dataset is None else _cases(project, request.selection)
    stops_early = pipeline.wished(project, request) is not None
    rehearse(project, cases, shown, stops_early=stops_early)
    door = Door(config=config, shown=shown, run_id_file=run_id_file, json_events=json_events, baseline=asked.baseline)
    conduct(project, cases, request, door, words=asked.words)


def _cut_short(context: click.Context, name: str | None, config: Path) -> Run | None:
    """The run that is to be resumed, which says itself what is run; None where one begins."""
    said = given(context)
    if name is None:
        for option in ("--resume-changed", "--retry-errors"):
            if option in said:
                raise UsageError(Problem("OLO417", f"{option} goes with --resume RUN"))
        return None
    again = [option for option in said if option in (*OPTIONS, "--failed")]
    if again:
        what = f"{' and '.join(again)}: a run that is resumed is asked for what it was asked for at first"
        raise UsageError(Problem("OLO417", what, "leave it out"))
    with open_store(config, create=False) as store:
        return find_run(store, name, config)


def _failed_in(name: str, config: Path, project: Project) -> tuple[str, ...]:
    """The cases with a verdict of that run that is a fail or missing, as far as the dataset still has them.

    Errors: UsageError where there is none: running everything instead would not say so.
    """
    with open_store(config, create=False) as store:
        run = find_run(store, name, config)
        found = dict.fromkeys(
            attempt.case_id for attempt in store.verdicts(run.id) if not {"f", "m"}.isdisjoint(attempt.codes)
        )
    if project.dataset is not None and found:
        known = {case.id for case in read_cases(project)}
        found = {case_id: None for case_id in found if case_id in known}
    if not found:
        raise UsageError(Problem("OLO603", f"--failed: in run {run.id} no case of the dataset failed", "leave it out"))
    return tuple(found)


def _resumption(was: Run, *, changed_too: bool, retry_errors: bool) -> pipeline.Resumption:
    return pipeline.Resumption(run=was.id, changed_too=changed_too, retry_errors=retry_errors)


def _refuse_in_process(asked: Asked, project: Project, *, json_events: bool) -> None:
    if asked.in_process and not isinstance(project.system.kind, CallableSystem):
        raise UsageError(Problem("OLO623", "--in-process is for a callable, and this system is none"))
    if asked.in_process and json_events:
        raise click.UsageError("--in-process prints where the system prints, and --json-events has stdout for itself")


def _cases(project: Project, selection: Selection) -> Cases:
    """The dataset, in which everything that was chosen is there."""
    cases = read_cases(project)
    with pipeline.problems_told(project):
        if selection.case_ids:
            _refuse_unknown(selection.case_ids, {case.id for case in cases})
        _refuse_empty(selection.slice, cases)
    return cases


def _refuse_unknown(case_ids: tuple[str, ...], known: set[str]) -> None:
    unknown = [case_id for case_id in case_ids if case_id not in known]
    if unknown:
        raise UsageError(
            Problem("OLO603", f"--case {case_id!r}: the dataset has no such case", did_you_mean(case_id, known))
            for case_id in unknown
        )


def _refuse_empty(chosen: MetadataValue | None, cases: Iterable[Case]) -> None:
    """A slice that holds no case is a typing error, and running nothing would not say so."""
    if chosen is None or any(map(chosen.holds, cases)):
        return
    support = Counter(chosen.of(case) for case in cases)
    known = [value for value, _ in support.most_common(MOST_PROBLEMS)]
    hint = did_you_mean(chosen.value, known) or f"the values are: {', '.join(known)}"
    if known == [NONE]:  # no case has such a key
        hint = did_you_mean(chosen.name, _metadata_names(cases), otherwise="the cases have") or hint
    raise UsageError(Problem("OLO603", f"--slice {chosen}: the dataset has no such case", hint))


def _metadata_names(cases: Iterable[Case]) -> list[str]:
    """What lies in the metadata of some case, down to two keys, as it is named; the first fifty."""
    found: dict[str, None] = {}
    for case in cases:
        for key, value in case.metadata.items():
            inner = [f"{key}.{each}" for each in value] if isinstance(value, dict) else []
            found.update(dict.fromkeys(f"{METADATA_PREFIX}{name}" for name in inner or [key]))
        if len(found) >= MOST_PROBLEMS:
            break
    return list(found)[:MOST_PROBLEMS]
