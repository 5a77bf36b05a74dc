"""The endpoint: OTLP over HTTP, and a thread that writes what is complete.

It answers what the protocol asks for: 200 once a request is kept, 400 for one that cannot be read, and 429 or 503 with
Retry-After where the sender should try again.
"""

from __future__ import annotations

import hmac
from collections import deque
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore, Lock
from time import monotonic
from typing import Any, Final, cast

from msgspec import Struct
from msgspec.json import encode

from oloproof.importers.otel.traces import Trace
from oloproof.receiver.begun import Begun
from oloproof.receiver.bodies import JSON, LOGS, PROTOBUF, TRACES, Refused, inflated, records
from oloproof.receiver.gathering import Full, Gathering

MOST_REQUESTS: Final = 32
"""So many requests are read at the same time."""

RECORD_BYTES: Final = 2**10
"""What a span or log record takes in memory besides its text."""

RETRY_AFTER_S: Final = 5
_SOCKET_TIMEOUT_S: Final = 30
_MOST_DRAINED: Final = 64 * 2**20


class Limits(Struct, frozen=True, kw_only=True):
    """``most_bytes``: of one body, inflated. ``token`` None: nobody has to say who they are. ``request_s``: so long may
    a body take to come."""

    most_bytes: int
    token: str | None = None
    request_s: float = 60


class Receiver(ThreadingHTTPServer):
    """The endpoint. ``clock`` is in seconds and never goes back. ``begun`` outlives a process that is killed; None:
    nothing does."""

    daemon_threads = True

    def __init__(
        self,
        address: tuple[str, int],
        gathering: Gathering,
        limits: Limits,
        *,
        clock: Callable[[], float],
        begun: Begun | None = None,
    ) -> None:
        super().__init__(address, _Handler)
        self.limits = limits
        self.requests = BoundedSemaphore(MOST_REQUESTS)
        self._gathering = gathering
        self._begun = begun
        self._lock = Lock()
        self._clock = clock
        self._is_over = False

    def keep(self, body: bytes, path: str, content_type: str) -> None:
        """Keep the records of a request. Errors: Refused, Full."""
        found = records(body, path, content_type)
        size = len(body) + RECORD_BYTES * len(found)
        with self._lock:
            if self._is_over:  # nobody looks any more
                raise Full
            if self._begun is not None:
                try:
                    self._begun.add(self._gathering.beginning(found, size=size))
                except OSError as error:
                    raise Refused(503, f"what has begun cannot be noted: {error.strerror}") from None
            self._gathering.add(found, size=size, now=self._clock())

    def due(self, *, everything: bool = False) -> list[list[Trace]]:
        """The runs that are complete, or all of them. Those that were given before are written by now."""
        with self._lock:
            if self._begun is not None and self._begun.is_long:
                self._begun.keep(self._gathering.unwritten)
            return list(self._gathering.all() if everything else self._gathering.due(self._clock()))

    def belied(self) -> list[str]:
        """The traces that went on after they were written, each once."""
        with self._lock:
            return self._gathering.belied()

    def refuse_more(self) -> None:
        """Keep nothing more: a request that is still being read is answered so."""
        with self._lock:
            self._is_over = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A sender that went away is no event."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "oloproof"
    sys_version = ""
    timeout = _SOCKET_TIMEOUT_S
    _unread: int | None = 0
    _until = 0.0

    def do_POST(self) -> None:
        receiver = cast(Receiver, self.server)
        self._unread = self._length()
        self._until = monotonic() + receiver.limits.request_s
        token, given = receiver.limits.token, self.headers.get("Authorization", "")
        if token is not None and not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            self._answer(401, "the bearer token is missing or wrong")
            return
        if not receiver.requests.acquire(blocking=False):
            self._answer(429, "too many requests at once", retry=True)
            return
        try:
            self._take(receiver)
        except Refused as refused:
            self._answer(refused.status, str(refused), retry=refused.status == 503)
        except Full:
            self._answer(503, "too much is waiting to be written", retry=True)
        finally:
            receiver.requests.release()

    def do_GET(self) -> None:
        self._answer(405, f"POST OTLP to {TRACES} or {LOGS}")

    def _take(self, receiver: Receiver) -> None:
        if self.path not in (TRACES, LOGS):
            raise Refused(404, f"there are {TRACES} and {LOGS}")
        content_type = self.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        encoding = self.headers.get("Content-Encoding", "").strip().lower()
        body = inflated(self._body(receiver.limits.most_bytes), encoding, receiver.limits.most_bytes)
        receiver.keep(body, self.path, content_type)
        self._answer(200, None, content_type=content_type)

    def _body(self, most_bytes: int) -> bytes:
        length = self._unread
        if length is None:
            raise Refused(411, "the request needs a Content-Length")
        if length > most_bytes:
            raise Refused(413, f"the body is larger than {most_bytes} bytes")
        body = b"".join(self._read(length))
        if len(body) < length:
            raise Refused(408, "the body did not come")
        return body

    def _read(self, most_bytes: int) -> Iterator[bytes]:
        """What is left of the body, up to so many bytes, as long as it may take."""
        while most_bytes > 0 and monotonic() < self._until and (read := self.rfile.read1(min(most_bytes, 2**16))):
            self._unread = (self._unread or 0) - len(read)
            most_bytes -= len(read)
            yield read

    def _length(self) -> int | None:
        """How long the body is, None where nobody says."""
        length = self.headers.get("Content-Length", "")
        return int(length) if length.isdecimal() and len(length) <= 18 else None

    def _drain(self) -> None:
        """Read what is left of the body: a sender that still writes would not hear the answer."""
        deque(self._read(min(self._unread or 0, _MOST_DRAINED)), maxlen=0)

    def _answer(self, status: int, message: str | None, *, retry: bool = False, content_type: str = JSON) -> None:
        if status != 200:
            self._drain()
        body = encode({"message": message} if message is not None else {})
        if message is None and content_type == PROTOBUF:
            body = b""  # an empty response message
        self.send_response(status)
        if retry:
            self.send_header("Retry-After", str(RETRY_AFTER_S))
        if status != 200:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.send_header("Content-Type", content_type if message is None else JSON)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the name is the base's
        """Requests are counted, not printed."""
