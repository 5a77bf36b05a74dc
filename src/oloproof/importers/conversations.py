"""Files of conversations: a list of messages, an object that holds one, a list of either, or JSON Lines of either or of
messages. What a message is, its format says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from oloproof.errors import Problem
from oloproof.importers import codes
from oloproof.importers.documents import Document, documents, too_deep
from oloproof.importers.foreign import list_of, without_nulls
from oloproof.importers.format import Confidence, Item, Run
from oloproof.importers.head import Head
from oloproof.importers.source import Source
from oloproof.model.values import Json

NAMES = ("id", "case_id", "case")
"""Where an object says which case it is of, the first of them that it has."""

_ONE_API = "a list holds the messages of one API, and is read as that one's"


class MessageError(ValueError):
    """A message (``message`` counts from 1, 0: the whole list) that is none, and what to do."""

    def __init__(self, what: str, *, message: int = 0, hint: str = "") -> None:
        super().__init__(what)
        self.message = message
        self.hint = hint


class Conversation(Struct, frozen=True):
    """What may be a run: where it stands (for people), its line in JSON Lines (0 elsewhere), and what it is."""

    where: str
    line: int
    value: Json


def refuse_blocks(message: dict[str, Any]) -> None:
    """Errors: MessageError for a call or a result in the words of Anthropic's API, where another one's are read: it
    would be lost, and whoever looks for a forbidden call would not find it."""
    kinds = [block.get("type") for block in list_of(message.get("content")) if isinstance(block, dict)]
    if any(isinstance(kind, str) and kind.endswith(("tool_use", "tool_result")) for kind in kinds):
        raise MessageError("a call or a result in the words of Anthropic's API", hint=_ONE_API)


def refuse_tool_calls(message: dict[str, Any]) -> None:
    """The same in the words of Chat Completions."""
    if message.get("tool_calls") or message.get("function_call"):
        raise MessageError("a call in the words of Chat Completions", hint=_ONE_API)
    if message.get("role") == "tool":
        raise MessageError("a result in the words of Chat Completions", hint=_ONE_API)


def certain_where(head: Head, is_ours: Callable[[Json], bool]) -> Confidence | None:
    """CERTAIN where a value of the file, or one in a list that is one, is of a format alone."""
    found = any(is_ours(value) or any(map(is_ours, list_of(value))) for value in head.values)
    return Confidence.CERTAIN if found else None


def read_conversations(
    sources: Sequence[Source],
    *,
    is_message: Callable[[Json], bool],
    run: Callable[[Conversation, str], Run],
) -> Iterator[Item]:
    """Every conversation of the files as ``run`` reads it. It may raise :class:`MessageError`."""
    for source in sources:
        nothing = True
        for item in _conversations(source, is_message):
            nothing = False
            yield item if isinstance(item, Problem) else _item(item, source.name, run)
        if nothing:
            hint = "export the runs and import that file"
            yield Problem(codes.NO_RUN, "the file holds no run", hint, file=source.name)


def own_facts(value: dict[str, Any], **told: Json) -> dict[str, Any]:
    """What an object says of its run besides the messages, as :class:`~oloproof.importers.format.Run` has it. ``told``
    (None: not known) goes into the metadata where the object has nothing of that name."""
    name = next((value[key] for key in NAMES if isinstance(value.get(key), str | int)), "")
    trial, expected, metadata = value.get("trial"), value.get("expected"), value.get("metadata")
    known = without_nulls(told)
    if isinstance(metadata, dict):
        known |= metadata
    return {
        "case": str(name) or None,
        "trial": trial if type(trial) is int and trial >= 1 else None,
        "expected": expected if isinstance(expected, dict) else None,
        "of_case": tuple(metadata) if isinstance(metadata, dict) else (),
        "metadata": known if known or isinstance(metadata, dict) else None,
    }


def _conversations(source: Source, is_message: Callable[[Json], bool]) -> Iterator[Conversation | Problem]:
    """What may be runs in a file, whatever holds them."""
    messages: list[Json] = []
    for number, document in enumerate(documents(source), 1):
        match document:
            case Problem():
                yield document
            case Document(line, value) if is_message(value) and len(messages) == number - 1:
                messages.append(value)
            case Document(0, list(values)) if not any(map(is_message, values)):
                single = len(values) == 1
                yield from (Conversation("" if single else f"run {each}", 0, it) for each, it in enumerate(values, 1))
            case Document(line, value):
                for each, message in enumerate(messages, 1):  # they were no lines of one list after all
                    yield Conversation(f"run {each}", 0, message)
                messages = []
                yield Conversation(f"run {number}" if line else "", line, value)
    if messages:
        yield Conversation("", 0, messages)


def _item(item: Conversation, file: str, run: Callable[[Conversation, str], Run]) -> Item:
    try:
        return run(item, file)
    except RecursionError:
        return too_deep(file, item.line)
    except MessageError as error:
        place = ", ".join(part for part in (item.where, f"message {error.message}" if error.message else "") if part)
        return Problem(
            codes.NOT_OF_THE_FORMAT, f"{place}: {error}" if place else str(error), error.hint, file=file, line=item.line
        )
