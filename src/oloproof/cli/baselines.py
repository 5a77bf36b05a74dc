"""What a run may be compared with: a run of the store, or a file that one was saved to."""

from __future__ import annotations

from pathlib import Path

from oloproof.cli.common import find_run
from oloproof.errors import BrokenError
from oloproof.model.run import Run
from oloproof.pipeline import Baseline
from oloproof.store import Store, read_baseline


def baseline_named(store: Store, name: str, config: Path) -> Baseline:
    """The file of this name, if there is one; otherwise the run."""
    path = Path(name)
    return read_baseline(path) if path.is_file() else complete(find_run(store, name, config))


def complete(run: Run) -> Run:
    """The run, if every case of it was run."""
    if run.status != "complete" or run.partial or run.in_process:
        why = f"partial ({run.partial})" if run.partial else "one for a debugger (--in-process)"
        what = run.status if run.status != "complete" else why
        raise BrokenError(f"run {run.id} is {what}", code="OLO622", hint="compare runs that are complete")
    return run
