"""From what was sent to a call: the body's fields, whose it is, and a place among the streams that are open."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from msgspec import MsgspecError, Struct, convert
from msgspec.json import decode

from oloproof.inputs import each_key_once
from oloproof.runtime import AgentRequest, Approval
from oloproof.service.access import Access, Caller, require_own
from oloproof.service.conversing import Call, Service, ServiceLimits, Surface
from oloproof.service.errors import Refused


class Ask(AgentRequest, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The body of ``POST /v1/agent``: a request, and what persons have answered where it resumes a run that waits."""

    approvals: tuple[Approval, ...] = ()

    @property
    def request(self) -> AgentRequest:
        """The request alone."""
        return AgentRequest(**{name: getattr(self, name) for name in AgentRequest.__struct_fields__})


class Slots:
    """The places for streams: taken when a request is let in, given back when its stream is over."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.taken = 0

    def take(self) -> None:
        """Errors: Refused with 429 where all are taken."""
        if self.taken >= self._most:
            busy = {"Retry-After": "1"}
            raise Refused(429, "too_many_streams", f"{self._most} streams are open already", headers=busy)
        self.taken += 1

    def give_back(self) -> None:
        """A stream is over."""
        self.taken -= 1


class Desk(Struct, frozen=True, kw_only=True):
    """What both surfaces share while a service runs."""

    service: Service
    access: Access
    limits: ServiceLimits
    slots: Slots

    @classmethod
    def of(cls, service: Service, *, access: Access | None = None, limits: ServiceLimits | None = None) -> Desk:
        """The desk of a service; without ``access`` it has no tokens."""
        limits = ServiceLimits() if limits is None else limits
        access = Access() if access is None else access
        return cls(service=service, access=access, limits=limits, slots=Slots(limits.most_streams))

    def call(self, ask: Ask, caller: Caller, surface: Surface) -> Call:
        """The call that an ask stands for. Errors: Refused where it is not its caller's."""
        require_own(caller, ask, approves=bool(ask.approvals))
        if ask.approvals and ask.resume_run_id is None:
            raise Refused(400, "invalid_request", "approvals go with resume_run_id")
        return Call(
            request=ask.request,
            surface=surface,
            approvals=ask.approvals,
            longest_s=self.limits.longest_run_s,
        )


def ask_from_json(body: bytes) -> Ask:
    """Errors: Refused with 400."""
    try:
        fields = decode(body)
        json.loads(body, object_pairs_hook=each_key_once)  # a proxy may have read the other one
        if isinstance(fields, dict):  # to JSON Schema 8.0 is an integer
            fields = {name: int(value) if _is_whole(value) else value for name, value in fields.items()}
        return convert(fields, Ask)
    except (MsgspecError, ValueError, TypeError) as error:
        raise Refused(400, "invalid_request", f"the body is no AgentRequest: {error}") from None
    except RecursionError:
        raise Refused(400, "invalid_request", "the body is nested too deeply") from None


def _is_whole(value: object) -> bool:
    return isinstance(value, float) and value.is_integer()


def ask_from(fields: dict[str, Any] | Callable[[], dict[str, Any]]) -> Ask:
    """An ask of its fields, or of what reads them. Errors: Refused with 400."""
    try:
        return convert(fields() if callable(fields) else fields, Ask)
    except (MsgspecError, ValueError, TypeError) as error:
        raise Refused(400, "invalid_request", f"this is no ConverseRequest: {error}") from None
