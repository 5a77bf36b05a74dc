"""Runs of LangSmith: what its tracers record of chains, models and tools.

A trace is a tree of runs, ordered by ``dotted_order``. The root's inputs and error are those of the whole; runs of one
example of a dataset (``reference_example_id``) are trials of a case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any, Final

from msgspec import UNSET

from oloproof.errors import Problem
from oloproof.importers import codes
from oloproof.importers.agent_spans import LOSSES as SPAN_LOSSES
from oloproof.importers.agent_spans import Span, milliseconds, total_tokens, tree
from oloproof.importers.agent_telling import Teller, Told
from oloproof.importers.builder import Builder
from oloproof.importers.documents import documents
from oloproof.importers.foreign import before_traceback, joined_text, list_of, object_of, text_id
from oloproof.importers.format import Confidence, Importer, Item, Lost, Run
from oloproof.importers.head import Head
from oloproof.importers.langchain_messages import Message, heard_of, message_of, messages_of
from oloproof.importers.langgraph_agents import Agents, agents_of, command_of
from oloproof.importers.source import Source
from oloproof.model.case import system_error
from oloproof.model.values import Json

WAITING: Final = ("GraphInterrupt", "NodeInterrupt")
CUT_OFF: Final = ("GraphRecursionError", *WAITING)
"""Errors that end a run before it is done, and are none of the system."""
MOST_CHAINS: Final = 10
"""How far around a model its input is looked for."""

LOSSES: Final[Mapping[str, str]] = {
    **SPAN_LOSSES,
    "no_runs": "values among the runs that are none",
    "searches": "retrievers and embeddings: they are no step of the agent",
    "reasoning": "the model's reasoning: it is no step",
    "other_content": "blocks of messages that are neither text nor a call: images, files, data",
}

Fields = dict[str, Any]


def sniff(head: Head) -> Confidence | None:
    return Confidence.CERTAIN if any(_is_run(value) for each in head.values for value in _runs(each)) else None


def _is_run(value: Json) -> bool:
    match value:
        case {"run_type": str(), "id": _} | {"run_type": str(), "dotted_order": str()}:
            return True
        case _:
            return False


def _runs(value: Json) -> Iterator[Json]:
    """The runs of a list or an answer of the API, and those below them (``child_runs``)."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting.extend(reversed(each))
        elif isinstance(each, dict) and isinstance(each.get("runs"), list) and not _is_run(each):
            waiting.extend(reversed(each["runs"]))
        else:
            yield each
            if isinstance(each, dict):
                below = [object_of(child) for child in list_of(each.get("child_runs"))]
                inherited = {"trace_id": _trace_id(each), "parent_run_id": each.get("id")}
                waiting.extend({**inherited, **child} for child in reversed(below))


def read(sources: Sequence[Source]) -> Iterator[Item]:
    """Arrays or JSON Lines of runs, nested or not, or answers of the API; a trace is a run, and may be spread over all
    files."""
    traces: dict[str, tuple[str, int, list[Fields]]] = {}
    for source in sources:
        for document in documents(source):
            if isinstance(document, Problem):
                yield document
                continue
            for value in _runs(document.value):
                if isinstance(value, dict) and _is_run(value):
                    traces.setdefault(_trace_id(value), (source.name, document.line, []))[2].append(value)
                else:
                    yield Lost("no_runs", source.name, document.line)
    for file, line, runs in traces.values():
        yield _run(runs, file, line)
    if sources and not traces:
        yield Problem(codes.NO_RUN, "no run is in it", "export the runs of a project", file=sources[0].name)


def _trace_id(run: Fields) -> str:
    path = text_id(run.get("dotted_order")).partition(".")[0]
    return text_id(run.get("trace_id")) or path.partition("Z")[2] or text_id(run.get("id"))


