"""The description of the service, held against what it answers."""

from __future__ import annotations

import asyncio

import jsonschema
import pytest
from msgspec.json import decode

from fakes.service import Egress, Held, body, posted, retrieving, scripted
from oloproof.runtime import AgentEventKind, CallTool
from oloproof.service import Deny, Service
from oloproof.service.asking import Desk
from oloproof.service.openapi import description

pytest.importorskip("sse_starlette")


def test_what_is_told_is_what_the_description_says() -> None:
    """Each frame of real streams is held against the description of a frame: a run, a pause, a failure, a denial."""
    document = description(asks_tokens=False)
    validator = jsonschema.Draft202012Validator(document | {"$ref": "#/components/schemas/AgentEvent"})
    waits = scripted(CallTool("tool", {"text": "a"}), tools=[Held(effect="write")])
    seen = set()
    for service in (
        Service(loop=retrieving()),
        Service(loop=waits),
        Service(loop=scripted(7)),
        Service(loop=retrieving(), egress=Egress(Deny())),
        Service(loop=scripted(CallTool("unknown"), answer={"n": [1, None]})),
    ):
        *told, _, _ = asyncio.run(posted(Desk.of(service), body(request_id="q"))).text.split("\n\n")
        for frame in told:
            event = decode(frame.removeprefix("data: "))
            validator.validate(event)
            seen.add((event["kind"], event.get("result", {}).get("status")))
    assert {kind for kind, _ in seen} == {kind.value for kind in AgentEventKind}
    assert ("run_completed", "awaiting_approval") in seen
