"""What a receiver learns of the one before it, wherever that was cut short."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import pytest

from fakes.telemetry import agent, chat, otlp, says, tool
from oloproof.importers.otel import otlp as otlp_json
from oloproof.receiver import begun, earlier
from oloproof.receiver.begun import Begun
from oloproof.receiver.earlier import Earlier, NotOurs, read
from oloproof.receiver.gathering import Gathering, Waits
from oloproof.receiver.writing import Writer


def gathering(known: Earlier, torn: tuple[str, ...] = ()) -> Gathering:
    return Gathering(Waits(trace_s=1, conversation_s=1), most_bytes=10**6, written=known.written, torn=torn)


def send(kept: Gathering, *names: str, conversation: str = "", more: bool = False) -> None:
    named = {"gen_ai.conversation.id": conversation} if conversation else {}
    spans = []
    for name in names:
        spans += [] if more else [agent("a", f"a{name}", a=named, trace=name)]
        spans += [] if more else [chat(f"m{name}", f"a{name}", 10, said=[says("Hi.")], trace=name)]
        spans += [tool("delete", f"x{name}", f"a{name}", 20, trace=name)] if more else []
    kept.add(list(otlp_json.read(otlp(*spans))), size=1, now=0)


def write(kept: Gathering, writer: Writer) -> None:
    for traces in kept.all():
        writer.run(traces)
    writer.reopen(kept.belied())


def written() -> bytes:
    """A conversation of two traces, twice, and a trace by itself."""
    file = BytesIO()
    writer, kept = Writer(file), gathering(Earlier())
    for names in (("t1", "t2"), ("t3", "t4")):
        send(kept, *names, conversation="c")
        write(kept, writer)
    send(kept, "t5")
    write(kept, writer)
    return file.getvalue()


def cases(file: bytes) -> list[tuple[str, int, bool]]:
    found = [json.loads(line) for line in file.splitlines()]
    return [(each["case"], each.get("trial", 1), "truncated" in each["trajectory"]) for each in found]


def test_what_goes_on_in_the_next_process_is_truncated_in_its_place_and_trials_are_numbered_on() -> None:
    before = written()
    file, known = BytesIO(before), read(before.splitlines(keepends=True))
    assert (known.trajectories, known.size, known.missing) == (3, len(before), b"")
    kept, writer = gathering(known), Writer(file, known)
    send(kept, "t2", "t1", more=True)
    send(kept, "t6", conversation="c")
    write(kept, writer)
    assert cases(file.getvalue()) == [("c", 1, True), ("c", 2, False), ("t5", 1, False), ("c", 3, False)]
    assert (kept.late, writer.reopened, writer.trajectories) == (2, 1, 1)
    after = read(file.getvalue().splitlines(keepends=True))
    assert (after.whole.keys(), list(after.written)) == ({"t3", "t4", "t5", "t6"}, ["t1", "t2", "t3", "t4", "t5", "t6"])


@pytest.mark.parametrize("cut", range(120))
def test_a_file_that_ends_anywhere_is_gone_on_with(cut: int) -> None:
    whole = written()
    lines = whole.splitlines(keepends=True)
    file = whole[: len(whole) - cut]
    known = read(file.splitlines(keepends=True))
    mended = file[: known.size] + known.missing
    assert mended in (whole, b"".join(lines[:2]))
    assert ("t5" in known.written) == (mended == whole)
    kept, writer = gathering(known, torn=() if mended == whole else ("t5",)), Writer(target := BytesIO(mended), known)
    send(kept, "t5", more=True)
    write(kept, writer)
    assert cases(target.getvalue())[-1] == ("t5", 1, True)
    assert kept.torn == set()


@pytest.mark.parametrize(
    "line",
    [b"{}\n", b"x\n", b"\n", b'{"case":"a","trajectory":{},"metadata":{"trace_id":"t"}}\n', b"[" * 10**5 + b"\n"],
)
def test_a_line_that_no_receiver_wrote(line: bytes) -> None:
    with pytest.raises(NotOurs) as caught:
        read([*written().splitlines(keepends=True), line])
    assert caught.value.line == 4


def test_so_many_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier, "MOST_REMEMBERED", 2)
    known = read(written().splitlines(keepends=True))
    assert list(known.written) == list(known.whole) == ["t4", "t5"]
    assert known.trials == {"c": 2, "t5": 1}


def test_what_has_begun_is_there_for_the_next_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(begun, "MOST_REMEMBERED", 3)
    path = tmp_path / "t.begun"
    first = Begun(path)
    assert first.known() == set()
    first.add([])
    assert not path.exists()
    first.add(["a", "b\n", "\ud800"])
    first.add(["c"])
    assert Begun(path).known() == {"b\n", "\ud800", "c"}
    assert first.is_long
    first.keep(["b\n"])
    assert not first.is_long
    with path.open("ab") as file:
        file.write(b'"d')
    second = Begun(path)
    assert second.known() == {"b\n"}
    second.add(["e"])
    assert Begun(path).known() == {"b\n", "e"}
    second.keep([])
    assert list(tmp_path.iterdir()) == []
