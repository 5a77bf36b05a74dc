"""The endpoint, with the exporters of the OpenTelemetry SDK and with senders that mean no good."""

from __future__ import annotations

import gzip
import http.client
import json
import zlib
from collections.abc import Iterator
from io import BytesIO
from threading import Thread
from typing import Any

import pytest

from fakes.telemetry import agent, chat, log, otlp, says, tool
from oloproof.importers.otel.spans import Span as SpanRecord
from oloproof.receiver.bodies import JSON, PROTOBUF, records
from oloproof.receiver.gathering import Gathering, Waits
from oloproof.receiver.server import MOST_REQUESTS, RECORD_BYTES, Limits, Receiver
from oloproof.receiver.writing import Writer

RUN = otlp(agent("a", "a"), tool("look", "t", "a", 5, result="x"), chat("m", "a", 10, said=[says("Hi.")]))
BODY = json.dumps(RUN).encode()


def serve(
    *, most_bytes: int = 100_000, memory: int = 10**6, token: str | None = None, request_s: float = 60
) -> Iterator[Receiver]:
    gathering = Gathering(Waits(trace_s=0, conversation_s=0), most_bytes=memory)
    limits = Limits(most_bytes=most_bytes, token=token, request_s=request_s)
    with Receiver(("127.0.0.1", 0), gathering, limits, clock=lambda: 0.0) as receiver:
        thread = Thread(target=receiver.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield receiver
        receiver.shutdown()
        thread.join()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    yield from serve()


def post(
    receiver: Receiver, body: bytes, path: str = "/v1/traces", *, kind: str = JSON, **headers: str
) -> tuple[int, bytes, str | None]:
    """Status, body, and Retry-After of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", receiver.server_address[1], timeout=60)
    try:
        given = {"Content-Type": kind, **{key.replace("_", "-"): value for key, value in headers.items()}}
        connection.request("POST", path, body, given)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.getheader("Retry-After")
    finally:
        connection.close()


def written(receiver: Receiver) -> list[Any]:
    file = BytesIO()
    writer = Writer(file)
    for traces in receiver.due(everything=True):
        writer.run(traces)
    return [json.loads(line) for line in file.getvalue().splitlines()]


@pytest.mark.parametrize("encoding", ["", "gzip", "deflate"])
def test_json_comes_in_and_a_trajectory_out(receiver: Receiver, encoding: str) -> None:
    packed = {"": BODY, "gzip": gzip.compress(BODY), "deflate": zlib.compress(BODY)}[encoding]
    headers = {"Content_Encoding": encoding} if encoding else {}
    assert post(receiver, packed, **headers)[:2] == (200, b"{}")
    asked = log("gen_ai.user.message", {"content": "Hello?"}, 9, "m")
    assert post(receiver, json.dumps(otlp(logs=[asked])).encode(), "/v1/logs")[0] == 200
    (run,) = written(receiver)
    assert run["case"] == "t1"
    said = [step["arguments"]["content"] for step in run["trajectory"]["steps"] if "arguments" in step]
    assert said == ["Hello?", "Hi."]


def test_the_exporter_of_the_sdk(receiver: Receiver) -> None:
    exporters = pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    port = receiver.server_address[1]
    for compression in ("none", "gzip"):
        compressed = exporters.Compression(compression)
        exporter = exporters.OTLPSpanExporter(f"http://127.0.0.1:{port}/v1/traces", compression=compressed, timeout=60)
        provider = sdk.TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(export.BatchSpanProcessor(exporter))
        tracer = provider.get_tracer("test")
        facts = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}
        with tracer.start_as_current_span("invoke_agent helper", attributes=facts):
            called = {"gen_ai.tool.name": "look", "gen_ai.tool.call.arguments": '{"n": 1}', "tags": ["a", "b"]}
            with (
                pytest.raises(ValueError),
                tracer.start_as_current_span("execute_tool look", attributes=called),
            ):
                raise ValueError("gone")
        assert provider.force_flush()
        provider.shutdown()
        (run,) = written(receiver)
        call, result = run["trajectory"]["steps"][-2:]
        assert (call["tool_name"], call["arguments"], call["agent"]) == ("look", {"n": 1}, "helper")
        assert result["error"] == "ValueError: gone"


@pytest.mark.parametrize(
    ("body", "facts", "status"),
    [
        (b"{", {}, 400),
        (b"[1]", {}, 400),
        (b"\xff\xff\xff", {"kind": PROTOBUF}, 400),
        (BODY, {"kind": "text/plain"}, 415),
        (BODY, {"Content_Encoding": "br"}, 415),
        (BODY, {"Content_Encoding": "gzip"}, 400),
        (gzip.compress(BODY, mtime=0)[:-9], {"Content_Encoding": "gzip"}, 400),
        (b"x" * 100_001, {}, 413),
        (gzip.compress(b"x" * 10**7, mtime=0), {"Content_Encoding": "gzip"}, 413),
        (BODY, {"path": "/v1/metrics"}, 404),
        (b"[" * 50_000, {}, 400),
        (json.dumps({"resourceSpans": [1, {"scopeSpans": [{"spans": ["x"]}]}]}).encode(), {}, 200),
    ],
)
def test_what_cannot_be_taken_is_told(receiver: Receiver, body: bytes, facts: dict[str, str], status: int) -> None:
    assert post(receiver, body, **facts)[0] == status
    assert written(receiver) == []
    assert post(receiver, BODY)[0] == 200


def test_a_request_without_a_length(receiver: Receiver) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", receiver.server_address[1], timeout=60)
    for method, status in (("POST", 411), ("GET", 405)):
        connection.putrequest(method, "/v1/traces")
        connection.putheader("Content-Type", JSON)
        connection.endheaders()
        assert connection.getresponse().status == status
        connection.close()


def test_a_full_receiver_asks_to_try_again() -> None:
    for receiver in serve(memory=len(BODY) + 3 * RECORD_BYTES + 10):
        assert post(receiver, BODY)[0] == 200
        status, _, retry = post(receiver, BODY)
        assert (status, retry) == (503, "5")
        assert len(written(receiver)) == 1
        assert post(receiver, BODY.replace(b'"t1"', b'"t2"'))[0] == 200


def test_too_many_requests_at_once_are_asked_to_try_again(receiver: Receiver) -> None:
    for _ in range(MOST_REQUESTS):
        assert receiver.requests.acquire(blocking=False)
    assert post(receiver, BODY)[::2] == (429, "5")
    receiver.requests.release()
    assert post(receiver, BODY)[0] == 200


def test_a_token_is_asked_for() -> None:
    for receiver in serve(token="s3cret"):
        assert post(receiver, BODY)[0] == 401
        assert post(receiver, BODY, Authorization="Bearer wrong")[0] == 401
        assert written(receiver) == []
        assert post(receiver, BODY, Authorization="Bearer s3cret")[0] == 200


def test_attributes_are_bounded(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oloproof.receiver.bodies.LONGEST_TEXT", 100)
    assert post(receiver, json.dumps(otlp(tool("look", "t", result="x" * 101))).encode())[0] == 200
    (run,) = written(receiver)
    assert "result" not in run["trajectory"]["steps"][1]
    assert run["trajectory"]["truncated"]
    assert post(receiver, json.dumps(otlp(agent("a", "a", a={"note": "x" * 101}))).encode())[0] == 200


def test_a_sender_that_takes_too_long_holds_no_place() -> None:
    for receiver in serve(request_s=0):
        assert post(receiver, BODY)[0] == 408
        assert receiver.requests.acquire(blocking=False)
        receiver.requests.release()
        assert written(receiver) == []


def test_who_gives_no_token_takes_no_place() -> None:
    for receiver in serve(token="s3cret"):
        for _ in range(MOST_REQUESTS):
            receiver.requests.acquire()
        assert post(receiver, BODY)[0] == 401
        assert post(receiver, BODY, Authorization="Bearer s3cret")[0] == 429


def test_what_would_be_lost_of_a_body_is_refused(receiver: Receiver) -> None:
    two = gzip.compress(BODY) + gzip.compress(BODY)
    assert post(receiver, two, Content_Encoding="gzip")[:2] == (
        400,
        b'{"message":"the body goes on after the end of the gzip"}',
    )
    both = json.dumps(RUN | otlp(logs=[log("gen_ai.user.message", {"content": "Hello?"}, 9, "m")])).encode()
    for path in ("/v1/traces", "/v1/logs"):
        assert post(receiver, both, path)[0] == 400
    assert written(receiver) == []


def test_what_the_sdk_left_out_of_a_step_truncates_its_run_in_protocol_buffers_too() -> None:
    pytest.importorskip("opentelemetry.proto")
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

    left_out = Span(trace_id=b"t" * 16, span_id=b"s" * 8, parent_span_id=bytes(8), dropped_attributes_count=1)
    request = ExportTraceServiceRequest(resource_spans=[ResourceSpans(scope_spans=[ScopeSpans(spans=[left_out])])])
    (found,) = records(request.SerializeToString(), "/v1/traces", PROTOBUF)
    assert isinstance(found, SpanRecord)
    assert (found.is_cut, found.parent_id) == (True, "")
