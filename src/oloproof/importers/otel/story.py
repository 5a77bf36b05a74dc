"""What happened in a run, in the words of its steps, before it is told: entries that later evidence still completes."""

from __future__ import annotations

from msgspec import UNSET, Struct

from oloproof.importers.pairing import Call
from oloproof.model.values import Json


class Planned(Struct, kw_only=True, eq=False):
    """A call of a tool, from all the records of it. ``spanned``: one of them is the tool's own span. ``call`` is what
    it became, once it was told; ``told`` that its result was. ``handed`` that a hand-off answers it."""

    name: str
    call_id: str = ""
    arguments: Json = UNSET
    turn: Turn
    agent: str = ""
    result: Json = UNSET
    error: Json = UNSET
    latency_ms: float | None = None
    end: int = 0
    spanned: bool = False
    answered: bool = False
    handed: bool = False
    is_busy: bool = False
    call: Call | None = None
    is_due: bool = False


class Turn(Struct, kw_only=True, eq=False):
    """An agent (its model) speaks: ``content`` None: what it said was not recorded, ``says`` whether it said anything
    besides what it called, as far as that is known. ``recorded``: the calls are all that were asked for, because the
    answer was recorded; otherwise they are known from their execution."""

    time: int
    agent: str = ""
    inside: Planned | None = None
    content: Json = None
    says: bool = True
    recorded: bool = False
    calls: list[Planned] = []
    latency_ms: float | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    is_model: bool = True
    finish: str = ""
    is_emitted: bool = False


class Heard(Struct, kw_only=True, eq=False):
    """A user says something; None: it was not recorded what."""

    content: Json


class Result(Struct, kw_only=True, eq=False):
    """The result of a call comes back."""

    planned: Planned


class HandOff(Struct, kw_only=True, eq=False):
    """Control is given to another agent."""

    receiver: str
    agent: str
    inside: Planned | None


Entry = Turn | Heard | Result | HandOff
