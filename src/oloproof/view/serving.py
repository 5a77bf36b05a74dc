"""The server, until a signal comes."""

from __future__ import annotations

import socket
from collections.abc import Callable
from threading import Event, Thread
from typing import Any, Final

import uvicorn

from oloproof.signals import ending

LOOPBACK: Final = "127.0.0.1"

_LOOK_EVERY_S = 0.5
_LAST_WORDS_S = 2
_MOST_REQUESTS = 200


def listening(port: int) -> socket.socket:
    """A socket on the loopback device, 0: on any port that is free. Raises OSError."""
    found = socket.create_server((LOOPBACK, port))
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else the body waits until the head was acknowledged
    return found


def serve(app: Any, on: socket.socket, stop: Event, ready: Callable[[], None]) -> None:
    """Answer until SIGINT or SIGTERM comes, and then to what was asked before; ``ready`` is called once both are heard.
    ``stop`` is set when the end begins."""
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MOST_REQUESTS,
        timeout_graceful_shutdown=_LAST_WORDS_S,
    )
    server = uvicorn.Server(config)
    answering = Thread(target=server.run, kwargs={"sockets": [on]}, daemon=True)  # signals are for the main thread
    with ending(stop.set):
        answering.start()
        ready()
        while answering.is_alive() and not stop.wait(_LOOK_EVERY_S):
            pass
        stop.set()
        server.should_exit = True
        answering.join()
