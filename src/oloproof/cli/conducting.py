"""What ``run`` and ``judge`` do once they know what is asked: run it, show the report, and exit with its verdict."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from msgspec import Struct
from msgspec.structs import replace

from oloproof import pipeline
from oloproof.cli.baselines import baseline_named
from oloproof.cli.common import Shown, show_report
from oloproof.cli.progress import watched
from oloproof.cli.streaming import streamed
from oloproof.model.project import Project
from oloproof.pipeline import Baseline, Request
from oloproof.pipeline.world import open_store, real_ports
from oloproof.project import Cases


class Door(Struct, frozen=True, kw_only=True):
    """Where the project is, and where what happens is told. ``baseline`` is the name of one, None without."""

    config: Path
    shown: Shown
    run_id_file: Path | None
    json_events: bool
    baseline: str | None


def conduct(
    project: Project,
    cases: Cases | None,
    request: Request,
    door: Door,
    *,
    words: Callable[[Baseline | None], tuple[str, ...]],
) -> NoReturn:
    """Run or judge, and exit. ``words`` are those of the command line that said which run it is, given what the name of
    the baseline means."""
    with (
        streamed(door.json_events, door.shown) as stream,
        open_store(door.config, create=True) as store,
        watched(door.run_id_file, stream=stream) as watch,
    ):
        baseline = baseline_named(store, door.baseline, door.config) if door.baseline else None
        if baseline is not None and cases is not None and not request.selection:
            pipeline.refuse_incomparable(store, baseline, project, cases)
        request = replace(request, baseline=baseline, asked=words(baseline))
        report = pipeline.run(project, cases, request, real_ports(store), watch)
        watch.close()
        if stream is not None:
            stream.report = report
        show_report(report, store, config=door.config, shown=door.shown)
        sys.exit(report.gate.exit_code)
