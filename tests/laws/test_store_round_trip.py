"""What goes into the store comes out of it, whatever the values, the batches and the files."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from fakes import stored
from oloproof.importers.recordings import decode, encode
from oloproof.model.case import Attempt, AttemptError, Case
from oloproof.model.judgment import EXCLUDED_REASONS, MISSING_REASONS, Judgment
from oloproof.model.measured import Measured, Quantile, Rate, SliceGroup
from oloproof.model.recording import Recording, to_attempt, to_case
from oloproof.model.run import CaseRecord
from oloproof.model.tally import Distribution, Tally
from oloproof.store import RunDigest, SourceRef, Store, codec, file_digest, stored_case

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(text, values, max_size=3)
verdicts = st.one_of(
    st.builds(
        Judgment,
        st.sampled_from(["pass", "fail"]),
        st.none() | text,
        steps=st.lists(st.integers(1, 99), max_size=3).map(tuple),
        expected=st.just(UNSET) | values,
        found=st.just(UNSET) | values,
        detail=st.none() | text,
    ),
    st.sampled_from([Judgment("missing", reason) for reason in MISSING_REASONS]),
    st.sampled_from([Judgment("excluded", reason) for reason in EXCLUDED_REASONS]),
)
judgments = st.tuples(verdicts, verdicts, verdicts)
errors = st.builds(
    AttemptError, kind=st.sampled_from(["system_error", "timeout"]), message=text, traceback=st.none() | text
)
trajectories = st.none() | st.just(stored.trajectory())


@st.composite
def attempted(draw: st.DrawFn) -> tuple[Case, Attempt]:
    case = Case(id=draw(text), input=draw(values), expected=draw(objects), metadata=draw(objects))
    attempt = Attempt(
        case_id=case.id,
        trial=draw(st.integers(1, 9)),
        output=draw(st.just(UNSET) | values),
        error=draw(st.none() | errors),
        trajectory=draw(trajectories),
        log=draw(text),
        duration_ms=draw(st.none() | st.floats(0, 1e9)),
    )
    return case, attempt


recordings = st.builds(
    Recording,
    case=text.filter(bool),
    trial=st.integers(1, 9),
    output=st.just(UNSET) | values,
    error=st.none() | text | errors.filter(lambda error: error.kind != "not_run"),
    trajectory=trajectories,
    input=st.just(UNSET) | values,
    expected=st.none() | objects,
    metadata=st.none() | objects,
)


def trial(attempt: Attempt) -> tuple[str, int]:
    """What a run has once."""
    return attempt.case_id, attempt.trial


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(attempted(), judgments), max_size=6, unique_by=lambda row: trial(row[0][1])), st.integers(1, 4)
)
def test_cases_come_back_in_order_however_they_were_batched(
    rows: list[tuple[tuple[Case, Attempt], tuple[Judgment, ...]]], batch: int
) -> None:
    kept = [stored_case(at, case, attempt, words) for at, ((case, attempt), words) in enumerate(rows)]
    with tempfile.TemporaryDirectory() as directory, Store.open(Path(directory) / ".oloproof") as store:
        store.begin(stored.run())
        for first in range(0, len(kept), batch):
            store.append(stored.run().id, kept[first : first + batch])
        found = stored.records(store, stored.run().id)
    assert found == [
        CaseRecord(
            run_id=stored.run().id,
            case=case,
            attempt=attempt,
            judgments=tuple(zip(stored.CRITERIA, words, strict=True)),
        )
        for (case, attempt), words in rows
    ]


@settings(deadline=None, max_examples=40)
@given(
    st.lists(recordings, max_size=5, unique_by=lambda recording: trial(to_attempt(recording))),
    st.lists(st.sampled_from([b"", b"  ", b"\t"]), max_size=5),
    st.sampled_from([b"\n", b"\r\n"]),
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
)
def test_recorded_cases_come_back_from_their_file(
    records: list[Recording], blanks: list[bytes], end: bytes, bom: bytes
) -> None:
    lines = [encode(record).rstrip(b"\n") for record in records]
    for at, blank in enumerate(blanks):
        lines.insert(2 * at, blank)
    run = stored.run(own_dataset=True)
    with tempfile.TemporaryDirectory() as directory, Store.open(Path(directory) / ".oloproof") as store:
        path = Path(directory) / "traces.jsonl"
        path.write_bytes(bom + end.join(lines))
        digest = file_digest(path)
        with path.open("rb") as file:
            rows = [
                stored_case(
                    at,
                    to_case(record),
                    to_attempt(record),
                    stored.VERDICTS,
                    SourceRef(path.name, digest, line.offset, line.length),
                )
                for at, (line, record) in enumerate(decode(file))
            ]
        store.begin(run)
        store.append(run.id, rows)
        found = [(detail.case, detail.attempt) for detail in stored.records(store, run.id)]
    assert found == [(to_case(record), to_attempt(record)) for record in records]


counts = st.integers(0, 10**9)
tallies = st.builds(Tally, counts, counts, counts, counts)
points = st.lists(st.tuples(st.floats(0, 1e12), counts), max_size=4).map(lambda found: tuple(sorted(found)))
metrics = st.lists(
    st.builds(Rate, text, tallies)
    | st.builds(Quantile, text, text, st.just("0.95"), text, st.builds(Distribution, observed=points, floors=points)),
    max_size=3,
).map(tuple)


@settings(deadline=None, max_examples=60)
@given(st.builds(Measured, counts, metrics, st.lists(st.builds(SliceGroup, text, text, counts, metrics)).map(tuple)))
def test_aggregates_survive(measured: Measured) -> None:
    assert codec.from_json(codec.to_json(measured), kind=Measured) == measured


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(attempted(), judgments), max_size=4), st.lists(st.tuples(attempted(), judgments), max_size=4))
def test_runs_have_one_digest_exactly_if_they_have_the_same_verdicts_of_the_same_cases(
    one: list[tuple[tuple[Case, Attempt], tuple[Judgment, ...]]],
    other: list[tuple[tuple[Case, Attempt], tuple[Judgment, ...]]],
) -> None:
    def of(rows: list[tuple[tuple[Case, Attempt], tuple[Judgment, ...]]]) -> tuple[list[tuple[str, int, str]], str]:
        digest = RunDigest(stored.CRITERIA)
        kept = [stored_case(at, case, attempt, words) for at, ((case, attempt), words) in enumerate(rows)]
        digest.add(kept)
        return [(row.side.case_id, row.trial, row.side.codes) for row in kept], digest.hexdigest()

    (content, digest), (other_content, other_digest) = of(one), of(other)
    assert (content == other_content) == (digest == other_digest)
    assert of(one) == (content, digest)
