"""How far a run came, also while another process writes it."""

from __future__ import annotations

from collections import Counter

from oloproof import metrics
from oloproof.model.progress import Progress
from oloproof.model.run import Run
from oloproof.store import Store


def progress(store: Store, run: Run) -> Progress:
    """What is stored of the run; no case is read."""
    codes = Counter(row.codes for row in store.verdicts(run.id) if row.trial <= run.trials)
    tallies = metrics.tallies(codes.items(), criteria=len(run.criteria))
    return Progress(run=run, attempts=codes.total(), of=run.cases * run.trials, tallies=tallies)
