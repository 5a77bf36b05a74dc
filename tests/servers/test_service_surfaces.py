"""Both surfaces over real sockets: the same frames, callers who go away, and readers who do not read."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from fakes.service import (
    ACME,
    BETA,
    OWN,
    TOKENS,
    Egress,
    Held,
    Told,
    bearer,
    body,
    frames,
    kinds,
    retrieving,
    scripted,
    unnamed,
)
from oloproof.runtime import AgentEvent, AgentLoop, CallTool, Policy, RunContext
from oloproof.service import Access, Deny, Service, ServiceLimits, Transform
from oloproof.service.asking import Desk

grpc = pytest.importorskip("grpc")
pytest.importorskip("sse_starlette")

from oloproof.service.messages import event_of  # noqa: E402
from oloproof.service.serving import Addresses, serve  # noqa: E402
from oloproof.service.v1 import agent_pb2 as pb  # noqa: E402
from oloproof.service.v1 import agent_pb2_grpc as stubs  # noqa: E402

CTX = RunContext(tenant_id="acme", principal_id="alice")
STEP = CallTool("tool", {"text": "a"})


class Live:
    """A running service: its two addresses, and clients of them."""

    def __init__(self, desk: Desk, http: str, rpc: str) -> None:
        self.desk, self.http, self.rpc = desk, http, rpc

    async def rest(self, **fields: Any) -> list[AgentEvent]:
        async with httpx.AsyncClient(timeout=60) as client:
            answer = await client.post(f"{self.http}/v1/agent", json=body(**fields), headers=OWN)
            assert answer.status_code == 200, answer.text
            return frames(answer.text)

    async def converse(self, metadata: Any = (), **fields: Any) -> list[AgentEvent]:
        async with grpc.aio.insecure_channel(self.rpc) as channel:
            call = stubs.AgentServiceStub(channel).Converse(pb.ConverseRequest(**body(**fields)), metadata=metadata)
            return [event_of(message) async for message in call]


@asynccontextmanager
async def live(service: Service, **fields: Any) -> AsyncIterator[Live]:
    desk = Desk.of(service, **fields)
    stop, said = asyncio.Event(), asyncio.Queue[str]()
    running = asyncio.create_task(serve(desk, Addresses(port=0, grpc_port=0), ready=said.put_nowait, stop=stop))
    http, rpc = (await said.get()).split()[-1], (await said.get()).rpartition("//")[-1]
    try:
        yield Live(desk, http, rpc)
    finally:
        stop.set()
        await running
    assert desk.slots.taken == 0


def during(service: Callable[[], Service], work: Callable[[Live], Awaitable[None]], **fields: Any) -> None:
    async def held() -> None:
        async with asyncio.timeout(300), live(service(), **fields) as running:
            await work(running)

    asyncio.run(held())


def plain(loop: AgentLoop) -> Service:
    return Service(loop=loop)


def waiting() -> AgentLoop:
    tool = Held(effect="write")
    return scripted(CallTool("tool", {"text": "a", "n": [1, 2.5, None, 2**60]}), STEP, tools=[tool], policy=writing())


def writing() -> Policy:
    return Policy(allow_effects=frozenset({"read", "write"}))


@pytest.mark.parametrize(
    ("make", "fields", "last"),
    [
        (lambda: plain(retrieving()), {"goal": "spans", "top_k": 3, "request_id": "q"}, "run_completed"),
        (lambda: plain(retrieving()), {"budget_iter": 1, "budget_tokens": 9000}, "run_completed"),
        (lambda: plain(scripted(CallTool("nothing", {}, "why"), answer={"n": 2**60, "x": [1.5]})), {}, "run_completed"),
        (lambda: plain(scripted(answer=None)), {}, "run_completed"),
        (lambda: plain(scripted(answer="")), {}, "run_completed"),
        (lambda: plain(waiting()), {}, "run_completed"),
        (lambda: plain(retrieving()), {"resume_run_id": "nothing"}, "run_failed"),
        (lambda: plain(scripted(7)), {}, "run_failed"),
        (lambda: Service(loop=retrieving(), egress=Egress(Deny("no"))), {}, "run_completed"),
        (lambda: Service(loop=retrieving(), egress=Egress(Transform("x [c1]"))), {}, "run_completed"),
    ],
)
def test_both_surfaces_tell_the_same_events_frame_for_frame(make: Any, fields: Any, last: str) -> None:
    async def both(running: Live) -> None:
        over_rest, over_grpc = await running.rest(**fields), await running.converse(**fields)
        assert kinds(over_rest)[-1] == last
        assert unnamed(over_rest) == unnamed(over_grpc)

    during(make, both)


def test_the_fields_of_a_converse_request_are_those_of_the_body() -> None:
    names = {field.name for field in pb.ConverseRequest.DESCRIPTOR.fields}
    from oloproof.service.asking import Ask

    assert names == set(Ask.__struct_fields__)


def test_every_member_of_an_enum_has_its_number() -> None:
    from oloproof.runtime import AgentEventKind, AgentPhase, StopReason
    from oloproof.runtime import Egress as Egressed

    for kind, ours in (
        (pb.AgentEventKind, AgentEventKind),
        (pb.AgentPhase, AgentPhase),
        (pb.StopReason, StopReason),
        (pb.Egress, Egressed),
    ):
        said = [name.lower() for name in kind.keys()[1:]]
        assert [name[-len(each.name) :] for name, each in zip(said, ours, strict=True)] == [
            each.name.lower() for each in ours
        ]


@pytest.mark.parametrize(
    ("fields", "metadata", "code"),
    [
        ({"goal": ""}, (), "INVALID_ARGUMENT"),
        ({"top_k": 0}, (), "INVALID_ARGUMENT"),
        ({"budget_dollars": float("inf")}, (), "INVALID_ARGUMENT"),
        ({"budget_dollars": float("nan")}, (), "INVALID_ARGUMENT"),
        ({}, (("x-tenant-id", "beta"),), "PERMISSION_DENIED"),
        ({}, (("x-principal-id", "bob"),), "PERMISSION_DENIED"),
        ({}, (("x-tenant-id", "acme"), ("x-tenant-id", "acme")), "INVALID_ARGUMENT"),
        ({"goal": "x" * 2000}, (), "RESOURCE_EXHAUSTED"),
    ],
)
def test_what_grpc_refuses(fields: Any, metadata: Any, code: str) -> None:
    async def refused(running: Live) -> None:
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await running.converse(metadata, **fields)
        assert error.value.code().name == code

    during(lambda: plain(retrieving()), refused, limits=ServiceLimits(most_body_bytes=1000))


def test_what_is_no_message_is_refused_and_not_before_the_token_is_known(caplog: pytest.LogCaptureFixture) -> None:
    token = (("authorization", f"Bearer {ACME}"),)

    async def refused(running: Live) -> None:
        async with grpc.aio.insecure_channel(running.rpc) as channel:
            asked = channel.unary_stream("/oloproof.service.v1.AgentService/Converse")
            for sent, metadata, code in (
                (b"\xff\xff\xff", token, "INVALID_ARGUMENT"),
                (b"\x0a\x02\xff\xfe", token, "INVALID_ARGUMENT"),
                (b"\x0a\x04beta\x12\x05alice\x1a\x01x", token, "PERMISSION_DENIED"),
                (b"\xff\xff\xff", (), "UNAUTHENTICATED"),
            ):
                with pytest.raises(grpc.aio.AioRpcError) as error:
                    await asked(sent, metadata=metadata).read()
                assert error.value.code().name == code

    during(lambda: plain(retrieving()), refused, access=Access.of(TOKENS, source="tokens"))
    assert [record for record in caplog.records if record.name.startswith("grpc")] == []


def test_grpc_asks_for_the_same_tokens() -> None:
    async def asked(running: Live) -> None:
        for metadata, code in (
            ((), "UNAUTHENTICATED"),
            ((("authorization", "Bearer x"),), "UNAUTHENTICATED"),
            ((("authorization", f"Bearer {BETA}"),), "PERMISSION_DENIED"),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as error:
                await running.converse(metadata)
            assert error.value.code().name == code
        assert kinds(await running.converse((("authorization", f"Bearer {ACME}"),)))[-1] == "run_completed"

    during(lambda: plain(retrieving()), asked, access=Access.of(TOKENS, source="tokens"))


def test_streams_of_both_surfaces_count_together() -> None:
    tool = Held()

    async def counted(running: Live) -> None:
        first = asyncio.create_task(running.rest())
        await tool.called.wait()
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await running.converse()
        assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        tool.go.set()
        assert kinds(await first)[-1] == "run_completed"

    during(lambda: plain(scripted(STEP, tools=[tool])), counted, limits=ServiceLimits(most_streams=1))


async def leave_rest(running: Live, tool: Held) -> None:
    async with httpx.AsyncClient(timeout=60) as client:
        request = client.stream("POST", f"{running.http}/v1/agent", json=body(), headers=OWN)
        async with request:
            await tool.called.wait()


async def leave_grpc(running: Live, tool: Held) -> None:
    async with grpc.aio.insecure_channel(running.rpc) as channel:
        call = stubs.AgentServiceStub(channel).Converse(pb.ConverseRequest(**body()))
        await call.read()
        await tool.called.wait()
        call.cancel()


@pytest.mark.parametrize("leave", [leave_rest, leave_grpc])
def test_a_client_that_goes_away_stops_its_run_and_can_resume_it(leave: Any) -> None:
    store, tool = Told(), Held(idempotent=True)

    async def left(running: Live) -> None:
        await leave(running, tool)
        await store.stopped.wait()
        (run_id,) = {run for _, run in store._saved}
        state = store.load("acme", run_id)
        assert state is not None
        assert (state.stop_reason, state.steps[-1].outcome.value) == ("caller_stop", "interrupted")
        tool.go.set()
        events = await running.rest(resume_run_id=run_id)
        assert kinds(events)[-1] == "run_completed"
        assert events[-1].result is not None
        assert events[-1].result.status.value == "final_answer"

    during(lambda: plain(scripted(STEP, tools=[tool], checkpoint_store=store)), left)


def test_a_client_that_does_not_read_loses_its_stream_and_nothing_else() -> None:
    store, tool = Told(), Held("x" * (16 * 2**20))
    tool.go.set()

    async def slow(running: Live) -> None:
        host, port = running.http.rpartition("//")[-1].split(":")
        request = httpx.Request("POST", f"{running.http}/v1/agent", json=body(), headers=OWN)
        head = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
        with socket.socket() as reader:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            await asyncio.to_thread(reader.connect, (host, int(port)))
            reader.sendall(f"POST /v1/agent HTTP/1.1\r\n{head}\r\n".encode() + request.content)
            await store.stopped.wait()
            assert kinds(await running.rest(resume_run_id="nothing")) == ["run_failed"]

    limits = ServiceLimits(longest_send_s=0.2)
    during(lambda: plain(scripted(STEP, STEP, tools=[tool], checkpoint_store=store)), slow, limits=limits)


def test_a_grpc_client_that_does_not_read_has_its_run_stopped() -> None:
    store, tool = Told(), Held("x" * (16 * 2**20))
    tool.go.set()

    # Its window would grow with the bandwidth that gRPC measures, until all that is sent has room in it.
    narrow = [("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 2**16)]

    async def slow(running: Live) -> None:
        async with grpc.aio.insecure_channel(running.rpc, options=narrow) as channel:
            call = stubs.AgentServiceStub(channel).Converse(pb.ConverseRequest(**body()))
            await call.read()
            await store.stopped.wait()
            assert kinds(await running.rest(resume_run_id="nothing")) == ["run_failed"]

    limits = ServiceLimits(longest_send_s=3.0)
    during(lambda: plain(scripted(STEP, STEP, tools=[tool], checkpoint_store=store)), slow, limits=limits)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"POST /v1/agent HTTP/1.1\r\nhost: local",
        b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\nGET /hea",
        b"POST /v1/agent HTTP/1.1\r\nhost: evil\r\ncontent-length: 99999\r\n\r\n{",
    ],
    ids=["nothing", "half a head", "half of the next head", "half of a body that was refused"],
)
def test_a_connection_on_which_no_head_comes_is_closed(said: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    from oloproof.service import heads

    monkeypatch.setattr(heads, "LONGEST_HEAD_S", 0.2)

    async def dripped(running: Live) -> None:
        host, port = running.http.rpartition("//")[-1].split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(said)
        async with asyncio.timeout(60):
            while await reader.read(2**16):
                pass
        writer.close()

    during(lambda: plain(retrieving()), dripped)


def test_a_thousand_streams_at_once() -> None:
    many, tool = 1000, Held()

    async def one(running: Live, opened: asyncio.Semaphore) -> bytes:
        host, port = running.http.rpartition("//")[-1].split(":")
        request = httpx.Request("POST", f"{running.http}/v1/agent", json=body(), headers=OWN | {"connection": "close"})
        head = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(f"POST /v1/agent HTTP/1.1\r\n{head}\r\n".encode() + request.content)
        await reader.readuntil(b'"kind":"tool_started"')
        opened.release()
        rest = await reader.read()
        writer.close()
        return rest

    async def crowd(running: Live) -> None:
        opened = asyncio.Semaphore(0)
        streams = [asyncio.create_task(one(running, opened)) for _ in range(many)]
        for _ in range(many):
            await opened.acquire()
        while len(tool.calls) < many:  # each is told just before it is made
            await asyncio.sleep(0)
        assert running.desk.slots.taken == many
        async with httpx.AsyncClient(timeout=60) as client:
            assert (await client.get(f"{running.http}/healthz")).status_code == 200
            refused = await client.post(f"{running.http}/v1/agent", json=body(), headers=OWN)
            assert refused.status_code == 429
        tool.go.set()
        ends = await asyncio.gather(*streams)
        assert all(end.count(b"data: [DONE]") == 1 and b'"status":"final_answer"' in end for end in ends)

    limits = ServiceLimits(most_streams=many, longest_body_s=300, longest_send_s=300)  # whatever else this machine does
    during(lambda: plain(scripted(STEP, tools=[tool])), crowd, limits=limits)


def test_the_clients_of_other_tenants_are_told_nothing() -> None:
    async def crossed(running: Live) -> None:
        async with httpx.AsyncClient(timeout=60) as client:
            answer = await client.post(f"{running.http}/v1/agent", json=body(), headers=bearer(ACME))
            run_id = frames(answer.text)[0].run_id
            theirs = {"x-tenant-id": "beta", "x-principal-id": "alice", "authorization": f"Bearer {BETA}"}
            given = body(tenant_id="beta", resume_run_id=run_id)
            other = await client.post(f"{running.http}/v1/agent", json=given, headers=theirs)
            unknown = await client.post(
                f"{running.http}/v1/agent", json=given | {"resume_run_id": "0" * 32}, headers=theirs
            )
        told = [frames(each.text)[-1] for each in (other, unknown)]
        assert {event.error_code for event in told} == {"not_resumable"}
        assert told[0].message == (told[1].message or "").replace("0" * 32, run_id)

    during(lambda: plain(retrieving()), crossed, access=Access.of(TOKENS, source="tokens"))
