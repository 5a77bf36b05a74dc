"""A running service's events, read from ``POST /v1/agent`` over httpx."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable
from ssl import SSLCertVerificationError
from typing import Any
from urllib.parse import urlsplit

from msgspec import DecodeError
from msgspec.json import Decoder, decode, encode

from oloproof.errors import BrokenError, Problem, UsageError
from oloproof.runtime import AgentEvent
from oloproof.service.access import is_loopback
from oloproof.service.asking import Ask
from oloproof.service.errors import MISSING_PACKAGE

STREAM_ENDED = "OLO767"

_EVENT = Decoder(AgentEvent).decode
_CONNECT_S = 10.0

# What to do about a refusal, by the code that the service gives it.
_NEXT = {
    "unauthenticated": "--token-env NAME names the environment variable that holds the token",
    "wrong_tenant": "--tenant names the tenant that the token is for",
    "may_not_approve": "--token-env: another token, whose line ends in `approve`",
}


async def events_from(
    url: str, ask: Ask, *, token: str | None = None, transport: Any = None
) -> AsyncGenerator[AgentEvent, None]:
    """The events of a run on the service at ``url``. Closing it closes the connection, which stops the run.

    Errors: UsageError where httpx is not installed, the URL is none, or the service refuses the request; BrokenError
    where it cannot be reached, or the stream is cut off.
    """
    try:
        import httpx
    except ImportError:
        raise UsageError(Problem(MISSING_PACKAGE, "--server needs httpx", "pip install 'oloproof[http]'")) from None
    headers = {"content-type": "application/json"}
    headers |= {"x-tenant-id": ask.tenant_id, "x-principal-id": ask.principal_id}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    encoded = {name.encode(): value.encode() for name, value in headers.items()}
    waits = httpx.Timeout(None, connect=_CONNECT_S)  # a run may be silent for long; the service bounds it
    try:
        async with (
            httpx.AsyncClient(timeout=waits, transport=transport) as client,
            client.stream("POST", f"{url.rstrip('/')}/v1/agent", content=encode(ask), headers=encoded) as response,
        ):
            if response.status_code != 200:
                raise UsageError(_refusal(url, response.status_code, await response.aread()))
            async for line in _lines(response.aiter_bytes()):
                data = line.removeprefix(b"data: ")
                if data == b"[DONE]":
                    return
                if data != line:
                    yield _EVENT(data)
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise UsageError(Problem("OLO768", f"{url} is no address of a service: {error}")) from None
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        words, hint = f"{url}: {error or type(error).__name__}", _not_reached(error)
        raise BrokenError(words, code=STREAM_ENDED, hint=hint) from None
    except (httpx.HTTPError, DecodeError) as error:
        words = f"{url}: {error or type(error).__name__}"
        raise BrokenError(words, code=STREAM_ENDED, hint="--resume goes on with a run that was started") from None
    raise BrokenError(f"{url}: the stream was cut off", code=STREAM_ENDED, hint="--resume goes on with the run")


async def _lines(parts: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
    """The lines that end. A line ends at CR LF or LF and nowhere else: other separators stand in texts."""
    rest: list[bytes] = []
    async for part in parts:
        first, *others = part.split(b"\n")
        rest.append(first)
        for other in others:
            yield b"".join(rest).removesuffix(b"\r")
            rest = [other]


def is_in_clear(url: str) -> bool:
    """Whether what is sent to this address could be read on its way, a token say."""
    try:
        parts = urlsplit(url)
        return parts.scheme == "http" and not is_loopback(parts.hostname or "")
    except ValueError:  # no address; whoever uses it is told
        return False


def _not_reached(error: BaseException | None) -> str:
    while error is not None:
        if isinstance(error, SSLCertVerificationError):
            return "to trust a certificate or an authority of your own, set SSL_CERT_FILE to its file"
        error = error.__cause__ or error.__context__
    return "`oloproof serve` prints the address that it listens at; nothing was started there"


def _refusal(url: str, status: int, body: bytes) -> Problem:
    try:
        told = decode(body)["error"]
        said, hint = told["message"], _NEXT.get(told["code"], "")
    except (DecodeError, KeyError, TypeError):
        said, hint = "it says no more", ""
    return Problem("OLO768", f"{url} refused the request with status {status}: {said}", hint)
