"""The body of an OTLP request: inflated within bounds, and decoded from JSON or Protocol Buffers."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, Final

from oloproof.importers.documents import NotJson, read_json
from oloproof.importers.otel import otlp, protobuf
from oloproof.importers.otel.spans import Event, Log, Span

JSON: Final = "application/json"
PROTOBUF: Final = "application/x-protobuf"
TRACES: Final = "/v1/traces"
LOGS: Final = "/v1/logs"

LONGEST_TEXT: Final = 4 * 2**20
"""The longest text of an attribute that is kept; a longer one is left out."""

MOST_ATTRIBUTES: Final = 1024
"""So many attributes of a span, event or log record are kept."""


class Refused(Exception):
    """A request that cannot be taken, and the HTTP status that says so."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def inflated(body: bytes, encoding: str, most_bytes: int) -> bytes:
    """The body without its content encoding. Refused with 413 where it is larger than ``most_bytes``."""
    match encoding:
        case "" | "identity":
            return body
        case "gzip" | "deflate":
            inflating = zlib.decompressobj(47)
            try:
                found = inflating.decompress(body, most_bytes + 1)
            except zlib.error as error:
                raise Refused(400, f"the body is no {encoding}: {error}") from None
            if len(found) > most_bytes:
                raise Refused(413, f"the body is larger than {most_bytes} bytes")
            if not inflating.eof:
                raise Refused(400, f"the body is no whole {encoding}")
            if inflating.unused_data:  # another gzip, whose records would be lost
                raise Refused(400, f"the body goes on after the end of the {encoding}")
            return found
        case _:
            raise Refused(415, f"content encoding {encoding}: send gzip, or none")


def records(body: bytes, path: str, content_type: str) -> list[Span | Log]:
    """The spans or log records of a request to :data:`TRACES` or :data:`LOGS`. Refused where it holds none."""
    read = _from_json if content_type == JSON else _from_protobuf if content_type == PROTOBUF else None
    if read is None:
        raise Refused(415, f"content type {content_type or 'unknown'}: send {JSON} or {PROTOBUF}")
    found = read(body, path)
    for record in found:
        _keep_bounds(record)
    return found


def _from_json(body: bytes, path: str) -> list[Span | Log]:
    try:
        value = read_json(body)
    except NotJson as error:
        raise Refused(400, f"the body is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise Refused(400, "the body is no JSON object")
    found = list(otlp.read(value))
    wanted = Span if path == TRACES else Log
    if not all(isinstance(record, wanted) for record in found):
        raise Refused(400, f"the body holds spans and logs: send spans to {TRACES} and logs to {LOGS}")
    return found


def _from_protobuf(body: bytes, path: str) -> list[Span | Log]:
    decode, read = _protobuf(path)
    try:
        request = decode(body)
    except Exception as error:  # the library's own DecodeError, of whichever implementation
        raise Refused(400, f"the body is no Protocol Buffers message: {error}") from None
    return list(read(request))


def _protobuf(path: str) -> tuple[Callable[[bytes], Any], Callable[[Any], Any]]:
    """How the messages of a path are decoded and read."""
    try:
        if path == TRACES:
            from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

            return ExportTraceServiceRequest.FromString, protobuf.spans
        from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

        return ExportLogsServiceRequest.FromString, protobuf.logs
    except ImportError:
        raise Refused(415, "Protocol Buffers need pip install 'oloproof[collect]'; or export http/json") from None


def _keep_bounds(record: Span | Log) -> None:
    parts: list[Span | Event] = [record.event] if isinstance(record, Log) else [record, *record.events]
    record.is_cut |= sum(map(_bound, parts)) > 0


def _bound(record: Span | Event) -> bool:
    """Leave out what is too much; whether that was anything."""
    attributes = record.attributes
    kept = [(key, value) for key, value in attributes.items() if not _is_long(value)][:MOST_ATTRIBUTES]
    if len(kept) < len(attributes):
        record.attributes = dict(kept)
    return len(kept) < len(attributes)


def _is_long(value: Any) -> bool:
    return isinstance(value, str) and len(value) > LONGEST_TEXT
