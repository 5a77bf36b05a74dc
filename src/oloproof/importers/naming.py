"""What runs are called that have no name: after their file, and as much of the path before it as tells files apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from oloproof.importers.format import Run


def named(runs: Iterable[Run], stems: Mapping[str, str]) -> Iterator[tuple[str, Run]]:
    """Every run with its case. One without a name is called after its file: ``results``, or, where the file has
    others, ``results_1``, ``results_2`` by its place among them."""
    file, number, only = "", 0, None
    for run in runs:
        if run.file != file:
            if only is not None:
                yield stems[only.file], only
            file, number, only = run.file, 0, None
        number += 1
        if only is not None:
            yield f"{stems[file]}_1", only
            only = None
        if run.case:
            yield run.case, run
        elif number == 1:
            only = run  # its name hangs on whether another follows
        else:
            yield f"{stems[file]}_{number}", run
    if only is not None:
        yield stems[only.file], only


def stems(files: Sequence[str]) -> dict[str, str]:
    """What the runs of each file are called after: ``results`` for ``runs/results.json``, and as much of the path
    before it as tells the files apart."""
    parts = {file: _parts(file) for file in files}
    names: dict[str, str] = {}
    pending = list(parts)
    longest = max(map(len, parts.values()), default=0)
    for length in range(1, longest + 1):
        named = {file: "/".join(parts[file][-length:]) for file in pending}
        counts = Counter(named.values())
        names |= {file: name for file, name in named.items() if counts[name] == 1 or length == longest}
        pending = [file for file in pending if file not in names]
    return {file: names[file] for file in files}


def _parts(file: str) -> list[str]:
    *directories, name = file.replace("\\", "/").split("/")
    return [*directories, name.rpartition(".")[0] or name]
