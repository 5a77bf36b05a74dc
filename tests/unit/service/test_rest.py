"""The HTTP surface without a socket: what is let in, what is answered, and what stays out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from fakes.service import (
    ACME,
    AT,
    BETA,
    DESK,
    OWN,
    TOKENS,
    bearer,
    body,
    frames,
    kinds,
    posted,
    retrieving,
    scripted,
)
from oloproof.runtime import (
    CallTool,
    MemoryAuditSink,
    MemoryStore,
    RunContext,
    RunState,
    ScriptedController,
    Tool,
    verify_audit,
)
from oloproof.service import Access, Service, ServiceLimits
from oloproof.service.asking import Desk

pytest.importorskip("sse_starlette")

NEAR = Desk.of(Service(loop=retrieving(now=lambda: AT)))
GUARDED = Desk.of(Service(loop=retrieving()), access=Access.of(TOKENS, source="tokens"))


def answered(desk: Desk, given: Any = None, headers: Any = None, **how: Any) -> httpx.Response:
    return asyncio.run(posted(desk, given, headers, **how))


def refused(desk: Desk, given: Any = None, headers: Any = None, **how: Any) -> tuple[int, str]:
    """Status and code of a refusal, which gives its place back."""
    answer = answered(desk, given, headers, **how)
    assert desk.slots.taken == 0
    return answer.status_code, answer.json()["error"]["code"]


def test_a_run_is_a_stream_of_frames_that_done_closes() -> None:
    answer = answered(NEAR, body(goal="spans", top_k=2, request_id="q-1"))
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert answer.headers["cache-control"] == "no-store"
    events = frames(answer.text)
    assert kinds(events)[0] == "run_started"
    assert answer.text.splitlines()[0].startswith('data: {"kind":"run_started","run_id":"')
    result = events[-1].result
    assert result is not None
    assert (result.request_id, len(result.chunk_refs), result.goal) == ("q-1", 2, "spans")
    assert NEAR.slots.taken == 0


def test_a_whole_number_may_be_written_as_json_schema_allows() -> None:
    content = b'{"tenant_id":"acme","principal_id":"alice","goal":"x","top_k":2.0,"budget_dollars":1}'
    answer = answered(NEAR, content=content, headers=OWN | {"content-type": "application/json"})
    result = frames(answer.text)[-1].result
    assert result is not None
    assert len(result.chunk_refs) == 2


def test_what_cannot_be_resumed_is_told_in_band() -> None:
    answer = answered(NEAR, body(resume_run_id="nothing"))
    (event,) = frames(answer.text)
    assert (answer.status_code, event.kind.value, event.error_code) == (200, "run_failed", "not_resumable")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"tenant_id": "acme", "principal_id": "alice"},
        body(goal=""),
        body(top_k=0),
        body(top_k=101),
        body(max_steps=51),
        body(budget_tokens=0),
        body(budget_wall_ms=10**30),
        body(budget_dollars=-1),
        body(corpus_ids="all"),
        body(model="gpt"),
        body(approvals=[{"digest": "x", "granted": "yes", "approver": "bob"}]),
        [],
        "goal",
        None,
    ],
)
def test_a_body_that_is_no_request(given: Any) -> None:
    import json

    assert refused(NEAR, content=json.dumps(given), headers=OWN | {"content-type": "application/json"}) == (
        400,
        "invalid_request",
    )


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"goal":"\xed\xa0\x80"}'])
def test_a_body_that_is_no_json(content: bytes) -> None:
    headers = OWN | {"content-type": "application/json; charset=utf-8"}
    assert refused(NEAR, content=content, headers=headers) == (400, "invalid_request")


def test_only_json_is_taken() -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        headers = OWN | {"content-type": kind}
        assert refused(NEAR, content=b"{}", headers=headers) == (415, "unsupported_media_type")


def test_headers_that_are_missing_doubled_or_no_text() -> None:
    assert refused(NEAR, headers={"x-tenant-id": "acme"}) == (400, "missing_header")
    assert refused(NEAR, headers={"x-principal-id": "alice"}) == (400, "missing_header")
    doubled: Any = [("x-tenant-id", "acme"), ("x-tenant-id", "beta"), ("x-principal-id", "alice")]
    assert refused(NEAR, headers=doubled) == (400, "invalid_header")
    broken: Any = {b"x-tenant-id": b"\xff", b"x-principal-id": b"alice"}
    assert refused(NEAR, headers=broken) == (400, "invalid_header")


@pytest.mark.parametrize("name", ["authorization", "content-type", "host"])
def test_a_header_that_says_two_things_says_none(name: str) -> None:
    one = bearer(ACME) | {"content-type": "application/json", "host": "localhost"}
    headers: Any = [*one.items(), (name, one[name])]
    desk = NEAR if name == "host" else GUARDED
    assert refused(desk, content=b"{}", headers=headers) == (400, "invalid_header")


def test_of_two_values_for_a_key_neither_is_taken() -> None:
    headers = OWN | {"content-type": "application/json"}
    asked = b'{"tenant_id":"acme","principal_id":"alice","goal":"x",'
    for content in (
        asked + b'"tenant_id":"beta"}',
        asked + b'"approvals":[{"digest":"d","granted":false,"granted":true,"approver":"bob"}],"resume_run_id":"r"}',
    ):
        assert refused(NEAR, content=content, headers=headers) == (400, "invalid_request")


def test_no_path_is_sent_on_to_another() -> None:
    async def asked(path: str) -> httpx.Response:
        from oloproof.service.rest import create_app

        transport = httpx.ASGITransport(create_app(NEAR))
        async with httpx.AsyncClient(transport=transport, base_url="http://evil.example") as client:
            return await client.post(path, json=body(), headers=OWN)

    for path in ("/v1/agent/", "//v1/agent", "/v1/../v1/agent/"):
        assert asyncio.run(asked(path)).status_code in (403, 404)


def test_a_tenant_of_any_script_is_told_in_utf_8() -> None:
    headers: Any = {b"x-tenant-id": "Zoë".encode(), b"x-principal-id": b"alice"}
    assert answered(NEAR, body(tenant_id="Zoë"), headers).status_code == 200


def test_tenant_and_principal_must_be_those_of_the_body() -> None:
    assert refused(NEAR, body(tenant_id="beta")) == (403, "wrong_tenant")
    assert refused(NEAR, body(principal_id="bob")) == (403, "wrong_principal")


def test_a_bearer_token_is_asked_for_before_anything_is_read() -> None:
    assert refused(GUARDED, content=b"not read") == (401, "unauthenticated")
    assert answered(GUARDED, content=b"").headers["www-authenticate"] == "Bearer"
    assert refused(GUARDED, headers=bearer(BETA)) == (403, "wrong_tenant")
    assert answered(GUARDED, headers=bearer(ACME)).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "10.0.0.1", "127.0.0.1.evil.example:80", ""])
def test_without_tokens_only_loopback_names_are_answered(host: str) -> None:
    assert refused(NEAR, headers=OWN | {"host": host}) == (403, "wrong_host")
    assert answered(GUARDED, headers=bearer(ACME, host=host)).status_code == 200


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "127.0.0.1:1", "[::1]:8000", "[::1]"])
def test_the_names_of_this_machine(host: str) -> None:
    assert answered(NEAR, headers=OWN | {"host": host}).status_code == 200


def test_a_body_over_the_limit_is_not_read_further() -> None:
    small = Desk.of(Service(loop=retrieving()), limits=ServiceLimits(most_body_bytes=100))
    assert refused(small, body(goal="x" * 200)) == (413, "too_large")
    read: list[int] = []

    async def endless() -> AsyncIterator[bytes]:
        for number in range(10**6):
            read.append(number)
            yield b" " * 60

    headers = OWN | {"content-type": "application/json"}
    assert refused(small, content=endless(), headers=headers) == (413, "too_large")
    assert len(read) == 2
    fits = body(goal="")
    fits["goal"] = "x" * (100 - len(httpx.Request("POST", "http://x", json=fits).content))
    assert answered(small, fits).status_code == 200


def test_a_body_that_does_not_come() -> None:
    slow = Desk.of(Service(loop=retrieving()), limits=ServiceLimits(longest_body_s=0.01))

    async def never() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    headers = OWN | {"content-type": "application/json"}
    assert refused(slow, content=never(), headers=headers) == (408, "body_timeout")


def test_streams_beyond_their_number_are_refused_and_told_when_to_come_back() -> None:
    full = Desk.of(Service(loop=retrieving()), limits=ServiceLimits(most_streams=1))
    full.slots.take()
    answer = answered(full)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
    full.slots.give_back()
    assert answered(full).status_code == 200


def get(desk: Desk, path: str, method: str = "GET") -> httpx.Response:
    from oloproof.service.rest import create_app

    async def got() -> httpx.Response:
        transport = httpx.ASGITransport(create_app(desk))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path)

    return asyncio.run(got())


def test_health_needs_no_token() -> None:
    answer = get(GUARDED, "/healthz")
    assert (answer.status_code, answer.json()["status"]) == (200, "ok")


def test_what_is_not_there() -> None:
    assert get(NEAR, "/v1/other").json()["error"]["code"] == "not_found"
    answer = get(NEAR, "/v1/agent")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_the_description_holds_what_is_on_the_wire() -> None:
    document = get(GUARDED, "/openapi.json").json()
    schemas = document["components"]["schemas"]
    assert document["openapi"] == "3.1.0"
    assert {"Ask", "AgentEvent", "AgentRunResult", "ApprovalRequest", "ErrorBody"} <= set(schemas)
    assert schemas["Ask"]["required"] == ["tenant_id", "principal_id", "goal"]
    assert schemas["Ask"]["additionalProperties"] is False
    assert document["paths"]["/v1/agent"]["post"]["security"] == [{"bearer": []}]
    assert "security" not in get(NEAR, "/openapi.json").json()["paths"]["/v1/agent"]["post"]


def test_the_page_has_no_script_and_fetches_nothing() -> None:
    answer = get(NEAR, "/docs")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    text = answer.text
    assert "POST /v1/agent" in text
    assert "budget_wall_ms" in text
    assert "<script" not in text
    assert "http://" not in text
    assert "https://" not in text


# Approvals and tenants, over the wire.

WRITE = CallTool("write", {"text": "the report"})


class OfTheTenant:
    """Writes its tenant's name."""

    async def decide(self, ctx: RunContext, *, snapshot: RunState, tools: Any) -> Any:
        wrote = CallTool("write", {"text": f"of {ctx.tenant_id}"})
        return await ScriptedController([wrote]).decide(ctx, snapshot=snapshot, tools=tools)


