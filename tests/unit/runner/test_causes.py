"""What an exception tells of what was in the way, without the libraries that raise it."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from datetime import UTC, datetime
from email.message import Message
from types import SimpleNamespace
from typing import Any
from urllib.error import HTTPError, URLError

import pytest

from oloproof.model.case import system_error
from oloproof.runner.causes import infrastructure_of, of_exit_status, seconds_to_wait, with_cause


def made(module: str, *names: str, **attributes: Any) -> Exception:
    """An exception as a library would have it: of the last class, each a subclass of the one before."""
    kind: type[Exception] = Exception
    for name in names:
        kind = type(name, (kind,), {"__module__": module})
    exc = kind("said so")
    for key, value in attributes.items():
        setattr(exc, key, value)
    return exc


def response(status: int, **headers: str) -> Any:
    return SimpleNamespace(status_code=status, headers={name.replace("_", "-"): text for name, text in headers.items()})


def raised_from(cause: BaseException) -> Exception:
    error = ValueError("no answer")
    error.__cause__ = cause
    return error


def http_error(code: int, **headers: str) -> HTTPError:
    message = Message()
    for name, text in headers.items():
        message[name.replace("_", "-")] = text
    return HTTPError("http://x", code, "no", message, None)


@pytest.mark.parametrize(
    ("exc", "kind", "wait_s"),
    [
        (
            made("openai", "APIStatusError", "RateLimitError", status_code=429, response=response(429)),
            "rate_limit",
            None,
        ),
        (
            made("anthropic", "RateLimitError", status_code=429, response=response(429, retry_after="7")),
            "rate_limit",
            7,
        ),
        (made("anthropic._exceptions", "OverloadedError", status_code=529), "unavailable", None),
        (made("openai", "APIConnectionError", "APITimeoutError"), "connection", None),
        (made("anthropic", "APIError", "APIConnectionError"), "connection", None),
        (made("httpx", "TransportError", "NetworkError", "ConnectError"), "connection", None),
        (made("httpx", "TransportError", "TimeoutException", "ReadTimeout"), "connection", None),
        (made("httpx", "HTTPStatusError", response=response(503, retry_after="0.5")), "unavailable", 0.5),
        (made("requests.exceptions", "HTTPError", response=response(502)), "unavailable", None),
        (made("requests.exceptions", "ConnectionError", response=None), "connection", None),
        (
            made("aiohttp.client_exceptions", "ClientResponseError", status=429, headers={"Retry-After": "3"}),
            "rate_limit",
            3,
        ),
        (made("aiohttp.client_exceptions", "ClientConnectionError"), "connection", None),
        (made("google.api_core.exceptions", "TooManyRequests", code=429), "rate_limit", None),
        (
            made("botocore.exceptions", "ClientError", response={"ResponseMetadata": {"HTTPStatusCode": 503}}),
            "unavailable",
            None,
        ),
        (made("my.agent", "Refused", status_code=504), "unavailable", None),
        (http_error(429, retry_after="2"), "rate_limit", 2),
        (URLError(ConnectionRefusedError()), "connection", None),
        (ConnectionResetError(), "connection", None),
        (BrokenPipeError(), "connection", None),
        (socket.gaierror(-3, "temporary failure"), "connection", None),
        (TimeoutError(errno.ETIMEDOUT, "timed out"), "connection", None),
        (raised_from(raised_from(ConnectionRefusedError())), "connection", None),
        (ExceptionGroup("all", [ConnectionError(), ExceptionGroup("in", [ConnectionError()])]), "connection", None),
    ],
    ids=repr,
)
def test_what_was_in_the_way(exc: BaseException, kind: str, wait_s: float | None) -> None:
    assert infrastructure_of(exc) == (kind, wait_s)
    error = with_cause(system_error("it broke", traceback="here"), exc)
    assert (error.infrastructure, error.retry_after_s, error.traceback) == (kind, wait_s, "here")


def during_an_outage() -> Exception:
    try:
        try:
            raise ConnectionRefusedError
        except ConnectionRefusedError:
            {}["answer"]
    except KeyError as error:
        return error
    raise AssertionError


class Hostile(Exception):
    @property
    def status_code(self) -> int:
        raise RuntimeError("not now")


def in_a_circle() -> Exception:
    one, two = ValueError(), ValueError()
    one.__cause__, two.__cause__ = two, one
    return one


@pytest.mark.parametrize(
    "exc",
    [
        ValueError("429"),
        SystemExit(429),
        KeyboardInterrupt(),
        OSError(errno.ENOENT, "no file"),
        TimeoutError("the agent's own"),
        during_an_outage(),
        Hostile(),
        in_a_circle(),
        made("my.agent", "ConnectionError"),
        made("openai", "InternalServerError", status_code=500),
        made("openai", "BadRequestError", status_code=400),
        made("openai", "RateLimitError", status_code=429, code="insufficient_quota"),
        made("my.agent", "Odd", status_code=True),
        made("my.agent", "Odd", status_code="429"),
        made("my.agent", "Odd", code=429),
        ExceptionGroup("some", [ConnectionError(), ValueError()]),
        http_error(404),
    ],
    ids=repr,
)
def test_what_is_the_systems_own(exc: BaseException) -> None:
    assert infrastructure_of(exc) is None
    error = system_error("it broke")
    assert with_cause(error, exc) is error


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("12", 12.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        ("Mon, 30 Nov 2026 12:00:30 GMT", 30.0),
        ("Mon, 30 Nov 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        (None, None),
        (b"3", None),
    ],
)
def test_how_long_a_service_asks_to_be_left_alone(text: object, seconds: float | None) -> None:
    assert seconds_to_wait(text, datetime(2026, 11, 30, 12, tzinfo=UTC)) == seconds


def test_the_exit_status_that_says_it() -> None:
    said: Callable[[int], str | None] = of_exit_status
    assert [said(status) for status in (75, 1, -9, 0)] == ["unavailable", None, None, None]
