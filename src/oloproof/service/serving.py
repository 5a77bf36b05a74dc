"""Both surfaces in one event loop, from bound sockets to the last stream."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final

from msgspec import Struct

from oloproof.service.access import Access, is_loopback
from oloproof.service.asking import Desk
from oloproof.service.errors import ServiceError, missing
from oloproof.service.tls import Certificate
from oloproof.signals import ending

WORKERS: Final = 64
"""Threads for tools that are plain functions, and for stores that write to a disk."""

_GRACE_S: Final = 5
_BACKLOG: Final = 1024


class Addresses(Struct, frozen=True, kw_only=True):
    """Where to listen. ``port`` 0 is any that is free; ``grpc_port`` None leaves gRPC out, ``certificate`` None TLS."""

    host: str = "127.0.0.1"
    port: int = 8000
    grpc_port: int | None = None
    certificate: Certificate | None = None

    @property
    def warning(self) -> str | None:
        """What is dangerous about them, None when nothing is."""
        if self.certificate is not None or is_loopback(self.host):
            return None
        return (
            f"without TLS whoever is on the way to {self.host} can read tokens and answers: give --tls-cert and "
            "--tls-key, or let only a proxy that speaks TLS reach it"
        )


def require_guarded(access: Access, host: str) -> None:
    """Errors: ServiceError where others could reach a service that asks nobody who they are."""
    if not access and not is_loopback(host):
        words = f"{host} is no loopback address, and the service has no tokens"
        raise ServiceError("OLO763", words, "give --tokens or --tokens-env, or listen on 127.0.0.1")


async def serve(
    desk: Desk, addresses: Addresses, *, ready: Callable[[str], None], stop: asyncio.Event | None = None
) -> None:
    """Serve until SIGINT, SIGTERM or ``stop``. Streams that are open at a signal are closed, and their runs leave
    checkpoints.

    ``ready`` is told each surface's address once it listens. Errors: ServiceError for an address that cannot be used,
    tokens that are missing, or an extra that is not installed.
    """
    require_guarded(desk.access, addresses.host)
    server = _http(desk, addresses.certificate)
    secure = "" if addresses.certificate is None else "s"
    loop, workers = asyncio.get_running_loop(), ThreadPoolExecutor(WORKERS, "oloproof-service")
    loop.set_default_executor(workers)
    with _bound(addresses.host, addresses.port) as listening:
        remote = await _grpc(desk, addresses)
        serving = asyncio.create_task(_until_signalled(server, listening))
        stopping = asyncio.create_task(_stop(server, asyncio.Event() if stop is None else stop))
        ready(f"listening on http{secure}://{_shown(addresses.host)}:{listening.getsockname()[1]}")
        if remote is not None:
            ready(f"listening on grpc{secure}://{_shown(addresses.host)}:{remote[1]}")
        try:
            await serving
        finally:
            stopping.cancel()
            if remote is not None:
                await remote[0].stop(_GRACE_S)
            workers.shutdown(wait=False, cancel_futures=True)
            loop.set_default_executor(ThreadPoolExecutor(1))  # the loop waits for its own: not for a tool that hangs


def _http(desk: Desk, certificate: Certificate | None) -> Any:
    """The HTTP server, which has no socket yet."""
    try:
        import uvicorn
    except ImportError:
        raise missing("uvicorn", what="the service over HTTP") from None
    from oloproof.service.heads import PromptProtocol
    from oloproof.service.rest import create_app

    config = uvicorn.Config(
        create_app(desk),
        http=PromptProtocol,
        ws="none",
        access_log=False,
        lifespan="off",
        log_config=None,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_S,
        limit_concurrency=4 * desk.limits.most_streams + 100,
    )
    config.load()
    if certificate is not None:
        config.ssl = certificate.context
    return uvicorn.Server(config)


async def _grpc(desk: Desk, addresses: Addresses) -> tuple[Any, int] | None:
    """The gRPC server, started, and its port."""
    if addresses.grpc_port is None:
        return None
    from oloproof.service.rpc import bound, create_server

    server = create_server(desk)
    try:
        port = bound(server, f"{_shown(addresses.host)}:{addresses.grpc_port}", addresses.certificate)
    except RuntimeError:
        port = 0
    if port == 0:
        raise _taken(addresses.host, addresses.grpc_port, "in use, or not this machine's")
    await server.start()
    return server, port


async def _stop(server: Any, stop: asyncio.Event) -> None:
    await stop.wait()
    server.should_exit = True


async def _until_signalled(server: Any, listening: socket.socket) -> None:
    """uvicorn's own handlers end the streams, and then raise the signal again: here it has done its work."""
    with ending(lambda: None):
        await server.serve(sockets=[listening])


@contextmanager
def _bound(host: str, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio sends small frames at once (TCP_NODELAY) only where it is.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host.strip("[]"), port))
            listening.listen(_BACKLOG)
        except OSError as error:
            raise _taken(host, port, error.strerror or str(error)) from None
        yield listening


def _taken(host: str, port: int, why: str) -> ServiceError:
    return ServiceError("OLO764", f"cannot listen on {host}:{port}: {why}", "choose another port, 0 for any")


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


class JsonLines(logging.Formatter):
    """A log record as one line of JSON in ASCII, so that no text in it can act on a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {"level": record.levelname.lower(), "logger": record.name, "message": record.getMessage()}
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        told = getattr(record, "event", {})
        return json.dumps({"at": round(record.created, 3), **fields, **told}, ensure_ascii=True, default=str)
