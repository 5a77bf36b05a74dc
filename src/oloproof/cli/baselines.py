"""What a run may be compared with: a run of the store, or a file that one was saved to."""

from __future__ import annotations

from pathlib import Path

from oloproof import pipeline
from oloproof.errors import Problem, UsageError
from oloproof.pipeline import Baseline
from oloproof.pipeline.world import find_run
from oloproof.store import Store, codes, read_baseline


def baseline_named(store: Store, name: str, config: Path) -> Baseline:
    """The file of this name, if there is one; otherwise the run."""
    path = Path(name)
    if path.is_file():
        return read_baseline(path)
    if path.suffix == ".json":
        hint = "`oloproof baseline save -o FILE` writes one; without .json, a run is meant: latest~1"
        raise UsageError(Problem(codes.NO_RUN, f"there is no baseline file {name!r}", hint))
    return pipeline.complete(find_run(store, name, config))
