"""Runs become recordings: every one gets a case and a trial, what ``--metadata`` asks for is looked up, and all is
counted, file by file. Nothing is kept but counts and names, so a file may be larger than the memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

from msgspec import UNSET, Struct

from oloproof.errors import MOST_PROBLEMS, Problem, UsageError
from oloproof.importers import codes
from oloproof.importers.alike import MOST_NAMED, Alike
from oloproof.importers.builder import LOSSES as SHARED_LOSSES
from oloproof.importers.documents import too_deep
from oloproof.importers.format import Importer, Item, Lost, Run
from oloproof.importers.lookups import Lookup
from oloproof.importers.naming import named, stems
from oloproof.importers.recordings import MOST_TRIALS
from oloproof.importers.registry import by_format
from oloproof.importers.source import Source
from oloproof.importers.written import line_of
from oloproof.model.recording import Recording

FRAME_LOSSES: Mapping[str, str] = {
    "nested_too_deeply": "runs with values that are nested too deeply: what lies deeper than 100 levels is left out",
}


class Summary(Struct, frozen=True, kw_only=True):
    """How much there was: ``unanswered`` calls have no result, ``errors`` are results that say so, ``agents`` are
    counted by name."""

    trajectories: int = 0
    steps: int = 0
    calls: int = 0
    results: int = 0
    errors: int = 0
    agents: int = 0
    unanswered: int = 0
    truncated: int = 0


class FileCounts:
    """What was found in one file, so far: ``losses`` by kind, ``summary`` the rest."""

    def __init__(self, importer: Importer) -> None:
        self.importer = importer
        self.losses: Counter[str] = Counter()
        self._agents: set[str] = set()
        self._kinds: Counter[str] = Counter()
        self._trajectories = self._errors = self._unanswered = self._truncated = 0

    @property
    def summary(self) -> Summary:
        return Summary(
            trajectories=self._trajectories,
            steps=self._kinds.total(),
            calls=self._kinds["tool_call"],
            results=self._kinds["tool_result"],
            errors=self._errors,
            agents=len(self._agents),
            unanswered=self._unanswered,
            truncated=self._truncated,
        )

    def told_losses(self) -> list[tuple[str, int, str]]:
        """Each kind of loss that occurred, how often, and what it means."""
        meanings = {**SHARED_LOSSES, **FRAME_LOSSES, **self.importer.losses}
        return [(kind, count, meanings[kind]) for kind, count in self.losses.items() if count]

    def add(self, run: Run) -> None:
        if run.losses:
            self.losses.update(run.losses)
        self._unanswered += run.unanswered
        self._trajectories += 1
        if run.trajectory is None:
            return
        steps = run.trajectory.steps
        self._truncated += run.trajectory.truncated
        self._kinds.update([step.kind for step in steps])
        self._errors += sum([isinstance(step.error, str) for step in steps])
        if steps and steps[0].agent is not None:
            self._agents.update([step.agent for step in steps if step.agent is not None])


class Imported(NamedTuple):
    """A recording, the line that it is written as, where it was found (line 0: lines say nothing there), and the keys
    of its metadata that describe its case (None: all)."""

    recording: Recording
    line: bytes
    file: str
    number: int
    of_case: Collection[str] | None = None


class Import:
    """One import: the files go in, recordings come out, and ``files`` then says what was found in each."""

    def __init__(self, sources: Sequence[Source], name: str | Importer, *, metadata: Sequence[str] = ()) -> None:
        """``name`` is a format, an importer or ``auto``; ``metadata`` are further values to keep, ``key=path`` each.

        UsageError for a file whose format cannot be told, and for a path that is none.
        """
        self._groups = by_format(sources, name)
        self._stems = stems([source.name for source in sources])
        self._lookups = [Lookup.parse(text) for text in metadata]
        self._absent = set(self._lookups)
        self._trials = _Trials()
        self.files = {source.name: FileCounts(importer) for importer, group in self._groups for source in group}

    @property
    def formats(self) -> tuple[str, ...]:
        """What the files were taken for."""
        return tuple(importer.name for importer, _ in self._groups)

    @property
    def losses(self) -> Iterator[tuple[str, str, int, str]]:
        """Each kind of loss in each file: the file, the kind, how often, and what it means."""
        return ((file, *told) for file, counts in self.files.items() for told in counts.told_losses())

    def told_losses(self) -> Iterator[str]:
        """Each kind of loss once, with the files in which it occurred, a few of them by name."""
        kinds: dict[tuple[str, str], dict[str, int]] = {}
        for file, kind, count, meaning in self.losses:
            kinds.setdefault((kind, meaning), {})[file] = count
        for (_, meaning), counts in kinds.items():
            named = ", ".join(list(counts)[:MOST_NAMED])
            others = f" and {len(counts) - MOST_NAMED:,} more files" if len(counts) > MOST_NAMED else ""
            yield f"{named}{others}: not carried over: {sum(counts.values()):,} × {meaning}"

    def refuse_losses(self) -> None:
        """UsageError with every loss (``--strict``)."""
        problems = [
            Problem("OLO690", f"not carried over: {count} × {meaning}", file=file)
            for file, _, count, meaning in self.losses
        ]
        if problems:
            raise UsageError(problems)

    def recordings(self) -> Iterator[Imported]:
        """Every run as a recording, in the order of the files (those of one format together).

        After the first problem nothing more is yielded; the rest is still read, and a UsageError tells the first 50.
        """
        problems: list[Problem] = []
        for case, run in named(self._runs(problems), self._stems):
            trial = self._trials.of(case, run)
            if not problems and not self._trials.twice:
                yield self._imported(case, trial, run)
            if len(problems) >= MOST_PROBLEMS:
                break
        problems += self._trials.twice.problems()
        if not problems and any(counts.summary.trajectories for counts in self.files.values()):
            problems += [lookup.absent for lookup in self._lookups if lookup in self._absent]
        if problems:
            raise UsageError(problems[:MOST_PROBLEMS])

    def _runs(self, problems: list[Problem]) -> Iterator[Run]:
        """The runs of all files; what is no run is counted or told."""
        for importer, sources in self._groups:
            for item in _until_refused(importer, sources):
                match item:
                    case Run():
                        yield item
                    case Lost(kind, file, _, count):
                        self.files[file].losses[kind] += count
                    case Problem():
                        problems.append(item)
                        if len(problems) >= MOST_PROBLEMS:
                            return

    def _imported(self, case: str, trial: int, run: Run) -> Imported:
        counts = self.files[run.file]
        recording = Recording(
            case=case,
            trial=trial,
            output=run.output,
            error=run.error,
            trajectory=run.trajectory,
            state=run.state,
            input=run.input,
            expected=run.expected,
            metadata=self._with_metadata(run),
        )
        counts.add(run)
        written, line = line_of(recording)
        counts.losses["nested_too_deeply"] += written is not recording
        of_case = run.of_case
        if self._lookups and of_case is not None:
            of_case = {*of_case, *(lookup.key for lookup in self._lookups)}
        return Imported(written, line, run.file, run.line, of_case)

    def _with_metadata(self, run: Run) -> dict[str, Any] | None:
        found = {}
        for lookup in self._lookups:
            value = lookup.of(run.origin)
            if value is not UNSET:
                found[lookup.key] = value
                self._absent.discard(lookup)
        return {**(run.metadata or {}), **found} if found else run.metadata


class _Trials:
    """Which trials there were of each case, and where."""

    def __init__(self) -> None:
        self.twice = Alike()
        self._places: dict[tuple[str, int], tuple[str, int]] = {}
        self._last: dict[str, int] = {}

    def of(self, case: str, run: Run) -> int:
        """The number of the run: its own, which must be new, or the next of its case."""
        last = self._last.get(case, 0)
        trial = run.trial if run.trial is not None and 1 <= run.trial <= MOST_TRIALS else last + 1
        place = (run.file, run.line)
        first = self._places.setdefault((case, trial), place)
        if first is not place:
            where = f"{first[0]}:{first[1]}" if first[1] else first[0]
            what = f"case {case!r}, trial {trial}, was recorded already in {where}"
            hint = "read files of the same cases one by one; `oloproof compare` holds two such runs against each other"
            self.twice.add(Problem(codes.RECORDED_TWICE, what, hint, file=run.file, line=run.line), case=case)
        self._last[case] = max(last, trial)
        return trial


def _until_refused(importer: Importer, sources: Sequence[Source]) -> Iterator[Item]:
    """What the files hold. What an error says of a file is one of the items, the last; so is a value that is nested too
    deeply to be looked into, which a parser may still have read."""
    opened: list[str] = []
    try:
        yield from importer.read([_Watched(source, opened) for source in sources])
    except UsageError as error:
        yield from error.problems
    except RecursionError:
        yield too_deep(opened[-1] if opened else "")


class _Watched:
    """A file that notes its name when it is opened."""

    def __init__(self, source: Source, opened: list[str]) -> None:
        self._source = source
        self._opened = opened
        self.name = source.name

    def head(self) -> bytes:
        return self._source.head()

    def lines(self) -> Iterator[bytes]:
        self._opened.append(self.name)
        return self._source.lines()

    def read(self) -> bytes:
        self._opened.append(self.name)
        return self._source.read()

    def open(self) -> BinaryIO:
        self._opened.append(self.name)
        return self._source.open()
