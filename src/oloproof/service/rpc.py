"""``Converse`` over gRPC: the events of ``POST /v1/agent``, frame for frame."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import aclosing
from functools import partial
from typing import Any, Final

from oloproof.service.asking import Desk, ask_from
from oloproof.service.conversing import Surface, converse
from oloproof.service.errors import Refused, missing
from oloproof.service.messages import SERVICE, ask_of, message_of, serialized
from oloproof.service.telemetry import OpenSpan
from oloproof.service.tls import Certificate

try:
    import grpc
except ImportError as error:
    raise missing(error.name or "grpcio", what="the service over gRPC") from None

_CODES: Final = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    401: grpc.StatusCode.UNAUTHENTICATED,
    403: grpc.StatusCode.PERMISSION_DENIED,
    429: grpc.StatusCode.RESOURCE_EXHAUSTED,
}

SHORTEST_AGE_S: Final = 60.0
"""Of a connection, whatever a run may take: each new one costs a handshake."""


def create_server(desk: Desk) -> Any:
    """A ``grpc.aio`` server without a port. It must be made in the event loop that it will run in."""
    limits = desk.limits
    age_s = max(limits.longest_run_s, SHORTEST_AGE_S)
    server = grpc.aio.server(
        options=[
            # A client that reads nothing keeps even the end of its call from being sent: its connection ends some time.
            ("grpc.max_connection_age_ms", _ms(age_s)),
            ("grpc.max_connection_age_grace_ms", _ms(age_s + limits.longest_send_s)),
            ("grpc.max_receive_message_length", limits.most_body_bytes),
            ("grpc.so_reuseport", 0),  # a port that is taken is an error
        ]
    )
    # The request comes as it was sent: what is no message is refused like any other, and after the token is known.
    handler = grpc.unary_stream_rpc_method_handler(_Surface(desk).converse, None, serialized)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {"Converse": handler}),))
    return server


def bound(server: Any, address: str, certificate: Certificate | None) -> int:
    """The port that a server is given, 0 where it gets none. Errors: RuntimeError, also for that."""
    if certificate is None:
        port = server.add_insecure_port(address)
    else:
        credentials = grpc.ssl_server_credentials([(certificate.key, certificate.chain)])
        port = server.add_secure_port(address, credentials)
    return int(port)


class _Surface:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def converse(self, request: bytes, context: Any) -> None:
        """Write each event as it happens. The cancellation of the call closes the run."""
        span = OpenSpan("grpc.converse")
        try:
            self._desk.slots.take()
            try:
                await self._converse(request, context, span)
            finally:
                self._desk.slots.give_back()
        except Refused as refused:
            span.fail(refused.code)
            await context.abort(_CODES[refused.status], f"{refused.code}: {refused}")
        except TimeoutError:  # its run is stopped by now
            span.fail("send_timeout")
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "send_timeout: the client does not read")
        finally:
            span.end()

    async def _converse(self, request: bytes, context: Any, span: OpenSpan) -> None:
        metadata = list(context.invocation_metadata() or ())
        caller = self._desk.access.caller(
            authorization=_one(metadata, "authorization"),
            tenant=_one(metadata, "x-tenant-id"),
            principal=_one(metadata, "x-principal-id"),
        )
        call = self._desk.call(ask_from(partial(ask_of, request)), caller, Surface.GRPC)
        async with aclosing(converse(self._desk.service, call, parent=span)) as events:
            async for event in events:
                async with asyncio.timeout(self._desk.limits.longest_send_s):
                    await context.write(message_of(event))


def _ms(seconds: float) -> int:
    return min(int(seconds * 1000), 2**31 - 1)


def _one(metadata: Iterable[tuple[str, str | bytes]], name: str) -> str | None:
    """The value of a key, None where it is not there. Errors: Refused where it is there twice."""
    values = [value for key, value in metadata if key == name]
    if len(values) > 1:
        raise Refused(400, "invalid_header", f"{name} is given more than once")
    if not values:
        return None
    return values[0] if isinstance(values[0], str) else values[0].decode("utf-8", "replace")
