"""Between the runtime's values and the messages of ``agent.proto``, both ways and without loss."""

from __future__ import annotations

from datetime import UTC
from typing import Any, Final

from msgspec import convert, to_builtins
from msgspec.json import decode, encode

from oloproof.runtime import (
    AgentEvent,
    AgentRunResult,
    AgentStep,
    AgentToolCall,
    AgentToolResult,
    ApprovalRequest,
)
from oloproof.service.errors import missing

try:
    from google.protobuf.message import DecodeError

    from oloproof.service.v1 import agent_pb2 as pb
except ImportError as error:
    raise missing(error.name or "grpcio", what="the service over gRPC") from None


def ask_of(sent: bytes) -> dict[str, Any]:
    """The fields of a ``ConverseRequest`` that are there. Errors: ValueError where it is none."""
    try:
        message = pb.ConverseRequest.FromString(sent)
    except DecodeError as error:
        raise ValueError(str(error)) from None
    fields = {each.name: value for each, value in message.ListFields()}
    for name in ("tenant_id", "principal_id", "goal"):
        fields.setdefault(name, "")
    fields["corpus_ids"] = tuple(message.corpus_ids)
    fields["approvals"] = [
        {"digest": each.digest, "granted": each.granted, "approver": each.approver, "note": each.note}
        for each in message.approvals
    ]
    return fields


SERVICE: Final[str] = pb.DESCRIPTOR.services_by_name["AgentService"].full_name


def serialized(message: Any) -> bytes:
    """The bytes of an ``AgentEvent``."""
    sent: bytes = message.SerializeToString()
    return sent


def message_of(event: AgentEvent) -> Any:
    """An event as a message."""
    message = pb.AgentEvent(
        kind=_number(pb.AgentEventKind, event.kind),
        run_id=event.run_id,
        step_index=event.step_index,
        phase=_number(pb.AgentPhase, event.phase),
        text=event.text,
        error_code=event.error_code,
        message=event.message,
        tool_call=_call(event.tool_call),
        tool_result=_given(event.tool_result),
        result=_result(event.result),
    )
    message.at.FromDatetime(event.at)
    return message


def event_of(message: Any) -> AgentEvent:
    """A message as the event that it was made from."""
    fields: dict[str, Any] = {
        "kind": _name(pb.AgentEventKind, message.kind),
        "run_id": message.run_id,
        "at": message.at.ToDatetime(tzinfo=UTC),
        "phase": _name(pb.AgentPhase, message.phase),
        "tool_call": _call_of(message),
        "tool_result": _given_of(message),
        "result": _result_of(message.result) if message.HasField("result") else None,
    }
    for name in ("step_index", "text", "error_code", "message"):
        fields[name] = getattr(message, name) if message.HasField(name) else None
    return convert({name: value for name, value in fields.items() if value is not None}, AgentEvent)


def _call(call: AgentToolCall | None) -> Any:
    return None if call is None else pb.AgentToolCall(tool=call.tool, arguments_json=_text(call.arguments))


def _given(given: AgentToolResult | None) -> Any:
    if given is None:
        return None
    return pb.AgentToolResult(ok=given.ok, value_json=_text(given.value), error=given.error)


def _step(step: AgentStep) -> Any:
    return pb.AgentStep(
        index=step.index,
        phase=_number(pb.AgentPhase, step.phase),
        thought=step.thought,
        tool_call=_call(step.tool_call),
        tool_result=_given(step.tool_result),
        elapsed_ms=step.elapsed_ms,
    )


def _pending(request: ApprovalRequest | None) -> Any:
    if request is None:
        return None
    fields = to_builtins(request)
    return pb.ApprovalRequest(arguments_json=_text(fields.pop("arguments")), **fields)


def _result(result: AgentRunResult | None) -> Any:
    if result is None:
        return None
    answer = result.final_answer
    is_text = isinstance(answer, str)
    return pb.AgentRunResult(
        run_id=result.run_id,
        request_id=result.request_id,
        goal=result.goal,
        status=_number(pb.StopReason, result.status),
        phase=_number(pb.AgentPhase, result.phase),
        final_answer=answer if is_text or answer is None else _text(answer),
        final_answer_json=None if is_text or answer is None else _text(answer),
        steps=[_step(step) for step in result.steps],
        citations=result.citations,
        chunk_refs=[pb.ChunkRef(**to_builtins(ref)) for ref in result.chunk_refs],
        budget_consumed=pb.BudgetSpend(**to_builtins(result.budget_consumed)),
        elapsed_ms=result.elapsed_ms,
        pending=_pending(result.pending),
        egress=_number(pb.Egress, result.egress),
    )


def _call_of(message: Any) -> dict[str, Any] | None:
    if not message.HasField("tool_call"):
        return None
    return {"tool": message.tool_call.tool, "arguments": decode(message.tool_call.arguments_json)}


def _given_of(message: Any) -> dict[str, Any] | None:
    if not message.HasField("tool_result"):
        return None
    given = message.tool_result
    value = decode(given.value_json) if given.value_json else None
    return {"ok": given.ok, "value": value, "error": given.error if given.HasField("error") else None}


def _step_of(message: Any) -> dict[str, Any]:
    return {
        "index": message.index,
        "phase": _name(pb.AgentPhase, message.phase),
        "thought": message.thought,
        "tool_call": _call_of(message),
        "tool_result": _given_of(message),
        "elapsed_ms": message.elapsed_ms,
    }


def _result_of(message: Any) -> dict[str, Any]:
    answer = message.final_answer if message.HasField("final_answer") else None
    if message.HasField("final_answer_json"):
        answer = decode(message.final_answer_json)
    pending = None
    if message.HasField("pending"):
        pending = _plain(message.pending, "digest", "run_id", "step", "tool", "effect", "history", "reason")
        pending |= {"scopes": list(message.pending.scopes), "arguments": decode(message.pending.arguments_json)}
    spent = message.budget_consumed
    return {
        **_plain(message, "run_id", "goal", "elapsed_ms"),
        "request_id": message.request_id if message.HasField("request_id") else None,
        "status": _name(pb.StopReason, message.status),
        "phase": _name(pb.AgentPhase, message.phase),
        "final_answer": answer,
        "steps": [_step_of(step) for step in message.steps],
        "citations": list(message.citations),
        "chunk_refs": [{each.name: value for each, value in ref.ListFields()} for ref in message.chunk_refs],
        "budget_consumed": _plain(spent, "tokens", "dollars", "wall_ms", "iterations"),
        "pending": pending,
        "egress": _name(pb.Egress, message.egress),
    }


def _plain(message: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(message, name) for name in names}


def _number(kind: Any, value: Any) -> int:
    """The number of an enum's member; 0, which says nothing, for None."""
    if value is None:
        return 0
    number: int = kind.Value(f"{_prefix(kind)}_{value.name}")
    return number


def _name(kind: Any, number: int) -> str | None:
    """The member's value in the runtime, None for 0."""
    if number == 0:
        return None
    name: str = kind.Name(number)
    return name.removeprefix(_prefix(kind) + "_").lower()


def _prefix(kind: Any) -> str:
    """``AGENT_PHASE`` for ``AgentPhase``."""
    name = kind.DESCRIPTOR.name
    return "".join(f"_{letter}" if letter.isupper() and at else letter for at, letter in enumerate(name)).upper()


def _text(value: Any) -> str:
    return encode(value).decode()
