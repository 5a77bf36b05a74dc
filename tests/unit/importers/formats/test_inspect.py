from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path
from struct import pack, unpack
from typing import Any

import pytest
from msgspec import UNSET

from fakes.imports import Found, claims, imported, refusal
from oloproof.importers import archive
from oloproof.importers.format import Confidence
from oloproof.importers.reading import Summary

SAMPLES = Path(__file__).parents[4].parent / "shared/data/inspect"

EVAL = {"task": "guess", "model": "m"}


def calling(*ids: str, name: str = "bash", **more: Any) -> dict[str, Any]:
    calls = [{"id": each, "function": name, "arguments": {"cmd": each}, **more} for each in ids]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def back(call_id: str, content: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "function": "bash", "content": content, **more}


def tool(call_id: str, name: str = "bash", **more: Any) -> dict[str, Any]:
    return {"event": "tool", "id": call_id, "function": name, "arguments": {"cmd": call_id}, **more}


ASKED = {"role": "user", "content": "Guess."}
DONE = {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "42"}]}
MESSAGES = [{"role": "system", "content": "x"}, ASKED, calling("a", "b"), back("b"), back("a"), DONE]


def sample(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"id": 7, "epoch": 2, "input": "Guess.", "target": "42", "messages": list(messages), **more}


def log(*samples: Any) -> dict[str, Any]:
    return {"version": 2, "status": "success", "eval": EVAL, "samples": list(samples)}


def zipped(*samples: Any, name: str = "header.json") -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr(name, json.dumps({"version": 2, "eval": EVAL}))
        for number, each in enumerate(samples):
            opened.writestr(f"samples/{number}_epoch_1.json", json.dumps(each))
        opened.writestr("summaries.json", "[]")
    return held.getvalue()


def read(*messages: Any, **more: Any) -> Found:
    return imported("inspect", log(sample(*messages, **more)))


def test_a_sample_is_a_case_and_an_epoch_a_trial() -> None:
    found = read(*MESSAGES, scores={"match": {"value": "C", "answer": "42"}}, metadata={"level": 1})
    recording = found.only
    assert (recording.case, recording.trial, recording.input) == ("7", 2, "Guess.")
    assert (recording.output, recording.expected) == ({"answer": "42"}, {"target": "42"})
    assert recording.metadata == {"level": 1, "task": "guess", "model": "m", "scores": {"match": "C"}}
    assert [(step.kind, step.call_id, step.turn) for step in found.steps] == [
        ("message", None, None),
        ("tool_call", "a", 1),
        ("tool_call", "b", 1),
        ("tool_result", "b", None),
        ("tool_result", "a", None),
        ("message", None, None),
    ]
    assert found.losses == {"system_messages": 1, "unread_blocks": 1}
    assert recording.trajectory is not None
    assert not recording.trajectory.truncated


def test_errors_say_their_kind() -> None:
    failed = back("a", "", error={"type": "timeout", "message": "too slow"})
    found = read(ASKED, calling("a"), failed, DONE)
    assert found.steps[2].error == "timeout: too slow"
    assert found.summary.errors == 1


def test_arguments_that_could_not_be_parsed_are_unknown() -> None:
    found = read(ASKED, calling("a", parse_error="bad JSON"), back("a"), DONE)
    assert found.losses["unparsable_arguments"] == 1


@pytest.mark.parametrize(
    ("more", "truncated", "broken"),
    [
        ({}, False, False),
        ({"limit": {"type": "message", "limit": 10}}, True, False),
        ({"output": {"choices": [{"stop_reason": "max_tokens"}]}}, True, False),
        ({"output": {"choices": [{"stop_reason": "stop"}]}}, False, False),
        ({"error": {"message": "boom", "traceback": "…"}}, True, True),
    ],
)
def test_how_it_ended(more: Any, truncated: bool, broken: bool) -> None:
    recording = read(*MESSAGES, **more).only
    assert recording.trajectory is not None
    assert recording.trajectory.truncated is truncated
    assert (recording.error is not None) is broken
    assert (recording.output is UNSET) is broken


def test_attachments_stand_where_they_are_named() -> None:
    found = read(ASKED, calling("a"), back("a", "attachment://h1"), DONE, attachments={"h1": "long"})
    assert found.steps[2].result == "long"
    lost = read(ASKED, calling("a"), back("a", "attachment://h2"), DONE, attachments={"h1": "long"})
    assert lost.losses["missing_attachments"] == 1


def test_calls_that_only_events_know_stand_where_they_happened() -> None:
    events = [
        tool("a", agent_span_id="s1"),
        {"event": "span_begin", "id": "s2", "parent_id": "s1"},
        tool("x", "delete", span_id="s2", result="gone"),
        tool("b"),
        tool("y", "late", error={"type": "limit", "message": "no"}),
    ]
    found = read(ASKED, calling("a"), back("a"), calling("b"), back("b"), events=events)
    assert [(step.kind, step.tool_name, step.inside) for step in found.steps] == [
        ("message", None, None),
        ("tool_call", "bash", None),
        ("tool_result", "bash", None),
        ("tool_call", "delete", 2),
        ("tool_result", "delete", 2),
        ("tool_call", "bash", None),
        ("tool_result", "bash", None),
        ("tool_call", "late", None),
        ("tool_result", "late", None),
    ]
    assert found.losses == {"unplaced_calls": 2}


def test_older_logs_nest_the_events_of_a_call() -> None:
    events = [tool("a", events=[tool("x", "delete", result="gone")])]
    found = read(ASKED, calling("a"), back("a"), events=events)
    assert [step.inside for step in found.steps if step.tool_name == "delete"] == [2, 2]


