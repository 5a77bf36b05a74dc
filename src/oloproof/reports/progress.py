"""A run without a verdict, in words: one that goes on, or that ended before it concluded anything."""

from __future__ import annotations

from msgspec import Struct

from oloproof.model.progress import Progress
from oloproof.reports.hints import Typed
from oloproof.reports.inert import inert
from oloproof.reports.shapes import Fact, Table
from oloproof.reports.view import system_text


class ProgressView(Struct, frozen=True, kw_only=True):
    """Ready to draw. ``told`` is how far it came; ``counts`` are the verdicts so far, a row a criterion."""

    project: str
    run_id: str
    status: str
    told: str
    inspect: str
    facts: tuple[Fact, ...]
    counts: Table
    next_step: Fact


def progress_view(found: Progress, *, config: str = "") -> ProgressView:
    """Counts alone: no estimate, no interval and no verdict before the end, so that nobody stops when they look good.

    ``config`` is the configuration as it must be named in a command, "" where it need not be.
    """
    run = found.run
    typed = Typed(inert(run.id), config)
    return ProgressView(
        project=inert(run.project),
        run_id=inert(run.id),
        status=run.status.replace("_", " "),
        told=f"{found.attempts:,} of {f'{found.of:,}' if found.of else '?'} {run.unit}",
        inspect=typed("inspect"),
        facts=(
            Fact("run", inert(run.id)),
            Fact("project", inert(run.project)),
            Fact("system", system_text(run)),
            Fact("started", inert(run.started_at)),
        ),
        counts=Table(
            "criteria so far",
            ("criterion", "passed", "failed", "missing", "excluded"),
            tuple(
                (inert(name), *(f"{count:,}" for count in (tally.passed, tally.failed, tally.missing, tally.excluded)))
                for name, tally in zip(run.criteria, found.tallies, strict=True)
            ),
        ),
        next_step=_next_step(found, typed),
    )


def _next_step(found: Progress, typed: Typed) -> Fact:
    run = found.run
    when = "if its process is gone" if run.status == "running" else "the run did not complete"
    if run.system.is_recorded:
        return Fact(f"{when}, judge the recordings again", typed.project("judge"))
    return Fact(f"{when}, complete it", typed.project("run", "--resume", inert(run.id)))