class Desks:
    """A service whose one tool writes, with its trail, for tenants with tokens."""

    def __init__(self, *actions: Any, **fields: Any) -> None:
        self.written: list[str] = []
        schema = {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
            "additionalProperties": False,
        }
        tool = Tool("write", lambda text: self.written.append(text), parameters=schema, effect="write", cost=0.0)
        self.store, self.audit = MemoryStore(), MemoryAuditSink()
        loop = scripted(*actions or (WRITE,), tools=[tool], checkpoint_store=self.store, audit=self.audit, **fields)
        self.desk = Desk.of(Service(loop=loop), access=Access.of(TOKENS, source="tokens"))

    def asked(self, token: str = ACME, **fields: Any) -> Any:
        """The last event."""
        return frames(answered(self.desk, body(**fields), bearer(token)).text)[-1]

    def approving(self, run_id: str, *digests: str, token: str = DESK, **fields: Any) -> Any:
        approvals = [{"digest": digest, "granted": True, "approver": "bob"} | fields for digest in digests]
        return self.asked(token, resume_run_id=run_id, approvals=approvals)


def test_a_run_that_waits_tells_what_it_asks_and_an_approval_runs_it_once() -> None:
    desks = Desks()
    waits = desks.asked().result
    assert (waits.status.value, waits.pending.tool, waits.pending.arguments) == (
        "awaiting_approval",
        "write",
        {"text": "the report"},
    )
    done = desks.approving(waits.run_id, waits.pending.digest).result
    assert (done.status.value, desks.written) == ("final_answer", ["the report"])
    replayed = desks.approving(waits.run_id, waits.pending.digest)
    assert (replayed.error_code, desks.written) == ("not_resumable", ["the report"])
    assert verify_audit(desks.audit.records) == []