def test_a_transfer_hands_control_over() -> None:
    events = [tool("t", "transfer_to_billing", agent="billing")]
    found = read(ASKED, calling("t", name="transfer_to_billing"), back("t"), DONE, events=events)
    assert found.steps[3].to_agent == "billing"


def test_an_archive_holds_a_file_a_sample() -> None:
    for name in ("header.json", "_journal/start.json"):
        data = zipped(sample(*MESSAGES), sample(*MESSAGES) | {"id": "8"}, name=name)
        found = imported("inspect", data, file="logs/a.eval")
        assert [name for name, _ in found.names] == ["7", "8"]
        assert found.recordings[0].trajectory == read(*MESSAGES).only.trajectory
        assert claims(data, "a.eval") == {"inspect": Confidence.CERTAIN}


def zstandard_zip(data: bytes, *, size: int | None = None, packed: bytes | None = None) -> bytes:
    """An archive as new logs are: one sample, compressed with method 93, which zipfile does not write."""
    zstandard = pytest.importorskip("zstandard")
    held = bytearray(zipped())
    packed = zstandard.ZstdCompressor().compress(data) if packed is None else packed
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w", zipfile.ZIP_STORED) as opened:
        opened.writestr("header.json", json.dumps({"eval": EVAL}))
        opened.writestr("samples/1_epoch_1.json", packed)
    held = bytearray(stored.getvalue())
    local = held.index(b"PK\x03\x04", 1)
    central = held.index(b"PK\x01\x02", held.index(b"PK\x01\x02") + 1)
    checksum, whole = archive.zlib.crc32(data), len(data) if size is None else size
    for start, method in ((local, 8), (central, 10)):
        held[start + method : start + method + 2] = pack("<H", 93)
        crc = start + method + 6
        held[crc : crc + 4] = pack("<I", checksum)
        held[crc + 8 : crc + 12] = pack("<I", whole)
    return bytes(held)


def test_zstandard_is_read() -> None:
    found = imported("inspect", zstandard_zip(json.dumps(sample(*MESSAGES)).encode()), file="a.eval")
    assert found.only.trajectory == read(*MESSAGES).only.trajectory


def test_without_zstandard_the_line_that_installs_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    data = zstandard_zip(json.dumps(sample(*MESSAGES)).encode())
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    assert "compressed with Zstandard" in refusal("inspect", data, "a.eval")[0][3]


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_BYTES", 1000)
    bomb = zipped(sample(ASKED, {"role": "user", "content": "0" * 100_000}))
    assert "at most 1000 are read" in refusal("inspect", bomb, "a.eval")[0][3]
    lying = zstandard_zip(b"0" * 100_000, size=900)
    assert refusal("inspect", lying, "a.eval")[0][2] == "OLO321"


def test_what_a_frame_says_of_its_size_is_not_believed() -> None:
    zstandard = pytest.importorskip("zstandard")
    claims_a_terabyte = zstandard.ZstdCompressor().compressobj(size=2**40)
    frame = claims_a_terabyte.compress(b"0" * 1000) + claims_a_terabyte.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    assert zstandard.frame_content_size(frame) == 2**40
    assert refusal("inspect", zstandard_zip(b"0" * 1000, packed=frame), "a.eval")[0][2] == "OLO321"


def test_members_that_lie_in_one_another_are_refused() -> None:
    whole = bytearray(zipped(sample(*MESSAGES)))
    for size in (m.start() + 20 for m in re.finditer(rb"PK\x01\x02", whole)):
        whole[size : size + 4] = pack("<I", len(whole))
    assert "lie in one another" in refusal("inspect", bytes(whole), "a.eval")[0][3]


def test_a_member_before_the_beginning_of_the_file_is_refused() -> None:
    for whole in (bytearray(zipped(sample(*MESSAGES))), bytearray(zstandard_zip(b"{}"))):
        end = whole.index(b"PK\x05\x06") + 16
        whole[end : end + 4] = pack("<I", unpack("<I", whole[end : end + 4])[0] + 256)
        assert refusal("inspect", bytes(whole), "a.eval")[0][2] == "OLO321"


def test_a_method_that_logs_do_not_use_is_refused() -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_LZMA) as opened:
        opened.writestr("samples/1_epoch_1.json", json.dumps(sample(*MESSAGES)))
    assert "compressed by method 14" in refusal("inspect", held.getvalue(), "a.eval")[0][3]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"{}", "OLO322"),
        (b"7", "OLO322"),
        (json.dumps({"eval": EVAL, "samples": [1]}).encode(), "OLO322"),
        (json.dumps({"eval": EVAL}).encode(), "OLO323"),
        (zipped(), "OLO323"),
        (zipped(sample())[:200], "OLO321"),
        (b"PK\x03\x04", "OLO321"),
    ],
)
def test_what_is_no_log_or_an_empty_one(data: bytes, code: str) -> None:
    assert code in [found[2] for found in refusal("inspect", data, "a.eval")]


def test_a_damaged_member_is_told() -> None:
    whole = bytearray(zipped(sample(*MESSAGES)))
    whole[whole.index(b"samples/") + 60] ^= 255
    assert "cannot be unpacked" in refusal("inspect", bytes(whole), "a.eval")[0][3]


@pytest.mark.skipif(not SAMPLES.exists(), reason="the sample files are not here")
def test_real_files() -> None:
    found = {path.name[:12]: imported("inspect", path.read_bytes(), file=path.name) for path in SAMPLES.glob("*.*")}
    assert {name: read.summary for name, read in found.items()} == {
        "2025-05-12T2": Summary(trajectories=1, steps=10, calls=4, results=4),
        "log_tool_cal": Summary(trajectories=1, steps=11, results=11, errors=11, truncated=1),
        "log_message_": Summary(trajectories=1, steps=17, calls=5, results=5),
        "log_read_sam": Summary(trajectories=1, steps=2),
    }
