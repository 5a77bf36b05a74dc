"""Files that were made to break an importer: they are told or refused, in bounded time and memory."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.formats import SOUND, paths, replaced, sound_archive, sound_file
from fakes.imports import as_lines, imported
from oloproof.errors import UsageError

DEEP: dict[str, Callable[[int], str]] = {
    "arrays": lambda levels: "[" * levels + "]" * levels,
    "objects": lambda levels: '{"messages":' * levels + "1" + "}" * levels,
    "text that is JSON": lambda levels: json.dumps("[" * levels + "]" * levels),
}


def told_or_refused(name: str, data: bytes) -> None:
    for each in ("auto", name):
        with suppress(UsageError):
            imported(each, data)


@pytest.mark.parametrize("name", SOUND)
def test_a_part_that_is_nested_deeply(name: str) -> None:
    """Where a parser gives up is up to the interpreter; what it lets through is not to break what looks into it."""
    depths = cycle([150, 400, 700, 850, 950, 985, 5000])
    for path in paths(SOUND[name]):
        for deep in DEEP.values():
            broken = replaced(SOUND[name], path, "@")
            text = as_lines(*broken) if isinstance(broken, list) else json.dumps(broken).encode()
            told_or_refused(name, text.replace(b'"@"', deep(next(depths)).encode()))


@pytest.mark.parametrize("name", SOUND)
@given(st.data())
@settings(max_examples=100, deadline=None)
def test_a_file_whose_bytes_were_changed(name: str, data: st.DataObject) -> None:
    changed = sound_file(name)
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(changed)))
        end = min(len(changed), start + data.draw(st.integers(0, 40)))
        tokens = st.sampled_from([b"[", b"}", b'"', b"\\", b"\n", b"1e999", b"\xff"])
        pasted = data.draw(st.binary(max_size=8) | tokens)
        changed = changed[:start] + pasted + changed[end:]
    told_or_refused(name, changed)


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=6), st.integers(0, 400))
@settings(max_examples=500, deadline=None)
def test_an_archive_whose_bytes_were_changed(changes: list[tuple[int, int]], left_out: int) -> None:
    whole = bytearray(sound_archive())
    for place, byte in changes:
        whole[place % len(whole)] = byte
    with suppress(UsageError):
        imported("inspect", bytes(whole[: len(whole) - left_out * (left_out > 200)]), file="a.eval")


# Imported by the command, in a process whose memory and CPU time are bounded: it is killed where it needs more.
MOST_BYTES = 3 * 2**30
MOST_CPU_S = 120


def bounded_import(name: str, file: Path) -> subprocess.CompletedProcess[str]:
    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S))

    command = [sys.executable, "-m", "oloproof", "import", name, file.name, "-o", "out.jsonl"]
    return subprocess.run(command, cwd=file.parent, preexec_fn=bound, capture_output=True, text=True, check=False)


def is_told_or_refused(done: subprocess.CompletedProcess[str]) -> bool:
    return done.returncode in (0, 2) and "Traceback" not in done.stderr


@pytest.mark.parametrize("name", SOUND)
def test_text_of_ten_megabytes(name: str, tmp_path: Path) -> None:
    """In the place of texts all over a file, whichever a format takes for an id, a name, a kind or words."""
    file = tmp_path / "big.json"
    text = '{"a": [' + "`x\n" * 3_500_000
    held = [path for path in paths(SOUND[name]) if isinstance(_at(SOUND[name], path), str)]
    value = SOUND[name]
    for number, path in enumerate(held):
        if number % 16 == 0:
            broken = replaced(value, path, text)
            file.write_bytes(as_lines(*broken) if isinstance(broken, list) else json.dumps(broken).encode())
            assert is_told_or_refused(bounded_import(name, file)), path


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


COUNT = 50_000


def span(number: int, parent: str, **facts: str) -> dict[str, Any]:
    attributes = [{"key": key.replace("_", "."), "value": {"stringValue": fact}} for key, fact in facts.items()]
    times = {"startTimeUnixNano": str(number), "endTimeUnixNano": str(number + 1)}
    return {
        "traceId": "t",
        "spanId": str(number),
        "parentSpanId": parent,
        "name": "n",
        **times,
        "attributes": attributes,
    }


def otel_spans(parent: Callable[[int], str]) -> Iterator[Any]:
    """An agent and its tools, each with the parent of its number."""
    for number in range(COUNT):
        facts = {"tool_name": "f", "input_value": str(number)} if number else {"agent_name": "a"}
        one = span(number, parent(number), openinference_span_kind="TOOL" if number else "AGENT", **facts)
        yield {"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]}


SPANS: dict[str, tuple[str, Callable[[], Iterator[Any]]]] = {
    "side by side": ("otel", lambda: otel_spans(lambda number: "0" if number else "")),
    "below one another": ("otel", lambda: otel_spans(lambda number: str(number - 1) if number else "")),
    "in a ring": ("otel", lambda: otel_spans(lambda number: str((number + 1) % COUNT))),
    "with a parent that is nowhere": ("otel", lambda: otel_spans(lambda number: "nowhere")),
    "runs of LangSmith": (
        "langsmith",
        lambda: (
            {"id": str(n), "trace_id": "t", "run_type": "tool", "name": "f", "parent_run_id": str((n + 1) % COUNT)}
            for n in range(COUNT)
        ),
    ),
    "of the Agents SDK": (
        "openai-agents",
        lambda: (
            {
                "object": "trace.span",
                "id": str(n),
                "trace_id": "t",
                "parent_id": str((n + 1) % COUNT),
                "span_data": {"type": "function", "name": "f", "input": "{}", "output": "o"},
            }
            for n in range(COUNT)
        ),
    ),
    "lines of Claude Code": (
        "claude-code",
        lambda: (
            {
                "type": "assistant",
                "sessionId": "s",
                "uuid": str(n),
                "parentUuid": str((n + 1) % COUNT),
                "message": {"id": "m", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {}}]},
            }
            for n in range(COUNT)
        ),
    ),
    "messages without results": (
        "openai",
        lambda: (
            {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]}
            for _ in range(COUNT)
        ),
    ),
}


@pytest.mark.parametrize("shape", SPANS)
def test_very_many_spans(shape: str, tmp_path: Path) -> None:
    name, spans = SPANS[shape]
    file = tmp_path / "many.jsonl"
    with file.open("w") as lines:
        lines.writelines(json.dumps(each) + "\n" for each in spans())
    done = bounded_import(name, file)
    assert is_told_or_refused(done), done.stderr[-2000:]
