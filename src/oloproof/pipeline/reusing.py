"""Attempts that earlier runs made of the same system at the same question are taken over, where that is asked for.

The newest attempt at a case and trial decides: where it ended with an error or its record is cut, the case is run, and
what that attempt had settled by then stands, as it does where an error is tried again. An older one is never looked for
in its place, which would be to choose among attempts by what they came to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from oloproof.errors import Problem, UsageError
from oloproof.model.case import Attempt, Case
from oloproof.model.run import CaseRecord, Run, TakenOver
from oloproof.pipeline.ports import Ports
from oloproof.store import Kept, Key, identity


class Reused(Mapping[Key, Attempt]):
    """Attempts that are taken over, by case id and trial, each read when it is asked for. ``open_ones`` are those that
    are made again."""

    def __init__(
        self, sources: Mapping[Key, Kept], counts: Sequence[TakenOver], open_ones: Mapping[Key, Kept] | None = None
    ) -> None:
        self._sources = sources
        self._open = open_ones or {}
        self.counts = tuple(counts)

    def before(self, key: Key) -> tuple[Attempt, ...]:
        """The attempts in whose place the one that is run now is made."""
        if key not in self._open:
            return ()
        attempt = _marked(self._open[key][key])
        return (*attempt.earlier, *(() if attempt.not_run else (replace(attempt, earlier=()),)))

    def __getitem__(self, key: Key) -> Attempt:
        return _marked(self._sources[key][key])

    def __contains__(self, key: object) -> bool:
        return key in self._sources

    def __iter__(self) -> Iterator[Key]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)


class Either(Container[Key]):
    """What is in one or the other."""

    def __init__(self, *parts: Container[Key]) -> None:
        self._parts = parts

    def __contains__(self, key: object) -> bool:
        return any(key in part for part in self._parts)


def reusable(header: Run, cases: Iterable[Case], ports: Ports, *, done: Container[Key], config: str) -> Reused:
    """What of the run that begins with ``header`` was done before: by the same system in the same version, under the
    same configuration, of the same input and metadata. What is ``done`` is not looked for.

    Errors: UsageError where the system has no version, since nobody could know then that it is the same.
    """
    if header.system.version is None:
        what = "--reuse takes attempts over that the same version of the system made, and this one has none"
        hint = "write `version:` under `system:` or in @system(version=…), and change it whenever the code changes"
        raise UsageError(Problem("OLO421", what, hint, file=config))
    trials = range(1, header.trials + 1)
    wanted = {(case.id, trial): case for case in cases for trial in trials if (case.id, trial) not in done}
    sources: dict[Key, Kept] = {}
    open_ones: dict[Key, Kept] = {}
    counts: Counter[str] = Counter()
    for run in _like(header, ports):
        kept = ports.store.kept(run.id)
        for key in [key for key in wanted if key in kept]:
            record = kept[key]
            if _seen(record.case) != _seen(wanted[key]):
                continue
            del wanted[key]
            if _is_whole(record.attempt):
                sources[key] = kept
                counts[_origin(record)] += 1
            else:
                open_ones[key] = kept
        if not wanted:
            break
    return Reused(sources, [TakenOver(run=run, attempts=count) for run, count in counts.most_common()], open_ones)


def _like(header: Run, ports: Ports) -> Iterator[Run]:
    """Runs that began before this one and would be asked the same, the newest first. A partial run gives nothing to a
    whole one: where a case is run alone until it goes well, its last attempt would count."""
    runs = ports.store.runs(header.project)
    own = next((at for at, run in enumerate(runs) if run.id == header.id), -1)  # none of a run that only begins
    for run in runs[own + 1 :]:
        is_same = (run.system, run.config_digest) == (header.system, header.config_digest)
        is_chosen = bool(run.partial and not header.partial)
        if is_same and not (is_chosen or run.changed or run.in_process):
            yield run


def _seen(case: Case) -> tuple[str, str]:
    """All that the system sees of a case, but for its name."""
    return identity(case.input), identity(case.metadata)


def _is_whole(attempt: Attempt) -> bool:
    return attempt.error is None and not (attempt.trajectory is not None and attempt.trajectory.truncated)


def _marked(record: CaseRecord) -> Attempt:
    return replace(record.attempt, taken_from=_origin(record))


def _origin(record: CaseRecord) -> str:
    """The run that made the attempt, which the one that has it may have taken it from."""
    return record.attempt.taken_from or record.run_id
