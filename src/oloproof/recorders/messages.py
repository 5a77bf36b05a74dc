"""Lists of messages, as a framework or the API of a provider has them: handed over once the agent is done.

What is recorded is what importing the same messages gives, since the importers read them here too. No framework is
imported: messages are plain objects, or values that know how to become one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from msgspec.structs import replace

from oloproof.errors import RecordError
from oloproof.importers.conversations import Conversation, MessageError
from oloproof.importers.format import Run
from oloproof.importers.formats import anthropic, openai, openai_responses, pydantic_ai
from oloproof.model.values import Json
from oloproof.record.case import current_case
from oloproof.recorders.plain import plain


def record_openai(messages: Iterable[Any], *, truncated: bool = False) -> None:
    """Record the running case from its messages: ``record_openai(messages)``, at the end.

    ``messages`` are those of Chat Completions, or items of the Responses API, each a dictionary or an object of the
    ``openai`` package. ``truncated`` says that the agent was cut off and might have gone on (``finish_reason`` was
    ``length``, or it raised); it is known by itself where the last call has no result.

    Errors: RecordError outside a case, where the case has been recorded already, and for what is no list of messages.
    """
    listed = _listed(messages, "record_openai")
    is_responses = any(map(openai_responses.is_ours, listed))
    read = openai_responses.run if is_responses else openai.run
    _record(read, listed, "record_openai", truncated=truncated)


def record_anthropic(messages: Iterable[Any], *, truncated: bool = False) -> None:
    """Record the running case from messages of Anthropic's API: ``record_anthropic(messages)``, at the end.

    Each message is a dictionary or an object of the ``anthropic`` package, whose blocks may be either too.
    ``truncated`` says that the agent was cut off and might have gone on (``stop_reason`` was ``max_tokens``, or it
    raised). It is known by itself where the last message is a whole response, and where the last call has no result.

    Errors: RecordError outside a case, where the case has been recorded already, and for what is no list of messages.
    """
    _record(anthropic.run, _listed(messages, "record_anthropic"), "record_anthropic", truncated=truncated)


def record_pydantic_ai(result_or_messages: Any, *, output_tools: Collection[str] = (), truncated: bool = False) -> None:
    """Record the running case from a run of Pydantic AI: ``record_pydantic_ai(result)``, at the end.

    It takes the result of a run (all of its messages) or a list of messages (``result.new_messages()``, what
    ``capture_run_messages()`` caught). An output tool's call is the agent's answer; one with a name of your own
    (``ToolOutput(name=…)``) is known from a result, and named in ``output_tools`` with a list. ``truncated`` says that
    the agent was cut off and might have gone on; it is known by itself where the messages end on no answer.

    Errors: RecordError outside a case, where the case has been recorded already, and for what is no list of messages.
    """
    name = "record_pydantic_ai"
    told = getattr(result_or_messages, "all_messages", None)
    messages = told() if callable(told) else result_or_messages
    value = {"messages": _listed(messages, name), "output_tools": list(output_tools)}
    if hasattr(result_or_messages, "_output_tool_name"):
        value["output_tool_name"] = result_or_messages._output_tool_name
    _record(pydantic_ai.run, value, name, truncated=truncated)


def _listed(messages: Iterable[Any], name: str) -> list[Json]:
    """The messages as JSON."""
    if isinstance(messages, str | bytes | dict) or not isinstance(messages, Iterable):
        raise _no_messages(name, f"it takes a list of messages, not {type(messages).__name__}")
    return [plain(message) for message in messages]


def _record(read: Callable[[Conversation, str], Run], value: Json, name: str, *, truncated: bool) -> None:
    case = current_case()
    try:
        trajectory = read(Conversation("", 0, value), "").trajectory
    except MessageError as error:
        where = f"message {error.message}: " if error.message else ""
        raise _no_messages(name, f"{where}{error}{f' ({error.hint})' if error.hint else ''}") from None
    assert trajectory is not None  # a list of messages always tells one
    if not trajectory.steps and not truncated:
        raise _no_messages(name, "there is no message to record: hand the list over when the agent is done")
    case.agent_trajectory(replace(trajectory, truncated=truncated or trajectory.truncated))


def _no_messages(name: str, what: str) -> RecordError:
    return RecordError(f"{name}: {what}", code="OLO699")
