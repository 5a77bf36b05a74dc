from __future__ import annotations

import hashlib

import pytest
from msgspec import UNSET

from fakes import stored
from oloproof.model.case import Attempt, Case
from oloproof.model.judgment import PASS, Judgment
from oloproof.store import RunDigest, SourceRef, codec, stored_case


def unpacked(block: codec.Block, index: int) -> codec.Detail:
    start, size = block.spans[index]
    return codec.unpack(codec.inflate(block.data)[start : start + size])


def test_codes_are_one_letter_a_criterion() -> None:
    judgments = [PASS, Judgment("fail"), stored.MISSING, Judgment("excluded", "not_selected")]
    assert stored.row(1, judgments=judgments).side.codes == "pfmx"


def test_a_source_replaces_the_attempt_and_keeps_its_name() -> None:
    source = SourceRef("traces.jsonl", "00", 5, 7)
    row = stored.row(3, trial=2, source=source)
    assert (row.side.case_id, row.trial, row.attempt) == ("case_00003", 2, source)


def test_a_detail_survives() -> None:
    detail = codec.Detail(stored.attempt(1), stored.case(1), stored.VERDICTS)
    (block,) = codec.pack([detail])
    assert unpacked(block, 0) == detail


def test_absent_and_null_outputs_stay_apart() -> None:
    details = [
        codec.Detail(Attempt(case_id="a", output=output), Case(id="a"), ())
        for output in (UNSET, None, {"answer": None})
    ]
    (block,) = codec.pack(details)
    assert [unpacked(block, index).attempt.output for index in range(3)] == [UNSET, None, {"answer": None}]


def test_the_evidence_of_a_pass_is_kept() -> None:
    known = Judgment("pass", steps=(1, 2))
    (block,) = codec.pack([codec.Detail(codec.Placed(0, 0, 1), None, (PASS, known, PASS))])
    assert unpacked(block, 0).judgments == (PASS, known, PASS)


def test_blocks_are_closed_by_count_and_by_size() -> None:
    small = codec.Detail(codec.Placed(0, 1, 2), None, ())
    assert [len(block.spans) for block in codec.pack([small] * 150)] == [64, 64, 22]
    large = codec.Detail(Attempt(case_id="a", output="x" * codec.BLOCK_BYTES), None, ())
    assert [len(block.spans) for block in codec.pack([large, small, large])] == [1, 2]
    assert list(codec.pack([])) == []


@pytest.mark.parametrize("data", [b"", b"\x09abc", b"\x01 not zlib"])
def test_damaged_blocks_are_unreadable(data: bytes) -> None:
    with pytest.raises(codec.Unreadable):
        codec.inflate(data)


@pytest.mark.parametrize("data", [b"", b"{}", b'[[0,1,2],null,[[3,{"verdict":"fail"}]]]', b"[" * 100_000])
def test_damaged_details_are_unreadable(data: bytes) -> None:
    with pytest.raises(codec.Unreadable):
        codec.unpack(data)


def test_damaged_headers_are_unreadable() -> None:
    with pytest.raises(codec.Unreadable):
        codec.from_json("{", kind=Case)


def test_the_digest_is_a_sha256_over_criteria_and_rows_in_order() -> None:
    digest = RunDigest(("a", "b"))
    digest.add([stored.row(1, judgments=[PASS, Judgment("fail")])])
    digest.add([stored.row(2, judgments=[PASS, PASS], trial=3)])
    text = b'["a","b"]["case_00001",1,"pf"]["case_00002",3,"pp"]'
    assert digest.hexdigest() == hashlib.sha256(text).hexdigest()


def test_the_digest_sees_every_part() -> None:
    def of(*rows: tuple[str, int, str], criteria: tuple[str, ...] = ("a",)) -> str:
        digest = RunDigest(criteria)
        for case_id, trial, word in rows:
            verdict = Judgment("pass" if word == "p" else "fail")
            digest.add([stored_case(0, Case(id=case_id), Attempt(case_id=case_id, trial=trial), [verdict])])
        return digest.hexdigest()

    one, two = ("x", 1, "p"), ("y", 1, "p")
    variants = [
        of(),
        of(one),
        of(one, two),
        of(two, one),
        of(("x", 2, "p")),
        of(("x", 1, "f")),
        of(one, criteria=("b",)),
    ]
    assert len(set(variants)) == len(variants)
