"""LangChain and LangGraph: what their callbacks tell of a running case becomes its trajectory.

Events are kept as the runs that LangSmith's tracer would make of them, and read as the importer of ``langsmith`` reads
those from a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import cache, wraps
from itertools import groupby
from threading import Lock
from typing import Any, Final, Protocol
from uuid import UUID

from oloproof.importers.builder import Builder
from oloproof.importers.formats.langsmith import tell
from oloproof.model.trajectory import Trajectory
from oloproof.model.values import Json, snapshot
from oloproof.record.case import current_case
from oloproof.recorders.plain import plain, readable
from oloproof.recorders.recording import needing, recording

NOTHING: Final = (
    "record_langchain saw no run of a model or a tool: nothing is recorded of this case. In a thread that knows of no "
    'context, hand the handler on: with record_langchain() as handler: chain.invoke(…, {"callbacks": [handler]})'
)
PLACE: Final = ("langgraph_node", "langgraph_checkpoint_ns", "lc_agent_name", "ls_integration")
"""The metadata of a run that say where it was."""

Fields = dict[str, Any]


class Message(Protocol):
    """A message of LangChain, as far as it is read here."""

    @property
    def type(self) -> str: ...
    @property
    def content(self) -> Any: ...


def _told(tell: Callable[..., None]) -> Callable[..., None]:
    """An event that cannot be read is not lost in silence, though LangChain does no more than log what is raised: the
    record has a gap then."""

    @wraps(tell)
    def telling(handler: Handler, *arguments: Any, **more: Any) -> None:
        try:
            tell(handler, *arguments, **more)
        except Exception:
            handler.has_gap = True
            raise

    return telling


class Handler:
    """A callback handler that keeps what it is told of, until it is closed. Threads and tasks may tell it at once."""

    raise_error = False
    run_inline = True  # events come in the order in which things happen

    def __init__(self) -> None:
        self._lock = Lock()
        self._runs: dict[str, Fields] = {}
        self._is_over = False
        self.has_gap = False
        """Something was told that could not be read."""

    def close(self) -> list[list[Fields]]:
        """The runs by trace, in the order in which they began. What comes later is not taken."""
        with self._lock:
            self._is_over = True
        traces: dict[str, list[Fields]] = {}
        for run in self._runs.values():
            traces.setdefault(run["trace_id"], []).append(run)
        return list(traces.values())

    # --- what begins ----------------------------------------------------------------------------------------------

    @_told
    def on_chain_start(self, serialized: Fields | None, inputs: Any, *, run_id: UUID, **more: Any) -> None:
        self._begin("chain", serialized, {}, run_id, more)

    @_told
    def on_chat_model_start(
        self, serialized: Fields | None, messages: Sequence[Sequence[Message]], *, run_id: UUID, **more: Any
    ) -> None:
        self._begin("llm", serialized, {"messages": [_heard(batch) for batch in messages]}, run_id, more)

    @_told
    def on_llm_start(self, serialized: Fields | None, prompts: Sequence[str], *, run_id: UUID, **more: Any) -> None:
        said = [[{"type": "human", "content": prompt}] for prompt in prompts]
        self._begin("llm", serialized, {"messages": said}, run_id, more)

    @_told
    def on_tool_start(self, serialized: Fields | None, input_str: str, *, run_id: UUID, **more: Any) -> None:
        inputs = more.get("inputs")
        given = {"input": inputs if isinstance(inputs, dict) else input_str}
        self._begin("tool", serialized, given, run_id, more)

    @_told
    def on_retriever_start(self, serialized: Fields | None, query: str, *, run_id: UUID, **more: Any) -> None:
        self._begin("retriever", serialized, {}, run_id, more)

    # --- and how it ends ------------------------------------------------------------------------------------------

    @_told
    def on_chain_end(self, outputs: Any, *, run_id: UUID, **more: Any) -> None:
        command = _command(outputs)
        self._end(run_id, outputs=None if command is None else {"output": command})

    @_told
    def on_llm_end(self, response: Any, *, run_id: UUID, **more: Any) -> None:
        self._end(run_id, outputs=_answered(response))

    @_told
    def on_tool_end(self, output: Any, *, run_id: UUID, **more: Any) -> None:
        self._end(run_id, outputs={"output": _command(output) or readable(output)})

    @_told
    def on_retriever_end(self, documents: Any, *, run_id: UUID, **more: Any) -> None:
        self._end(run_id)

    @_told
    def on_chain_error(self, error: BaseException, *, run_id: UUID, **more: Any) -> None:
        self._end(run_id, error=repr(error))

    on_llm_error = on_tool_error = on_retriever_error = on_chain_error

    def _begin(self, kind: str, serialized: Fields | None, inputs: Json, run_id: UUID, more: Fields) -> None:
        name, above = str(run_id), more.get("parent_run_id")
        metadata = more.get("metadata") or {}
        extra = {"metadata": {key: metadata[key] for key in PLACE if key in metadata}}
        known = serialized or {}
        run = {
            "id": name,
            "parent_run_id": None if above is None else str(above),
            "run_type": kind,
            "name": more.get("name") or known.get("name") or (known.get("id") or [""])[-1],
            "inputs": inputs,
            "extra": extra | {"tool_call_id": more.get("tool_call_id")},
            "start_time": _now(),
            "status": "pending",
        }
        told = snapshot(run)
        with self._lock:
            if self._is_over:
                return
            self._make_room(name)
            parent = self._runs.get(str(above))
            told["trace_id"] = name if parent is None else parent["trace_id"]
            path = "" if parent is None else f"{parent['dotted_order']}."
            told["dotted_order"] = f"{path}{len(self._runs):012}Z{name}"
            self._runs[name] = told

    def _make_room(self, name: str) -> None:
        """A run stays what it was where another begins under its id, which a program may give; so does its trace."""
        if name not in self._runs:
            return
        other = f"{name} {len(self._runs)}"
        for run in self._runs.values():
            run |= {key: other for key in ("id", "parent_run_id", "trace_id") if run[key] == name}
        self._runs = {other if key == name else key: run for key, run in self._runs.items()}

    def _end(self, run_id: UUID, **facts: Any) -> None:
        told = snapshot({**facts, "end_time": _now()})
        with self._lock:
            run = self._runs.get(str(run_id))
            if run is not None and not self._is_over:
                run |= told
                run.pop("status", None)


_current: ContextVar[Handler | None] = ContextVar("oloproof_langchain", default=None)


@contextmanager
def record_langchain() -> Iterator[Any]:
    """Record the running case from LangChain's callbacks: ``with record_langchain(): return graph.invoke(…)``.

    Whatever runs in the block's context is seen, beside the handlers that are there. The block is given the handler,
    for code that runs without the context: ``{"callbacks": [handler]}``. When the block raises, the trajectory is
    truncated.

    Errors: RecordError outside a case, where the case has been recorded already, and where LangChain is not installed.
    """
    case, handler = current_case(), _handler()
    entered = _current.set(handler)
    try:
        with recording(case, lambda: trajectory_of(handler), nothing=NOTHING):
            yield handler
    finally:
        _current.reset(entered)


def trajectory_of(handler: Handler) -> Trajectory | None:
    """What the handler was told; None where that was of no model and no tool. How the last trace ended, the case
    ended, unless something goes on or could not be read."""
    traces = handler.close()
    if not any(run["run_type"] in ("llm", "tool") for trace in traces for run in trace):
        return None
    goes_on = handler.has_gap or any("status" in run for trace in traces for run in trace)
    builder = Builder()
    ends = [tell(trace, builder, is_last=trace is traces[-1] and not goes_on) for trace in traces]
    return builder.trajectory(truncated=ends[-1].truncated or goes_on)


def _handler() -> Handler:
    with needing("langchain_core", "record_langchain needs LangChain: pip install 'oloproof[langchain]'"):
        return _handler_class()()


@cache
def _handler_class() -> Callable[[], Handler]:
    """The handler as one of LangChain's own, which looks for one in each context from now on."""
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.tracers.context import register_configure_hook

    register_configure_hook(_current, inheritable=True)
    found: Callable[[], Handler] = type("LangChainHandler", (Handler, BaseCallbackHandler), {})
    return found


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _heard(messages: Sequence[Message]) -> list[Fields]:
    """What a model was given: the words of users and systems, and of all between them only that it was there."""
    heard: list[Fields] = []
    for is_kept, some in groupby(messages, key=lambda message: message.type in ("human", "system")):
        said = [{"type": message.type, "content": message.content} for message in some]
        heard.extend(said if is_kept else ({"type": "ai", "content": ""},))
    return heard


def _answered(response: Any) -> Fields:
    """What a model answered: the first of its generations, which is the one that is used."""
    first = next((each for batch in response.generations for each in batch), None)
    message = getattr(first, "message", None)
    said = {"text": getattr(first, "text", "")} if message is None else {"message": plain(message)}
    usage = (getattr(response, "llm_output", None) or {}).get("token_usage")
    return {"generations": [[said]], "llm_output": {"token_usage": plain(usage)}}


def _command(output: Any) -> Fields | None:
    """Where control goes by a command of LangGraph, and the result of the tool that gave it; None for none."""
    held = [each for each in (output if isinstance(output, list | tuple) else (output,)) if _is_command(each)]
    if not held:
        return None
    command = next((each for each in held if each.goto), held[0])
    update = command.update
    messages = update.get("messages", ()) if isinstance(update, Mapping) else update
    results = [message for message in messages or () if getattr(message, "type", None) == "tool"]
    goto = command.goto if isinstance(command.goto, str) else [to for to in command.goto or () if isinstance(to, str)]
    return {"goto": goto, "graph": command.graph, "update": {"messages": [plain(message) for message in results]}}


def _is_command(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "langgraph" and hasattr(value, "goto")
