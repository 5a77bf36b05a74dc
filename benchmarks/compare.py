"""`oloproof compare`: two stored runs of 20,000 cases with 50 slices and 6 criteria."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from random import Random

from measure import OLOPROOF, cost, row

from oloproof.metrics import Measurement
from oloproof.model.case import Attempt, Case
from oloproof.model.judgment import Judgment
from oloproof.model.project import SliceSpec
from oloproof.model.reading import Reading
from oloproof.model.run import Run, SystemIdentity
from oloproof.model.trajectory import Trajectory
from oloproof.store import Store, stored_case

CASES, SLICES, CRITERIA = 20_000, 50, 6


def write_run(store: Store, name: str, seed: int) -> None:
    dice = Random(seed)
    criteria = tuple(f"criterion_{number}" for number in range(CRITERIA))
    specs = [SliceSpec(kind="metadata", name=f"metadata.k{at}", path=(f"k{at}",)) for at in range(SLICES)]
    header = Run(
        id=name,
        project="large",
        system=SystemIdentity(name="large"),
        status="complete",
        started_at="2026-11-30T00:00:00Z",
        finished_at="2026-11-30T00:00:01Z",
        cases=CASES,
        criteria=criteria,
        slices=tuple(spec.name for spec in specs),
        dataset_digest="the same",
    )
    store.begin(header)
    measurement = Measurement(criteria, (), specs)
    rows = []
    for number in range(CASES):
        case = Case(id=f"case_{number:05d}", metadata={f"k{at}": f"v{(number + at) % 7}" for at in range(SLICES)})
        judgments = tuple(Judgment("pass" if dice.random() < 0.85 else "fail") for _ in criteria)
        counted = measurement.add(case, Reading(Trajectory()), judgments)
        attempt = Attempt(case_id=case.id)
        rows.append(stored_case(number, Case(id=case.id), attempt, judgments, places=counted.places))
    store.append(name, rows)
    store.finish(header, measurement.measured(), None)


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        config = {"version": 1, "project": "large", "dataset": "cases.jsonl", "system": {"callable": "app:run"}}
        config |= {"evaluators": [{"type": "contains", "criterion": "criterion_0", "value": "yes"}]}
        (root / "oloproof.yaml").write_text(json.dumps(config))
        (root / "cases.jsonl").write_text('{"id": "a"}\n')
        with Store.open(root / ".oloproof") as store:
            for seed, name in enumerate(("old", "new")):
                write_run(store, name, seed)
            sides = sum(size for (size,) in store._db.execute("SELECT length(data) FROM sides"))
        compare = cost([*OLOPROOF, "compare", "new", "old", "--json", "--no-gate"], cwd=root, repeats=3)
        row("compare two runs of 20,000 cases, 50 slices, 6 criteria", compare.cpu_s, "s", 1)
        row("its peak memory", compare.peak_mib, "MiB", 100)
        row("stored for a comparison", sides / CASES, "bytes a pair", 100)


if __name__ == "__main__":
    main()
