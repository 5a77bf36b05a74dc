"""What a run may be compared with: a run of the store, or a file that one was saved to."""

from __future__ import annotations

from pathlib import Path

from oloproof.cli.common import find_run
from oloproof.errors import BrokenError, Problem, UsageError
from oloproof.model.run import Run
from oloproof.pipeline import Baseline
from oloproof.store import Store, read_baseline


def baseline_named(store: Store, name: str, config: Path) -> Baseline:
    """The file of this name, if there is one; otherwise the run."""
    path = Path(name)
    if path.is_file():
        return read_baseline(path)
    if path.suffix == ".json":
        hint = "`oloproof baseline save -o FILE` writes one; without .json, a run is meant: latest~1"
        raise UsageError(Problem("OLO611", f"there is no baseline file {name!r}", hint))
    return complete(find_run(store, name, config))


def complete(run: Run) -> Run:
    """The run, if every case of it was run."""
    if run.status == "stopped_early":
        hint = "run every case of it: `oloproof run --no-stop-early`"
        raise BrokenError(f"run {run.id} stopped early, and a baseline needs every case", code="OLO653", hint=hint)
    return concluded(run)


def concluded(run: Run) -> Run:
    """The run, if it came to its end. One that stopped early did: the cases that it left out are missing pairs."""
    if not run.is_concluded or run.partial or run.in_process or run.changed:
        why = f"partial ({run.partial})" if run.partial else "one for a debugger (--in-process)"
        why = f"one of several parts: {'; '.join(run.changed)}" if run.changed else why
        what = why if run.is_concluded else run.status
        raise BrokenError(f"run {run.id} is {what}", code="OLO622", hint="compare runs that are complete")
    return run
