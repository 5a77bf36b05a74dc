"""``oloproof plan``."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from pathlib import Path

import click

from oloproof import pipeline
from oloproof.cli.common import config_option, json_option, print_json, print_rendered
from oloproof.gates.outlook import MOST_CASES
from oloproof.gates.scenarios import Assumptions
from oloproof.model.run import Report
from oloproof.pipeline.planning import Wanted, run_plan, suite_plan
from oloproof.pipeline.world import find_run, open_store
from oloproof.project import load, read_cases
from oloproof.reports.plan import plan_blocks, plan_document

_DECIMAL = re.compile(r"-?(?:[0-9]{1,30}|[0-9]{0,30}\.[0-9]{1,30})")


def _share(text: str, *, lowest: int = 0) -> Fraction:
    """A share as it is written, from ``lowest`` to 1. Raises BadParameter, which click completes with the option."""
    share = Fraction(text) if _DECIMAL.fullmatch(text) else None
    if share is None or not lowest <= share <= 1:
        raise click.BadParameter(f"{text!r} is no share between {lowest} and 1; write 0.9 for 90 %")
    return share


def _truths(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> list[tuple[str, Fraction]]:
    """``0.9`` or ``METRIC=0.9``: the metric, "" for all, and the share."""
    parts = [value.rpartition("=") for value in values]
    return [(metric, _share(text)) for metric, _, text in parts]


def _proportion(_ctx: click.Context, _param: click.Parameter, value: str | None) -> float | None:
    return None if value is None else float(_share(value))


def _difference(_ctx: click.Context, _param: click.Parameter, value: str | None) -> float | None:
    return None if value is None else float(_share(value, lowest=-1))


@click.command("plan")
@click.argument("run", required=False)
@config_option
@click.option(
    "--cases", type=click.IntRange(min=1, max=MOST_CASES), metavar="N", help="Plan for so many cases instead."
)
@click.option(
    "--truth",
    "truths",
    multiple=True,
    callback=_truths,
    metavar="[METRIC=]RATE",
    help="Assume that so many cases pass in truth (repeatable).",
)
@click.option(
    "--discordant",
    callback=_proportion,
    metavar="SHARE",
    help="Assume that two runs disagree on so many of the pairs.",
)
@click.option(
    "--difference",
    callback=_difference,
    metavar="D",
    help="Assume that the candidate passes so much more often than the baseline.",
)
@click.option("--aa", is_flag=True, help="Also say how often the gate flips although nothing has changed.")
@json_option
def command(
    run: str | None,
    config: Path,
    cases: int | None,
    truths: list[tuple[str, Fraction]],
    discordant: float | None,
    difference: float | None,
    aa: bool,
    as_json: bool,
) -> None:
    """Say how likely each rule is to be settled, and by how many cases. Nothing is run.

    With RUN, that run's figures are taken for the truth, and what would settle its open rules is told.

    \b
    Example:
      oloproof plan --cases 200 --truth 0.9 --truth 0.95 --aa
    """
    assumed = Assumptions(
        truths=tuple(share for metric, share in truths if not metric),
        by_metric=_by_metric(truths),
        discordant=discordant,
        difference=difference,
    )
    wanted = Wanted(cases=cases, assumed=assumed, flips=aa)
    report = None if run is None else _report(run, config)
    if report is None:
        project = load(config)
        found = suite_plan(project, None if project.dataset is None else read_cases(project), wanted)
    else:
        found = run_plan(report, wanted)
    if as_json:
        print_json(plan_document(found, report))
        return
    from oloproof.reports import terminal

    for block in plan_blocks(found, report):
        print_rendered(partial(terminal.render_block, block.lines, block.table))


def _by_metric(truths: Iterable[tuple[str, Fraction]]) -> dict[str, tuple[Fraction, ...]]:
    shares: defaultdict[str, list[Fraction]] = defaultdict(list)
    for metric, share in truths:
        if metric:
            shares[metric].append(share)
    return {metric: tuple(found) for metric, found in shares.items()}


def _report(run: str, config: Path) -> Report:
    """The run's report, as it was decided; of a run without a gate, as the policy at hand would have it."""
    with open_store(config, create=False) as store:
        header = find_run(store, run, config)
        policy = store.policy(header.id)
        return pipeline.stored_report(store, header, load(config).policy if policy is None else policy)
