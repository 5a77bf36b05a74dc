"""How far a run came, also while another process writes it."""

from __future__ import annotations

from collections import Counter

from oloproof.model.judgment import WORDS
from oloproof.model.progress import Progress
from oloproof.model.run import Run
from oloproof.model.tally import Tally
from oloproof.store import Store

_FIELDS = {"pass": "passed", "fail": "failed", "missing": "missing", "excluded": "excluded"}


def progress(store: Store, run: Run) -> Progress:
    """What is stored of the run; no case is read."""
    counts: list[Counter[str]] = [Counter() for _ in run.criteria]
    attempts = 0
    for row in store.verdicts(run.id):
        if row.trial > run.trials:
            continue
        attempts += 1
        for counter, letter in zip(counts, row.codes, strict=True):
            counter[letter] += 1
    tallies = tuple(Tally(**{_FIELDS[WORDS[letter]]: count for letter, count in each.items()}) for each in counts)
    return Progress(run=run, attempts=attempts, of=run.cases * run.trials, tallies=tallies)
