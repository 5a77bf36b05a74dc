"""Attempts that earlier runs made of the same system at the same question are taken over, where that is asked for.

One attempt at a case and trial decides, whatever it came to: that of the newest run that came to its end. Where it
ended with an error or its record is cut, the case is run, and what that attempt had settled by then stands, as it does
where an error is tried again. Another one is never looked for in its place, which would be to choose among attempts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from oloproof.errors import Problem, UsageError
from oloproof.model.case import Attempt, Case
from oloproof.model.run import CaseRecord, Run, SystemIdentity, TakenOver
from oloproof.pipeline.ports import Ports
from oloproof.store import Kept, Key, identity


class Reused(Struct, frozen=True):
    """What is taken over: by case id and trial the attempts of the run that has it, which are read when they are asked
    for. Those in ``again`` are made again, and those that ``waited`` for that when their run was killed.
    ``passed_over`` is a run that asked the same of other code under the same version, "" where there was none."""

    taken: Mapping[Key, Kept] = {}
    again: Mapping[Key, Kept] = {}
    waited: Mapping[Key, tuple[Attempt, ...]] = {}
    counts: tuple[TakenOver, ...] = ()
    passed_over: str = ""

    def attempt(self, key: Key) -> Attempt:
        """The one that is ``taken``."""
        return _marked(self.taken[key][key])

    def before(self, key: Key) -> tuple[Attempt, ...]:
        """The attempts in whose place the one that is run now is made."""
        made = _marked(self.again[key][key]).made if key in self.again else ()
        return (*made, *self.waited.get(key, ()))

    @property
    def told(self) -> tuple[str, ...]:
        """What is to be warned of."""
        if not self.passed_over:
            return ()
        why = "the code of the system, or what it depends on, has changed since then, and its version has not"
        return (f"--reuse: nothing was taken over from run {self.passed_over}: {why}",)


NOTHING = Reused()


class Either(Container[Key]):
    """What is in one or the other."""

    def __init__(self, *parts: Container[Key]) -> None:
        self._parts = parts

    def __contains__(self, key: object) -> bool:
        return any(key in part for part in self._parts)


class Own(Struct, frozen=True):
    """What a run that is resumed has of its own, which is not looked for elsewhere: what is ``kept``, and all that is
    ``done`` or to be done again."""

    kept: Mapping[Key, CaseRecord] = {}
    done: Container[Key] = frozenset()


def reusable(header: Run, cases: Iterable[Case], ports: Ports, *, own: Own, reruns: int, config: str) -> Reused:
    """What of the run that begins with ``header`` was done before: by the same system in the same version, under the
    same configuration, of the same input and metadata. Up to ``reruns`` of a case go with its attempts.

    Errors: UsageError where the system has no version, since nobody could know then that it is the same.
    """
    if header.system.version is None:
        what = "--reuse takes attempts over that the same version of the system made, and this one has none"
        hint = "write `version:` under `system:` or in @system(version=…), and change it whenever the system changes"
        raise UsageError(Problem("OLO421", what, hint, file=config))
    trials = range(1, header.trials + 1)
    wanted = {(case.id, trial): case for case in cases for trial in trials if (case.id, trial) not in own.done}
    taken: dict[Key, Kept] = {}
    again: dict[Key, Kept] = {}
    waited: dict[Key, tuple[Attempt, ...]] = {}
    counts: Counter[str] = Counter()
    changed = ""
    origins = {key: _origins(own.kept[key]) for key in own.kept if key[1] <= header.trials} if reruns else {}
    seen: list[tuple[Run, Kept]] = []
    for run in _like(header, ports):
        if not (wanted or (reruns and run.reruns)):
            continue
        kept = ports.store.kept(run.id)
        if run.system.code != header.system.code:
            changed = changed or (run.id if any(key in kept for key in wanted) else "")
            continue
        seen.append((run, kept))
        for key in [key for key in wanted if key in kept and key[1] <= run.trials]:  # a re-run is no trial
            record = kept[key]
            if _seen(record.case) != _seen(wanted[key]):
                continue
            del wanted[key]
            origins[key] = _origins(record)
            if _is_whole(record.attempt):
                taken[key] = kept
                counts[_origin(record)] += 1
            else:
                again[key] = kept
        if run.dataset_digest == header.dataset_digest:  # else nobody knows that it was asked the same
            for key, attempts in ports.store.waiting(run.id).items():
                if key in wanted or again.get(key) is kept:
                    waited[key] = tuple([replace(attempt, taken_from=run.id) for attempt in attempts])
                    wanted.pop(key, None)
    for key, kept in _reruns(header, origins, seen, most=reruns):
        if key not in Either(own.done, taken, again):
            (taken if _is_whole(kept[key].attempt) else again)[key] = kept
    told = tuple([TakenOver(run=run, attempts=count) for run, count in counts.most_common()])
    return Reused(taken, again, waited, told, changed)


def _reruns(
    header: Run, origins: Mapping[Key, frozenset[str]], seen: Iterable[tuple[Run, Kept]], *, most: int
) -> Iterator[tuple[Key, Kept]]:
    """Re-runs of cases all of whose attempts come from where these ``origins`` say. They confirmed just these attempts:
    to make them anew would be to confirm until it goes well."""
    for run, kept in seen:
        if run.trials != header.trials:
            continue
        for name, trial in kept:
            own = [(name, each) for each in range(1, header.trials + 1)]
            if header.trials < trial <= header.trials + most and all(
                key in origins and key in kept and _origin(kept[key]) in origins[key] for key in own
            ):
                yield (name, trial), kept


def _like(header: Run, ports: Ports) -> list[Run]:
    """Runs that began before this one and were asked the same, of a system that is called the same; those whose
    attempts go before the others' first.

    A partial run gives nothing to a whole one: where a case is run alone until it goes well, its last attempt would
    count. Nor does a run that was cut short go before any other: it could be begun again and again, and cut short when
    its first cases have gone well. So the newest that is complete is the first, and of those that are not, the oldest.
    """
    runs = ports.store.runs(header.project)
    own = next((at for at, run in enumerate(runs) if run.id == header.id), -1)  # none of a run that only begins
    like = [
        run
        for run in runs[own + 1 :]
        if _called(run) == _called(header)
        and not (run.partial and not header.partial)
        and not (run.changed or run.in_process)
    ]
    whole = [run for run in like if run.status == "complete"]
    return [*whole, *(run for run in reversed(like) if run.status != "complete")]


def _called(run: Run) -> tuple[SystemIdentity, str]:
    return replace(run.system, code=""), run.config_digest


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


def _origins(record: CaseRecord) -> frozenset[str]:
    """The same of the attempts before it, too, in whose place it was made."""
    return frozenset([attempt.taken_from or record.run_id for attempt in record.attempt.made])
