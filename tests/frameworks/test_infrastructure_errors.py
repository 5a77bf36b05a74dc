"""What the clients that agents use really raise when a service refuses or is not there."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.request import urlopen

import pytest

from oloproof.runner.causes import infrastructure_of


class Service(BaseHTTPRequestHandler):
    """Answers with the status that is the first part of the path."""

    def do_GET(self) -> None:
        body = b'{"error": {"message": "no", "type": "error"}}'
        self.send_response(int(self.path.split("/")[1]))
        self.send_header("retry-after", "7")
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nobody listens."""


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def nobody() -> str:
    """An address where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    return f"http://127.0.0.1:{port}"


def with_httpx(url: str) -> None:
    pytest.importorskip("httpx").get(url).raise_for_status()


def with_requests(url: str) -> None:
    pytest.importorskip("requests").get(url).raise_for_status()


def with_urllib(url: str) -> None:
    urlopen(url)


def with_openai(url: str) -> None:
    openai = pytest.importorskip("openai")
    with openai.OpenAI(api_key="none", base_url=url, max_retries=0) as client:
        client.models.list()


def with_anthropic(url: str) -> None:
    anthropic = pytest.importorskip("anthropic")
    with anthropic.Anthropic(api_key="none", base_url=url, max_retries=0) as client:
        client.models.list()


def with_aiohttp(url: str) -> None:
    aiohttp = pytest.importorskip("aiohttp")

    async def get() -> None:
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            response.raise_for_status()

    asyncio.run(get())


def with_botocore(url: str) -> None:
    pytest.importorskip("botocore")
    from botocore.awsrequest import AWSRequest
    from botocore.exceptions import ClientError
    from botocore.httpsession import URLLib3Session

    answer = URLLib3Session().send(AWSRequest("GET", url).prepare())
    raise ClientError({"Error": {}, "ResponseMetadata": {"HTTPStatusCode": answer.status_code}}, "Converse")


def with_google(url: str) -> None:
    exceptions = pytest.importorskip("google.api_core.exceptions")
    requests = pytest.importorskip("requests")
    answer = requests.get(url)
    raise exceptions.from_http_response(answer)


CLIENTS = [
    with_httpx,
    with_requests,
    with_urllib,
    with_openai,
    with_anthropic,
    with_aiohttp,
    with_botocore,
    with_google,
]
QUIET = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
"""How the clients close their connections, and what they use, is theirs."""


def raised(client: Callable[[str], None], url: str) -> Exception:
    try:
        client(url)
    except Exception as exc:
        return exc
    raise AssertionError("nothing was raised")


@QUIET
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("status", "kind"), [(429, "rate_limit"), (503, "unavailable"), (502, "unavailable"), (500, None), (404, None)]
)
def test_a_status(service: str, client: Callable[[str], None], status: int, kind: str | None) -> None:
    found = infrastructure_of(raised(client, f"{service}/{status}"))
    assert (found and found[0]) == kind


@QUIET
@pytest.mark.parametrize("client", [each for each in CLIENTS if each not in (with_botocore,)])
def test_how_long_the_service_asks_to_be_left_alone(service: str, client: Callable[[str], None]) -> None:
    assert infrastructure_of(raised(client, f"{service}/429")) == ("rate_limit", 7.0)


@QUIET
@pytest.mark.parametrize("client", CLIENTS)
def test_a_service_that_is_not_there(nobody: str, client: Callable[[str], None]) -> None:
    assert infrastructure_of(raised(client, f"{nobody}/200")) == ("connection", None)
