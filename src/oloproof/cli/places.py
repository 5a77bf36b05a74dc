"""Where the lines are that a report points at, as paths from the root of the repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from oloproof.errors import UsageError
from oloproof.model.places import Place, Places
from oloproof.model.run import Run
from oloproof.project import load
from oloproof.project.written import criterion_lines, dataset_of, rule_lines
from oloproof.store import SourceRef, Store, file_digest


def run_places(store: Store, run: Run, config: Path) -> Places:
    """The places of a stored run. A dataset that is not what the run read has no lines; of a configuration that is not
    sound (any more) the evaluators are not told."""
    root, name = repository(config.parent), str(config)
    policy, rules = rule_lines(name)
    dataset = dataset_of(name)
    return Places(
        config=_place(config, root, 0) if config.is_file() else None,
        rules=_all_placed(policy, rules, root),
        criteria=_all_placed(name, _criteria(config), root),
        cases=_case_places(store, run, None if dataset is None else config.parent / dataset, root),
    )


def _criteria(config: Path) -> dict[str, int]:
    try:
        return criterion_lines(str(config), load(config).evaluators)
    except UsageError:
        return {}


def repository(directory: Path) -> Path:
    """The root of the repository that holds the directory; the current directory where there is none."""
    home = directory.resolve()
    return next((each for each in (home, *home.parents) if (each / ".git").exists()), Path.cwd())


def _all_placed(file: str, lines: dict[str, int], root: Path) -> dict[str, Place]:
    places = ((name, _place(Path(file), root, line)) for name, line in lines.items())
    return {name: place for name, place in places if place is not None}


def _place(file: Path, root: Path, line: int) -> Place | None:
    """None for a file outside of the repository, which nobody who reads the report can open."""
    path = file.resolve()
    return Place(path.relative_to(root.resolve()).as_posix(), line) if path.is_relative_to(root.resolve()) else None


def _case_places(store: Store, run: Run, file: Path | None, root: Path) -> dict[tuple[str, int], Place]:
    """Of every attempt that fails or leaves something missing; a case has a place of its own as its first trial."""
    dataset = None if file is None else _place(file, root, 0)
    known = file is not None and _digest(file) == run.dataset_digest
    recordings: dict[tuple[str, str], _Recordings] = {}
    places: dict[tuple[str, int], Place] = {}
    for case_id, trial, where in store.lines(run.id):
        if isinstance(where, SourceRef):
            found = recordings.get((where.path, where.digest))
            if found is None:
                found = _Recordings(store.directory.parent / where.path, where.digest)
                recordings[where.path, where.digest] = found
            place = _place(found.path, root, found.line(where.offset))
        else:
            place = None if dataset is None else Place(dataset.file, where if known else 0)
        if place is not None:
            places[case_id, trial] = place
            places.setdefault((case_id, 1), place)
    return places


class _Recordings:
    """A file of recordings that is its own dataset, and on which lines they begin."""

    def __init__(self, path: Path, digest: str) -> None:
        self.path = path
        self._lines = dict(_line_starts(path)) if _digest(path) == digest else {}

    def line(self, offset: int) -> int:
        """The line that begins at this byte, 0 where none does, or where the file has changed."""
        return self._lines.get(offset, 0)


def _line_starts(path: Path) -> Iterator[tuple[int, int]]:
    at = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            yield at, number
            at += len(line)


def _digest(path: Path) -> str:
    try:
        return file_digest(path)
    except OSError:
        return ""
