"""Lines, results and slots."""

from __future__ import annotations

import os
import tempfile

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oloproof import AgentStep
from oloproof.model.case import AttemptError
from oloproof.record.journal import Opened, StepRecorded
from oloproof.runner import protocol
from oloproof.runner.protocol import (
    Began,
    Garbled,
    Lines,
    Ran,
    RunCase,
    Slot,
    decode_order,
    decode_word,
    encode,
    encoded,
    heard,
    read_slot,
)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.binary(max_size=5).map(lambda b: b.replace(b"\n", b"")), max_size=6), st.integers(1, 7))
def test_lines_come_out_however_the_bytes_come_in(sent, size):
    stream = b"".join(line + b"\n" for line in sent)
    lines = Lines()
    received = []
    for start in range(0, len(stream), size):
        received += lines.feed(stream[start : start + size])
    assert received == sent


def test_a_line_without_end_is_refused():
    lines = Lines(limit=10)
    assert lines.feed(b"123456789") == []
    with pytest.raises(ValueError, match="a line of more than 10 bytes"):
        lines.feed(b"01")


def test_the_beginning_of_a_line_without_end_is_forgotten():
    lines = Lines(limit=10)
    with pytest.raises(ValueError, match="a line of more than 10 bytes"):
        lines.feed(b"x" * 11)
    assert lines.feed(b"y\nz\n") == [b"y", b"z"]


@pytest.mark.parametrize("line", [b"", b"{}", b"\xff", b"[" * 100_000, b'{"type":"ran","n":1,"output":' + b"[" * 900])
def test_what_is_no_word_says_why(line):
    assert heard(line).why


def test_a_word_is_nested_no_deeper_than_can_be_written_again():
    def nested(levels):
        return heard(b'{"type":"ran","n":1,"output":' + b"[" * levels + b"]" * levels + b"}")

    assert isinstance(nested(101), Ran)
    assert isinstance(nested(900), Garbled)


def test_words_and_orders_survive():
    order = RunCase(3, "case\n1", {"q": "a\nb"}, 9)
    assert b"\n" not in encode(order)
    assert decode_order(encode(order)) == order
    word = Ran(3, output=None, error=AttemptError(kind="timeout", message="late"))
    assert decode_word(encode(word)) == word


def test_an_order_has_no_place_for_what_is_expected():
    assert set(RunCase.__struct_fields__) == {"n", "case_id", "input", "seed", "trial", "metadata"}


def test_a_result_that_cannot_be_sent_says_why(monkeypatch):
    assert "TypeError" in encoded(Ran(1, output=object()))
    monkeypatch.setattr(protocol, "MAX_LINE_BYTES", 100)
    assert encoded(Ran(1, output="x" * 200)).endswith("at most 100 are taken")
    assert isinstance(encoded(Ran(1, output="x")), bytes)


def test_what_shares_a_line_takes_no_more_than_its_share(monkeypatch):
    monkeypatch.setattr(protocol, "MAX_LINE_BYTES", 200)
    assert isinstance(encoded(Ran(1, output="x" * 120)), bytes)
    assert encoded(Ran(1, output="x" * 120), shared_by=2).endswith("at most 100 are taken")


@pytest.fixture(params=["mapped", "written"])
def fd(request, monkeypatch):
    """A slot's file, as memory and as a system has it that could be killed by a full disk."""
    if request.param == "written":
        monkeypatch.setattr("oloproof.runner.protocol.sys.platform", "another")
    with tempfile.TemporaryFile() as file:
        yield file.fileno()


STEP = StepRecorded(AgentStep(index=1, kind="final"))


def test_a_slot_is_read_back(fd):
    slot = Slot(fd)
    slot.begin(Began(4, 1.5))
    slot.write(Opened())
    slot.write(STEP)
    began, events = read_slot(fd)
    assert began == Began(4, 1.5)
    assert events[0] == Opened()
    assert msgspec.json.encode(events[1].step) == msgspec.json.encode(STEP.step)


def test_a_slot_forgets_the_attempt_before(fd):
    slot = Slot(fd)
    slot.begin(Began(4, 1.5))
    slot.write(STEP)
    slot.begin(Began(5, 2.5))
    assert read_slot(fd) == (Began(5, 2.5), [])


def test_an_entry_cut_short_is_not_read(fd):
    slot = Slot(fd)
    slot.begin(Began(4, 1.5))
    slot.write(Opened())
    os.ftruncate(fd, len(encode(Began(4, 1.5))) + 1 + len(encode(Opened())))
    assert read_slot(fd) == (Began(4, 1.5), [])


def test_of_an_entry_whose_first_byte_is_not_there_nothing_is(fd):
    slot = Slot(fd)
    for n in (4, 5):
        slot.begin(Began(n, 1.5))
        slot.write(Opened())
        slot.write(STEP)
    os.pwrite(fd, b"\0", len(encode(Began(5, 1.5))) + len(encode(Opened())) + 2)
    assert read_slot(fd) == (Began(5, 1.5), [Opened()])
    os.pwrite(fd, b"\0", 0)
    assert read_slot(fd) is None


def test_a_long_trace_is_kept_whole_and_leaves_nothing_to_the_next(fd):
    slot = Slot(fd)
    long = StepRecorded(AgentStep(index=1, kind="final", arguments="x" * 50_000))
    for n, steps in ((4, 9), (5, 1), (6, 30)):
        slot.begin(Began(n, 1.5))
        for _ in range(steps):
            slot.write(long)
        began, events = read_slot(fd)
        assert (began.n, len(events)) == (n, steps)


def test_a_slot_is_read_up_to_its_bound(fd, monkeypatch):
    monkeypatch.setattr(protocol, "MAX_LINE_BYTES", 200)
    slot = Slot(fd)
    slot.begin(Began(4, 1.5))
    for _ in range(100):
        slot.write(Opened())
    began, events = read_slot(fd)
    assert began == Began(4, 1.5)
    assert 1 < len(events) < 10


@pytest.mark.parametrize("size", [1 << 33, 1 << 43])
def test_a_slot_with_a_hole_is_read_up_to_it(fd, size):
    slot = Slot(fd)
    slot.begin(Began(4, 1.5))
    slot.write(Opened())
    try:
        os.ftruncate(fd, size)
    except OSError as exc:
        pytest.skip(f"the file system has no such files: {exc}")
    assert read_slot(fd) == (Began(4, 1.5), [Opened()])


@pytest.mark.parametrize("content", [b"[" * 100_000 + b"\n", b'{"type":"step","step":' + b"[" * 900 + b"\n"])
def test_what_is_nested_too_deeply_ends_a_slot(fd, content):
    slot = Slot(fd)
    slot.begin(Began(4, 1.5))
    os.pwrite(fd, content, os.fstat(fd).st_size)
    assert read_slot(fd) == (Began(4, 1.5), [])


@pytest.mark.parametrize("content", [b"", b"{}\n", b'{"type":"opened"}\n', b"\xff\xfe\n", b'{"type":"began","n":1'])
def test_a_slot_in_which_nothing_began_is_empty(fd, content):
    os.pwrite(fd, content, 0)
    assert read_slot(fd) is None


def test_a_slot_that_cannot_be_written_is_let_be():
    reader, writer = os.pipe()
    slot = Slot(writer)
    slot.begin(Began(1, 0.0))
    slot.write(STEP)
    os.close(reader)
    os.close(writer)
    slot.write(STEP)