def _run(runs: Sequence[Fields], file: str, line: int) -> Run:
    builder = Builder()
    told = tell(runs, builder)
    root = root_of(runs)
    error = _error(root)
    example = text_id(root.get("reference_example_id"))
    inputs, outputs = root.get("inputs"), root.get("outputs")
    return Run(
        file=file,
        line=line,
        case=example or None,
        output=UNSET if error else outputs if builder.output is UNSET and outputs else builder.output,
        error=system_error(told.error) if told.error else None,
        trajectory=builder.trajectory(truncated=told.truncated),
        input=inputs if inputs is not None else {"messages": list(told.opening)} if told.opening else UNSET,
        metadata=_facts(root),
        of_case=(),
        losses=builder.losses,
        unanswered=len(builder.unanswered),
        origin={"root": root, "runs": list(runs)},
    )


def tell(runs: Sequence[Fields], builder: Builder, *, is_last: bool = True) -> Told:
    """Tell the builder what the runs of one trace say. After the last trace of a run, the words that ended it are its
    final step."""
    spans = [_span(run, position, builder) for position, run in enumerate(runs)]
    above = {span.id: (run, span.parent) for run, span in zip(runs, spans, strict=True)}
    agents = agents_of(above)
    for span in spans:
        span.agent = agents.of_run.get(span.id) or span.agent
        if span.kind == "model":
            span.heard = _heard(span.id, above)
        elif span.kind == "tool":
            span.hands_to = agents.after_tool(above[span.id][0].get("outputs"))
    teller = Teller(builder, tree([*spans, *_hand_offs(spans, above, agents)], builder))
    root = root_of(runs)
    error = _error(root)
    is_cut = any(name in error for name in CUT_OFF) or any(_waits(run) for run in runs)
    is_cut |= root.get("status") == "pending" and not root.get("end_time")
    broken = "" if is_cut else error
    truncated = is_cut or bool(broken) or teller.cut_off or builder.ends_on_open_call
    if is_last and not truncated:
        teller.finish()
    return Told(opening=teller.opening, truncated=truncated, error=broken)


def root_of(runs: Sequence[Fields]) -> Fields:
    """The run that all others of a trace are below."""
    keys = [_key(run, position) for position, run in enumerate(runs)]
    return runs[min(range(len(runs)), key=lambda position: (bool(_parent(runs[position])), keys[position]))]


def _hand_offs(spans: Sequence[Span], above: Mapping[str, tuple[Fields, str]], agents: Agents) -> Iterator[Span]:
    """Nodes that give control to another agent's, at their end."""
    for span in spans:
        run = above[span.id][0]
        agent, receiver = agents.after(run)
        if agent:
            path = span.order[0]
            order = (f"{path}.~" if path else "", span.end or span.start or 0, inf)  # after all that is below it
            yield Span(id=f"{span.id} >", parent=span.id, kind="handoff", name=receiver, agent=agent, order=order)


def _waits(run: Fields) -> bool:
    """Somebody was asked in it, and has not answered."""
    return _error(run).startswith(WAITING)


def _facts(root: Fields) -> Fields:
    feedback = {name: object_of(stats).get("avg") for name, stats in object_of(root.get("feedback_stats")).items()}
    known = {"name": root.get("name"), "trace_id": _trace_id(root), "tags": root.get("tags"), "feedback": feedback}
    own = object_of(object_of(root.get("extra")).get("metadata"))
    return {key: fact for key, fact in known.items() if fact} | own


def _span(run: Fields, position: int, builder: Builder) -> Span:
    path = text_id(run.get("dotted_order"))
    extra = object_of(run.get("extra"))
    span = Span(
        id=text_id(run.get("id")) or path.rpartition("Z")[2] or f"#{position}",
        parent=_parent(run),
        kind="group",
        agent=text_id(object_of(extra.get("metadata")).get("lc_agent_name")),
        order=_key(run, position),
        start=milliseconds(run.get("start_time")),
        end=milliseconds(run.get("end_time")),
        error=_error(run),
    )
    match run["run_type"]:
        case "llm":
            span.kind = "model"
            answered = _answered(run.get("outputs"))
            span.answer = None if answered is None else answered.answer(builder.losses)
            builder.losses["unknown_kinds"] += answered is None and bool(run.get("outputs"))
            span.tokens = _tokens(run, answered)
        case "tool":
            span.kind, span.name = "tool", text_id(run.get("name"))
            span.arguments, span.call_id = _arguments(run.get("inputs")), text_id(extra.get("tool_call_id"))
            if _waits(run):
                span.error, span.end = "", None
            else:
                _answer_tool(span, run.get("outputs"))
        case "retriever" | "embedding":
            builder.losses["searches"] += 1
        case "chain" | "prompt" | "parser":
            pass
        case _:
            builder.losses["unknown_kinds"] += 1
    return span


