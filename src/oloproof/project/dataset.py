"""Datasets: JSONL, JSON, YAML or CSV in, checked cases out, in the order of the file.

JSON rows are decoded by msgspec straight into :class:`~oloproof.project.spec.Row`. Only a row that it refuses, or that
could hold a duplicate key, is read again by the slow reader, which knows where everything stands.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from oloproof.errors import Problem, UsageError, shown
from oloproof.inputs import BOM, READ_AT_ONCE
from oloproof.model.case import Case
from oloproof.model.collector import collector_paused
from oloproof.model.fingerprints import Fingerprints
from oloproof.model.project import Project
from oloproof.project import codes, shape
from oloproof.project.codes import DATASET
from oloproof.project.json_nodes import parse_json
from oloproof.project.nodes import Fields, Items, Node
from oloproof.project.problems import Problems, read_bytes, reason
from oloproof.project.review import Review
from oloproof.project.spec import Row
from oloproof.project.table import table_rows
from oloproof.project.yaml_nodes import decode, parse_yaml
from oloproof.redaction import problems_redacted, texts_redacted

STREAMED = (".jsonl", ".ndjson")
SUFFIXES = (*STREAMED, ".json", ".yaml", ".yml", ".csv")

_ROW = "a row"
_BLOCK = 512
_ONE_A_LINE = "a row is one JSON object; in a JSONL file it stands on one line"


class _Wrapped(Struct, forbid_unknown_fields=True):
    """A JSON dataset in the form ``{"cases": […]}``."""

    cases: list[msgspec.Raw]


class _Located(Struct, frozen=True, gc=False):
    """The bytes of a row and where they begin."""

    data: bytes
    line: int
    column: int


_decode_row = msgspec.json.Decoder(Row).decode
_decode_rows = msgspec.json.Decoder(list[msgspec.Raw] | _Wrapped).decode
_encode_lines = msgspec.json.Encoder().encode_lines


class Cases(Struct, frozen=True, kw_only=True):
    """A checked dataset, in the order of its file. ``digest`` is the SHA-256 of the file, in hexadecimal.
    ``related``: some cases belong to one cluster.

    The cases of a JSONL file that are to be run are read from it again each time they are asked for, so that a large
    one is never held whole; a UsageError at its end tells that it changed meanwhile.
    """

    path: Path
    count: int
    digest: str
    warnings: tuple[str, ...] = ()
    related: bool = False
    held: tuple[Case, ...] | None = None

    def __iter__(self) -> Iterator[Case]:
        return self._again() if self.held is None else iter(self.held)

    def __len__(self) -> int:
        return self.count

    def _again(self) -> Iterator[Case]:
        """Every row was found sound before, so it is not looked for keys that it gives twice."""
        problems, digest = Problems(str(self.path), codes=DATASET), hashlib.sha256()
        for located in _jsonl_rows(self.path, problems, digest):
            decoded = _decoded_again(located)
            row = _read_again(located, problems) if decoded is None else decoded
            if row is not None:
                yield _case(row, located.line)
        if digest.hexdigest() != self.digest:
            problems.on(0, 0, codes.CHANGED, "the dataset changed while it was being used", hint="run again")
        problems.raise_any()


def read_cases(project: Project) -> Cases:
    """The project's dataset, every row checked and every reference accepted by the evaluators that will use it.

    Raises a UsageError with all problems (the first 50, and how many more). ``project.dataset`` must not be None.
    """
    if project.dataset is None:
        raise ValueError("the project has no dataset: its recordings are")
    path = Path(project.dataset)
    problems = Problems(str(path), codes=DATASET)
    digest = hashlib.sha256()

    def again() -> Iterator[Case]:
        return _read(path, Problems(str(path), codes=DATASET), hashlib.sha256())

    streamed = again if path.suffix.lower() in STREAMED else None
    with problems_redacted(project.redact):
        cases = _reviewed(_read(path, problems, digest), project, problems, again=streamed)
    warnings = texts_redacted(project.redact, cases.warnings)
    return replace(cases, digest=digest.hexdigest(), warnings=warnings)


def cases_of(node: Node, project: Project, problems: Problems) -> Cases:
    """The cases that are written in ``node``, checked likewise; all of them are held, and their digest is none yet."""
    return _reviewed(_cases_of_nodes(_row_nodes(node, problems), problems), project, problems)


def _reviewed(
    cases: Iterable[Case],
    project: Project,
    problems: Problems,
    *,
    again: Callable[[], Iterable[Case]] | None = None,
) -> Cases:
    """Where they can be had ``again``, they are not held."""
    review = Review(problems, project, whole=True)
    kept: list[Case] = []
    ids = Fingerprints()
    with collector_paused():
        for case in cases:
            ids.add(case.id)
            review.see(case)
            if again is None:
                kept.append(case)
        if repeated := ids.repeated():
            _refuse_repeated(kept if again is None else again(), repeated, problems)
    if not len(ids) and not problems.found:
        problems.on(0, 0, codes.NO_CASES, "the dataset has no cases")
    return Cases(
        path=Path(problems.file),
        count=len(ids),
        warnings=review.conclude(),
        related=review.related,
        digest="",
        held=tuple(kept) if again is None else None,
    )


def _refuse_repeated(cases: Iterable[Case], hashes: Collection[int], problems: Problems) -> None:
    """Note the cases whose id an earlier one has, among those whose ids have one of these hashes."""
    first: dict[str, int] = {}
    for case in cases:
        if hash(case.id) not in hashes:
            continue
        if case.id in first:
            message = f"two cases have the id {shown(case.id)}, the first on line {first[case.id]}"
            problems.on(case.line, 0, codes.DUPLICATE_ID, message, hint="give each case an id of its own")
        first.setdefault(case.id, case.line)


def check_cases(cases: Sequence[Case], project: Project, *, file: str) -> tuple[str, ...]:
    """Check cases that come from somewhere else, recordings that are their own dataset for one; returns warnings.

    Raises a UsageError that names ``file`` and the cases' lines.
    """
    problems = Problems(file, codes=DATASET)
    review = Review(problems, project, whole=False)
    for case in cases:
        review.see(case)
    return review.conclude()


def _read(path: Path, problems: Problems, digest: hashlib._Hash) -> Iterator[Case]:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        hint = "decompress it first" if suffix == ".gz" else f"the formats are {', '.join(SUFFIXES)}"
        raise UsageError(
            Problem(DATASET.unreadable, f"no dataset format has the suffix {shown(suffix)}", hint, file=str(path))
        )
    if path.exists() and not (path.is_file() or path.is_dir()):
        message, hint = "the dataset is no regular file", "copy what it holds into one"
        raise UsageError(Problem(DATASET.unreadable, message, hint, file=str(path)))
    if suffix in STREAMED:
        yield from _cases_of(_jsonl_rows(path, problems, digest), problems)
        return
    data = read_bytes(path, what="the dataset", codes=DATASET)
    digest.update(data)
    if suffix == ".json":
        yield from _json_cases(data, problems)
    elif suffix == ".csv":
        text = decode(data, problems)
        yield from _cases_of_nodes(() if text is None else table_rows(text, problems), problems)
    else:
        yield from _cases_of_nodes(_row_nodes(parse_yaml(data, problems), problems), problems)


def _jsonl_rows(path: Path, problems: Problems, digest: hashlib._Hash) -> Iterator[_Located]:
    try:
        with path.open("rb", buffering=READ_AT_ONCE) as file:
            for number, line in enumerate(file, 1):
                digest.update(line)
                if number == 1:
                    if line.startswith((b"\x1f\x8b", b"\xff\xfe", b"\xfe\xff")):
                        decode(line, problems)
                        return
                    line = line.removeprefix(BOM)
                if not line.isspace() and line:
                    yield _Located(line, number, 1)
    except FileNotFoundError:
        problems.on(0, 0, DATASET.unreadable, "the dataset does not exist")
    except IsADirectoryError:
        problems.on(0, 0, DATASET.unreadable, "the dataset is a directory", hint="name a file in it")
    except (OSError, ValueError) as error:
        problems.on(0, 0, DATASET.unreadable, f"the dataset cannot be read: {reason(error)}")


def _json_cases(data: bytes, problems: Problems) -> Iterator[Case]:
    data = data.removeprefix(BOM)
    try:
        rows = _decode_rows(data)
    except (msgspec.DecodeError, RecursionError):
        text = decode(data, problems)
        node = None if text is None else parse_json(text, problems)
        return _cases_of_nodes(_row_nodes(node, problems), problems)
    raws = rows.cases if isinstance(rows, _Wrapped) else rows
    if isinstance(rows, _Wrapped) and data.count(b'"') != 2 + sum(bytes(raw).count(b'"') for raw in raws):
        return _cases_of_nodes(_row_nodes(parse_json(data.decode(), problems), problems), problems)
    return _cases_of(_array_rows(data, raws), problems)


def _array_rows(data: bytes, raws: Iterable[msgspec.Raw]) -> Iterator[_Located]:
    """Finds each element again: between two of them there are only commas and space, so the first match is right."""
    end = data.find(b"[") + 1
    line, counted = 1, 0
    for raw in raws:
        row = bytes(raw)
        start = data.index(row, end)
        line += data.count(b"\n", counted, start)
        yield _Located(row, line, start - data.rfind(b"\n", 0, start))
        counted, end = start, start + len(row)


def _row_nodes(node: Node | None, problems: Problems) -> Sequence[Node]:
    """The rows of a document: a list, or a mapping whose only key is ``cases``."""
    if isinstance(node, Fields):
        for entry in node.entries:
            if entry.key != "cases":
                shape.unknown_key(entry, ("cases",), problems)
        cases = node.entry("cases")
        if cases is None:
            problems.at(
                node, DATASET.missing_key, "the dataset needs the key 'cases'", hint="or make it a list of rows"
            )
            return ()
        node = cases.value
    if node is None:
        return ()
    return shape.items(node, problems, what="the dataset") if not isinstance(node, Items) else node.items


def _cases_of_nodes(nodes: Iterable[Node], problems: Problems) -> Iterator[Case]:
    for node in nodes:
        row = shape.struct(node, Row, problems, what=_ROW)
        if row is not None:
            yield _case(row, node.line)


def _cases_of(rows: Iterable[_Located], problems: Problems) -> Iterator[Case]:
    waiting = iter(rows)
    while block := list(islice(waiting, _BLOCK)):
        decoded = _decoded(block)
        if decoded is not None:
            yield from (_case(row, located.line) for row, located in zip(decoded, block, strict=True))
            continue
        for located in block:
            alone = _decoded([located])
            row = alone[0] if alone is not None else _read_again(located, problems)
            if row is not None:
                yield _case(row, located.line)


def _decoded(block: Sequence[_Located]) -> list[Row] | None:
    """The rows, None when one of them is refused or may hold a duplicate key.

    msgspec keeps the last of two equal keys without a word; the key that it drops takes its quotes along, so counting
    them tells. Only an escaped quote (``\\u0022``) could make up for the loss.
    """
    text = b"".join([located.data for located in block])
    try:
        rows = [_decode_row(located.data) for located in block]
        if text.count(b'"') == _encode_lines(rows).count(b'"') and b"\\u0022" not in text:
            return rows
    except (msgspec.MsgspecError, RecursionError, OverflowError):
        pass
    return None


def _decoded_again(located: _Located) -> Row | None:
    try:
        return _decode_row(located.data)
    except (msgspec.MsgspecError, RecursionError, OverflowError):
        return None


def _read_again(located: _Located, problems: Problems) -> Row | None:
    before = len(problems.found)
    text = decode(located.data.rstrip(), problems, line=located.line)
    if text is None:
        return None
    node = parse_json(text, problems, line=located.line, column=located.column, end_hint=_ONE_A_LINE)
    row = None if node is None else shape.struct(node, Row, problems, what=_ROW)
    return row if len(problems.found) == before else None


def _case(row: Row, line: int) -> Case:
    return Case(
        id=row.id,
        input=None if row.input is UNSET else row.input,
        expected={} if row.expected is UNSET else row.expected,
        metadata={} if row.metadata is UNSET else row.metadata,
        cluster=None if row.cluster is UNSET else row.cluster,
        line=line,
    )
