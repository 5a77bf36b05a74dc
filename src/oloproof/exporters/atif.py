"""Harbor ATIF, a trajectory a line. A step of ATIF is an answer of the agent with all its calls and their results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET, Struct
from msgspec.json import encode
from msgspec.structs import replace

from oloproof.exporters.format import (
    TRACE_LOSSES,
    Exporter,
    count_around,
    count_changes,
    raw_arguments,
    tell_steps,
    words_of,
)
from oloproof.importers.pairing import Call, Waiting
from oloproof.model.recording import Recording
from oloproof.model.trajectory import Step, Trajectory

VERSION: Final = "ATIF-v1.6"

LOSSES: Final[Mapping[str, str]] = {
    **TRACE_LOSSES,
    "cost_usd": "costs of users' messages, results, and all but the first of several calls",
    "error": "errors of results, and word that there was none: an error is written as the result",
    "errors_recorded": "trajectories that record errors",
    "input": "inputs that are not the user's first words",
    "kind": "last words that end a run: written as messages",
    "latency_ms": "times of steps",
    "no_trajectory": "runs without a trajectory: left out",
    "order": "results that came after the agent went on: written with their call",
    "result": "results that are no text: written as JSON",
    "tokens": "tokens of users' messages, results, and all but the first of several calls",
    "truncated": "trajectories that were cut off",
    "unanswering": "results that answer no call, or of several calls without ids another than the first: left out",
    "unrecorded_results": "results of which nothing was recorded: left out",
}

Fields = dict[str, Any]


class Told(Struct):
    """A trajectory in ATIF: its ``steps``, and the trajectory that is read back from them."""

    steps: list[Fields]
    read_back: Trajectory


def write(recordings: Iterable[Recording], losses: Counter[str]) -> Iterator[bytes]:
    """A trajectory a line."""
    for recording in recordings:
        if recording.trajectory is None:
            losses["no_trajectory"] += 1
            continue
        told = tell(recording.trajectory, losses)
        _count(recording, told.read_back, losses)
        whole = {
            "schema_version": VERSION,
            "session_id": recording.case,
            "agent": {"name": "agent", "version": "unknown"},
            "steps": told.steps,
        }
        yield encode(whole) + b"\n"


def tell(trajectory: Trajectory, losses: Counter[str]) -> Told:
    """The steps as ATIF has them, and as they are read back; whatever differs is counted."""
    teller = _Teller(losses)
    tell_steps(trajectory.steps, teller, losses)
    read_back = Trajectory(steps=tuple(teller.finish()), errors_recorded=False)
    count_changes(trajectory, read_back, losses, apart_from=("steps",))
    return Told(teller.written, read_back)


def _count(recording: Recording, read_back: Trajectory, losses: Counter[str]) -> None:
    """What is lost around the steps."""
    words = [(step.arguments["role"], step.arguments["content"]) for step in read_back.steps if step.kind == "message"]
    asked = [content for role, content in words if role == "user"]
    said = [content for role, content in words if role == "assistant" and content]
    count_around(recording, losses)
    losses["input"] += recording.input != (asked[0] if asked else UNSET)
    losses["output"] += recording.output != ({"answer": said[-1]} if said else UNSET)


class _Block(Struct):
    """A step of ATIF as it is written, and the steps before and after that are in it: a message, or the calls of an
    answer (of ``turn``, where that was recorded) and the results that came back."""

    written: Fields
    pairs: list[tuple[Step, Step]] = []
    turn: int | None = None
    calls: list[Call] = []
    answered: set[int] = set()


class _Teller:
    """Tells steps one by one."""

    def __init__(self, losses: Counter[str]) -> None:
        self._losses = losses
        self._blocks: list[_Block] = []
        self._waiting = Waiting()
        self._asking: dict[int, _Block] = {}
        self._turns = 0

    @property
    def written(self) -> list[Fields]:
        """The steps as ATIF has them."""
        return [block.written for block in self._blocks]

    def finish(self) -> list[Step]:
        """The steps as they are read back. What became of each is counted."""
        pairs = [pair for block in self._blocks for pair in block.pairs]
        for before, read in pairs:
            count_changes(before, read, self._losses, apart_from=("index", "turn"))
        return [replace(read, index=number) for number, (_, read) in enumerate(pairs, 1)]

    def _open(self, source: str, message: str, **fields: Any) -> _Block:
        block = _Block({"step_id": len(self._blocks) + 1, "source": source, "message": message, **fields})
        self._blocks.append(block)
        self._turns += source == "agent"
        return block

    def say(self, step: Step) -> None:
        role, text = words_of(step)
        if role == "user":
            read = _step(kind="message", arguments={"role": "user", "content": text})
            self._open("user", text).pairs.append((step, read))
        else:
            read = _step(kind="message", arguments={"role": "assistant", "content": text})
            read = replace(read, tokens=step.tokens, cost_usd=step.cost_usd)
            self._open("agent", text, **_metrics([step])).pairs.append((step, read))

    def call(self, step: Step) -> None:
        block = self._blocks[-1] if self._blocks else None
        if block is None or step.turn is None or block.turn != step.turn or "observation" in block.written:
            block = self._open("agent", "", tool_calls=[])
            block.turn = step.turn
        raw = raw_arguments(step.arguments)
        written = {"tool_call_id": step.call_id or "", "function_name": step.tool_name}
        block.written["tool_calls"].append(written if raw is None else {**written, "arguments": raw})
        call = Call(len(block.pairs), step.tool_name or "", step.call_id or "", self._turns)
        block.calls.append(call)
        self._asking[id(call)] = block
        self._waiting.add(call)
        arguments = None if raw is None else step.arguments
        read = _step(kind="tool_call", tool_name=step.tool_name, call_id=step.call_id or None, arguments=arguments)
        block.pairs.append((step, read))
        spent = _metrics([before for before, _ in block.pairs])
        block.written.update(spent)
        metrics = spent.get("metrics", {})
        tokens, cost = metrics.get("completion_tokens"), metrics.get("cost_usd")
        for number, (before, each) in enumerate(block.pairs):
            turn = self._turns if len(block.pairs) > 1 else None
            block.pairs[number] = (before, replace(each, turn=turn, tokens=tokens, cost_usd=cost))
            tokens, cost = (None if tokens is None else 0), (None if cost is None else 0.0)

    def result(self, step: Step) -> None:
        call = self._waiting.answer(step.call_id or "", step.tool_name)
        if call is None:
            self._losses["unanswering"] += 1
            return
        block = self._asking[id(call)]
        fitting = (each for each in block.calls if not call.call_id or each.call_id == call.call_id)
        if next((each for each in fitting if each.index not in block.answered), None) is not call:
            self._losses["unanswering"] += 1  # whoever reads it would take it for another's
            return
        if step.result is UNSET and not isinstance(step.error, str):
            self._losses["unrecorded_results"] += 1
            return
        self._losses["order"] += block is not self._blocks[-1]
        block.answered.add(call.index)
        content = step.error if isinstance(step.error, str) else step.result
        text = content if content is None or isinstance(content, str) else encode(content).decode()
        link = {"source_call_id": call.call_id} if call.call_id else {}
        block.written.setdefault("observation", {"results": []})["results"].append({**link, "content": text})
        read = _step(kind="tool_result", tool_name=call.name, call_id=call.call_id or None, result=text)
        block.pairs.append((step, read))


def _step(**fields: Any) -> Step:
    return Step(index=1, **fields)


def _metrics(steps: Sequence[Step]) -> Fields:
    tokens = [step.tokens for step in steps if step.tokens is not None]
    costs = [step.cost_usd for step in steps if step.cost_usd is not None]
    spent: Fields = {"completion_tokens": sum(tokens)} if tokens else {}
    if costs:
        spent["cost_usd"] = sum(costs)
    return {"metrics": spent} if spent else {}


EXPORTER: Final = Exporter(name="atif", about="Harbor ATIF trajectories, one a line", write=write, losses=LOSSES)