def _parent(run: Fields) -> str:
    return text_id(run.get("parent_run_id")) or _above(text_id(run.get("dotted_order")))


def _key(run: Fields, position: int) -> tuple[str, float, float]:
    """What orders runs: their path, when they began, and where they stand."""
    return text_id(run.get("dotted_order")), milliseconds(run.get("start_time")) or 0, position


def _heard(model: str, above: Mapping[str, tuple[Fields, str]]) -> list[Json]:
    """What a model was given; where its run has it as one text, what the chain around it was."""
    for _ in range(MOST_CHAINS):
        if model not in above:
            break
        run, model = above[model]
        messages = messages_of(object_of(run.get("inputs")).get("messages"))
        if messages:
            return heard_of(messages)
    return []


def _above(path: str) -> str:
    """The run above, by the order of a run: each part of it is a time and an id."""
    return path.rpartition(".")[0].rpartition(".")[2].partition("Z")[2]


def _arguments(inputs: Json) -> Json:
    """What a tool was given: tracers write one text, decorated functions their arguments."""
    match inputs:
        case {"input": given, **others} if not others:
            return given
        case _:
            return inputs


def _answer_tool(span: Span, outputs: Json) -> None:
    given = outputs["output"] if isinstance(outputs, dict) and len(outputs) == 1 and "output" in outputs else outputs
    command = command_of(given)
    if command is not None:
        given = _result_in(command, span.call_id)
    message = message_of(given)
    if message is not None and message.kind == "tool":
        content = joined_text(message.fields.get("content"))
        span.call_id = text_id(message.fields.get("tool_call_id")) or span.call_id
        if message.fields.get("status") == "error":
            span.error = span.error or text_id(content) or "failed"
        span.result = content
    elif given is not None:
        span.result = given


def _result_in(command: Fields, call_id: str) -> Json:
    """The message that a tool's command has for the model: that of its call, or the last one."""
    update = command.get("update")
    held = list_of(object_of(update).get("messages")) or list_of(update)
    messages = [(each, message.fields) for each in held if (message := message_of(each)) and message.kind == "tool"]
    own = [each for each, fields in messages if fields.get("tool_call_id") == call_id]
    return own[-1] if own else messages[-1][0] if messages else None


def _answered(outputs: Json) -> Message | None:
    """The message that a model answered with, whichever client wrote it down."""
    match outputs:
        case {"generations": [[{"message": said}, *_], *_] | [{"message": said}, *_]}:
            return message_of(said)
        case {"generations": [[{"text": str(text)}, *_], *_] | [{"text": str(text)}, *_]}:
            return Message("ai", {"content": text})
        case {"choices": [{"message": said}, *_]} | {"message": said} | {"messages": [*_, said]} | {"output": said}:
            return message_of(said)
        case _:
            return message_of(outputs)


def _tokens(run: Fields, answered: Message | None) -> int | None:
    outputs = object_of(run.get("outputs"))
    usages = (
        run,
        None if answered is None else answered.fields.get("usage_metadata"),
        outputs.get("usage_metadata"),
        outputs.get("usage"),
        object_of(outputs.get("llm_output")).get("token_usage"),
    )
    return next((count for count in map(total_tokens, usages) if count is not None), None)


def _error(run: Fields) -> str:
    """What a run's error says, without the traceback."""
    error = run.get("error")
    if not error:
        return "failed" if run.get("status") == "error" else ""
    return before_traceback(text_id(error)) or "failed"


IMPORTER: Final = Importer(
    name="langsmith",
    about="runs of LangSmith, as its API and its tracers give them",
    sniff=sniff,
    read=read,
    losses=LOSSES,
)
