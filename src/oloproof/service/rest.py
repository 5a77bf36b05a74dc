"""``POST /v1/agent`` as Server-Sent Events, ``GET /healthz``, and the description of both.

A frame is ``data:`` and an :class:`AgentEvent` in JSON; ``data: [DONE]`` closes the stream. A stream that ends without
it was cut off.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from functools import cached_property
from typing import Any, Final

from msgspec.json import encode

from oloproof._version import __version__
from oloproof.service.access import Caller, is_loopback
from oloproof.service.asking import Desk, ask_from_json
from oloproof.service.conversing import Call, Surface, converse
from oloproof.service.errors import Refused, missing
from oloproof.service.openapi import description
from oloproof.service.page import page

try:
    from sse_starlette.sse import EventSourceResponse, SendTimeoutError
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import Response
    from starlette.routing import Route
except ImportError as error:  # this module is the extra's door; the package does not import it
    raise missing(error.name or "starlette", what="the service over HTTP") from None

DONE: Final = b"data: [DONE]\n\n"
MOST_GATHERED: Final = 2**16
JSON: Final = "application/json"
_PAGE_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def create_app(desk: Desk) -> Starlette:
    """The ASGI application. Errors: ServiceError where the extra is not installed, when this module is imported."""
    surface = _Surface(desk)
    app = Starlette(
        routes=[
            Route("/v1/agent", surface.agent, methods=["POST"]),
            Route("/healthz", surface.health, methods=["GET"]),
            Route("/openapi.json", surface.openapi, methods=["GET"]),
            Route("/docs", surface.docs, methods=["GET"]),
        ],
        exception_handlers={Refused: _refusal, HTTPException: _http_refusal},
    )
    app.router.redirect_slashes = False  # a redirect would send goal and token on to wherever the Host header says
    return app


class _Surface:
    """The endpoints of one service."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def agent(self, request: Request) -> Response:
        self._require_near(request)
        caller = self._caller(request)
        if (_named(request, b"content-type") or "").partition(";")[0].strip().lower() != JSON:
            raise Refused(415, "unsupported_media_type", f"send {JSON}")
        slots = self._desk.slots
        slots.take()
        try:
            ask = ask_from_json(await self._body(request))
            call = self._desk.call(ask, caller, Surface.REST)
            return _Streaming(self._desk, call)
        except BaseException:
            slots.give_back()
            raise

    async def health(self, request: Request) -> Response:
        return _json({"status": "ok", "version": __version__})

    async def openapi(self, request: Request) -> Response:
        return _json(self._description)

    async def docs(self, request: Request) -> Response:
        headers = {"Content-Security-Policy": _PAGE_POLICY}
        return Response(page(self._description), media_type="text/html", headers=headers)

    @cached_property
    def _description(self) -> dict[str, Any]:
        return description(asks_tokens=bool(self._desk.access))

    def _require_near(self, request: Request) -> None:
        """Without tokens only this machine is served, and a page in its browser that has another site's name bound to
        the loopback address is not this machine."""
        host = _named(request, b"host") or ""
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if not self._desk.access and not is_loopback(name):
            raise Refused(403, "wrong_host", "without tokens the service answers to loopback names alone")

    def _caller(self, request: Request) -> Caller:
        caller = self._desk.access.caller(
            authorization=_named(request, b"authorization"),
            tenant=_named(request, b"x-tenant-id"),
            principal=_named(request, b"x-principal-id"),
        )
        if caller.tenant is None or caller.principal is None:
            raise Refused(400, "missing_header", "x-tenant-id and x-principal-id must be given")
        return caller

    async def _body(self, request: Request) -> bytes:
        """The body. Errors: Refused with 413 where it is too large, and 408 where it does not come."""
        most = self._desk.limits.most_body_bytes
        too_large = Refused(413, "too_large", f"the body is larger than {most} bytes", headers={"Connection": "close"})
        length = request.headers.get("content-length", "")
        if length.isdecimal() and (len(length) > 18 or int(length) > most):
            raise too_large
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._desk.limits.longest_body_s):
                async for part in request.stream():
                    size += len(part)
                    if size > most:
                        raise too_large
                    parts.append(part)
        except TimeoutError:
            late = {"Connection": "close"}
            raise Refused(408, "body_timeout", "the body did not come in time", headers=late) from None
        except ClientDisconnect:
            raise Refused(400, "invalid_request", "the body did not come whole") from None
        return b"".join(parts)


class _Streaming(EventSourceResponse):  # type: ignore[misc]  # an extra, of no type here
    """The frames of one call. Whatever ends it, the run is closed and its place given back."""

    def __init__(self, desk: Desk, call: Call) -> None:
        self._slots = desk.slots
        frames = _Frames(desk, call)
        super().__init__(frames, sep="\n", send_timeout=desk.limits.longest_send_s, data_sender_callable=frames.gather)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        except SendTimeoutError:  # a reader that does not read; there is nobody to tell
            pass
        finally:
            self._slots.give_back()


class _Frames:
    """The frames of a call, gathered in one task and sent in another: those that are ready together leave together.

    The run waits for its reader where more than :data:`MOST_GATHERED` bytes are not sent yet.
    """

    def __init__(self, desk: Desk, call: Call) -> None:
        self._desk, self._call = desk, call
        self._ready: list[bytes] = []
        self._size = self._leaving = 0
        self._is_whole = False
        self._came, self._left = asyncio.Event(), asyncio.Event()

    async def gather(self) -> None:
        """Run the agent. Cancelled, it closes the run."""
        async with aclosing(converse(self._desk.service, self._call)) as events:
            async for event in events:
                self._add(b"data: " + encode(event) + b"\n\n")
                while self._size > MOST_GATHERED:
                    self._left.clear()
                    await self._left.wait()
        self._is_whole = True
        self._add(DONE)

    def _add(self, frame: bytes) -> None:
        self._ready.append(frame)
        self._size += len(frame)
        self._came.set()

    def __aiter__(self) -> _Frames:
        return self

    async def __anext__(self) -> bytes:
        self._size -= self._leaving  # the frames of the last time are sent
        self._leaving = 0
        self._left.set()
        while not self._ready:
            if self._is_whole:
                raise StopAsyncIteration
            self._came.clear()
            await self._came.wait()
        frames, self._ready = b"".join(self._ready), []
        self._leaving = len(frames)
        return frames


def _named(request: Request, name: bytes) -> str | None:
    """A header as text, None where there is none. Errors: Refused where it is there twice, or no UTF-8."""
    values = [value for key, value in request.headers.raw if key == name]
    if len(values) > 1:
        raise Refused(400, "invalid_header", f"{name.decode()} is given more than once")
    try:
        return values[0].decode() if values else None
    except UnicodeDecodeError:
        raise Refused(400, "invalid_header", f"{name.decode()} is no UTF-8") from None


def _json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    sniffed = {"X-Content-Type-Options": "nosniff"}
    return Response(encode(value), status, headers=sniffed | (headers or {}), media_type=JSON)


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return _json({"error": {"code": error.code, "message": str(error)}}, error.status, error.headers)


async def _http_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = error.detail.lower().replace(" ", "_")
    return _json({"error": {"code": code, "message": error.detail}}, error.status_code, dict(error.headers or {}))
