"""A system that is a server: each case is a POST, and the body of the response is the answer.

Nothing but an answer of the server that was asked counts: a redirect is not followed, and a status that is no success
is that case's error, with what the server said.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, perf_counter
from typing import TYPE_CHECKING

from msgspec import UNSET

from oloproof.errors import Problem, UsageError
from oloproof.model.case import AttemptError, system_error
from oloproof.model.project import HttpSystem
from oloproof.runner.answers import MAX_ANSWER_BYTES, Answer, answer, question
from oloproof.runner.causes import of_status, seconds_to_wait, with_cause
from oloproof.runner.pool import Pool
from oloproof.runner.protocol import Ran, RunCase

if TYPE_CHECKING:
    import httpx

_SHOWN = 300
_JSON = {"content-type": "application/json", "accept": "application/json, application/x-ndjson"}


@contextmanager
def http_system(kind: HttpSystem, config: str) -> Iterator[Pool]:
    """The client of a server. Whether the server is there shows with the first case.

    Errors: UsageError without httpx, or when a header's environment variable is not set.
    """
    try:
        import httpx
    except ImportError:
        what = "system.http needs httpx, which is not installed"
        raise UsageError(Problem("OLO412", what, "pip install 'oloproof[http]'", file=config)) from None
    headers = _JSON | _headers(kind, config)
    with httpx.Client(headers=headers, timeout=kind.timeout_s, follow_redirects=False) as client:
        pool = Pool(_Server(kind, client).ask, concurrency=kind.concurrency, launching=kind.launching)
        try:
            yield pool
        finally:
            pool.stop()


def _headers(kind: HttpSystem, config: str) -> dict[str, str]:
    unset = [name for name in kind.headers_env.values() if not os.environ.get(name)]
    if unset:
        hint = "system.http.headers_env names environment variables, which hold the headers' values"
        raise UsageError(Problem("OLO413", f"{name} is not set", hint, file=config) for name in unset)
    return {header: os.environ[name].strip() for header, name in kind.headers_env.items()}


class _Server:
    """A server that is asked once for each case. ``timeout_s`` is given to the headers of its response, and to all."""

    def __init__(self, kind: HttpSystem, client: httpx.Client) -> None:
        self._kind = kind
        self._client = client

    def ask(self, order: RunCase) -> Ran:
        """Post one case."""
        started = perf_counter()
        try:
            said = self._post(order)
        except Exception as exc:  # whatever a server can make of a connection
            said = Answer(UNSET, self._failure(exc), None)
        return said.ran(order, duration_ms=(perf_counter() - started) * 1000)

    def _post(self, order: RunCase) -> Answer:
        until = monotonic() + self._kind.timeout_s
        body = bytearray()
        failure: AttemptError | None = None
        with self._client.stream("POST", self._kind.url, content=question(order)) as response:
            try:
                for chunk in response.iter_bytes():
                    body += chunk
                    if monotonic() >= until:
                        failure = self._late()
                        break
                    if len(body) > MAX_ANSWER_BYTES:
                        failure = system_error(f"its answer takes more than {MAX_ANSWER_BYTES} bytes")
                        break
            except Exception as exc:  # what came until then is a prefix
                failure = self._failure(exc)
            if not response.is_success:
                said = f"{response.status_code} {response.reason_phrase}{_shown(body, self._kind.spare_chars)}"
                failure = system_error(
                    f"the server answered {said}",
                    infrastructure=of_status(response.status_code),
                    retry_after_s=seconds_to_wait(response.headers.get("retry-after")),
                )
                body.clear()
        return answer(bytes(body), order, failure, spare=self._kind.spare_chars)

    def _failure(self, exc: Exception) -> AttemptError:
        import httpx

        if isinstance(exc, httpx.TimeoutException):
            return self._late()
        error = system_error(f"the server at {self._kind.url} gave no answer: {type(exc).__name__}: {exc}")
        return with_cause(error, exc)

    def _late(self) -> AttemptError:
        return AttemptError(kind="timeout", message=f"no answer within {self._kind.timeout_s:g} s")


def _shown(body: bytearray, spare: int) -> str:
    said = bytes(body[: _SHOWN + spare]).decode("utf-8", "replace").strip()
    return f": {said}" if said else ""