def test_a_forged_approval_authorises_nothing() -> None:
    desks = Desks()
    waits = desks.asked().result
    still = desks.approving(waits.run_id, "0" * 64, waits.pending.digest[:-1] + "x").result
    assert (still.status.value, desks.written) == ("awaiting_approval", [])
    assert [record.event for record in desks.audit.records].count("approval_ignored") == 2


def test_an_approval_that_is_replayed_for_the_next_action_authorises_nothing() -> None:
    desks = Desks(WRITE, WRITE)
    first = desks.asked().result
    second = desks.approving(first.run_id, first.pending.digest).result
    assert (second.status.value, desks.written) == ("awaiting_approval", ["the report"])
    replayed = desks.approving(first.run_id, first.pending.digest).result
    assert (replayed.status.value, desks.written) == ("awaiting_approval", ["the report"])
    other = desks.asked().result
    assert desks.approving(other.run_id, first.pending.digest).result.status.value == "awaiting_approval"
    assert desks.written == ["the report"]


def test_who_may_ask_may_not_approve_without_a_token_for_it() -> None:
    desks = Desks()
    waits = desks.asked().result
    approvals = [{"digest": waits.pending.digest, "granted": True, "approver": "alice"}]
    given = body(resume_run_id=waits.run_id, approvals=approvals)
    assert refused(desks.desk, given, bearer(ACME)) == (403, "may_not_approve")
    assert refused(desks.desk, body(approvals=approvals), bearer(DESK)) == (400, "invalid_request")
    assert desks.written == []


def test_two_tenants_with_one_run_id_know_nothing_of_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oloproof.runtime.loop.token_hex", lambda _: "0" * 32)
    desks = Desks(controller=OfTheTenant())
    ours = desks.asked(goal="our goal").result

    def theirs(**fields: Any) -> Any:
        given = body(tenant_id="beta", goal="their goal", **fields)
        headers = {"x-tenant-id": "beta", "x-principal-id": "alice", "authorization": f"Bearer {BETA}"}
        return answered(desks.desk, given, headers).text

    before = theirs(resume_run_id=ours.run_id)
    assert frames(before)[-1].error_code == "not_resumable"
    started = theirs()
    assert frames(started)[-1].run_id == ours.run_id
    for text in (before, started, theirs(resume_run_id=ours.run_id)):
        assert not any(word in text for word in ("of acme", "our goal", "acme"))
    pending = frames(started)[-1].result
    assert pending is not None
    assert pending.pending is not None
    assert pending.pending.digest != ours.pending.digest
    crossed = desks.approving(ours.run_id, pending.pending.digest).result
    assert (crossed.status.value, desks.written) == ("awaiting_approval", [])
    desks.approving(ours.run_id, ours.pending.digest)
    assert desks.written == ["of acme"]
    assert verify_audit(desks.audit.records) == []
