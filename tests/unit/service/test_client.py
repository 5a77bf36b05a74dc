"""The client of a running service, and the retriever of ``--corpus``."""

from __future__ import annotations

import asyncio
from pathlib import Path
from ssl import SSLCertVerificationError
from typing import Any

import httpx
import pytest
from msgspec.json import encode

from fakes.service import body, kinds, retrieving
from oloproof.errors import BrokenError, OloproofError, UsageError
from oloproof.runtime import AgentEvent, RunContext
from oloproof.service import Service
from oloproof.service.asking import Desk, ask_from
from oloproof.service.client import events_from, is_in_clear
from oloproof.service.corpus import LONGEST_FILE, retriever_over
from oloproof.service.errors import ServiceError

CTX = RunContext(tenant_id="acme", principal_id="alice")
STARTED = b'data: {"kind":"run_started","run_id":"r","at":"2026-01-01T00:00:00Z"}\n\n'


def told(transport: Any, url: str = "http://localhost", **fields: Any) -> list[AgentEvent]:
    async def collected() -> list[AgentEvent]:
        asked = ask_from(body(**fields))
        return [event async for event in events_from(url, asked, token="t", transport=transport)]

    return asyncio.run(collected())


def saying(status: int, content: bytes) -> httpx.MockTransport:
    return httpx.MockTransport(lambda _: httpx.Response(status, content=content))


def test_it_reads_the_events_of_a_service() -> None:
    pytest.importorskip("sse_starlette")
    from oloproof.service.rest import create_app

    transport = httpx.ASGITransport(create_app(Desk.of(Service(loop=retrieving()))))
    assert kinds(told(transport, "http://localhost/", goal="grün"))[-1] == "run_completed"


@pytest.mark.parametrize(
    ("status", "content", "kind", "words"),
    [
        (200, STARTED, BrokenError, "the stream was cut off"),
        (200, STARTED + b"data: {}\n\n", BrokenError, "missing required field"),
        (401, b'{"error":{"code":"x","message":"no token"}}', UsageError, "status 401: no token"),
        (502, b"<html>", UsageError, "status 502: it says no more"),
        (404, b'{"error": 4}', UsageError, "status 404: it says no more"),
    ],
)
def test_what_is_no_stream(status: int, content: bytes, kind: type[OloproofError], words: str) -> None:
    with pytest.raises(kind, match=words):
        told(saying(status, content))


@pytest.mark.parametrize(
    ("code", "hint"),
    [("unauthenticated", "--token-env"), ("wrong_tenant", "--tenant"), ("may_not_approve", "--token-env"), ("x", "")],
)
def test_a_refusal_says_what_to_do(code: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        told(saying(403, encode({"error": {"code": code, "message": "no"}})))
    (problem,) = caught.value.problems
    assert problem.hint.partition(" ")[0].rstrip(":") == hint


@pytest.mark.parametrize(
    ("cause", "hint"), [(SSLCertVerificationError("self-signed"), "SSL_CERT_FILE"), (OSError("refused"), "serve")]
)
def test_a_service_that_is_not_reached_is_not_resumed(cause: OSError, hint: str) -> None:
    def failing(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError(str(cause)) from cause

    with pytest.raises(BrokenError) as caught:
        told(httpx.MockTransport(failing))
    (problem,) = caught.value.problems
    assert (hint in problem.hint, "--resume" in problem.hint) == (True, False)


def test_comments_between_frames_are_passed_over() -> None:
    assert kinds(told(saying(200, b": ping\n\n" + STARTED + b": ping\n\ndata: [DONE]\n\n"))) == ["run_started"]


def test_what_ends_a_line_elsewhere_ends_none_here() -> None:
    text = "one\u2028two\u2029three\x85four\x0bfive\x0csix"
    event = {"kind": "answer_delta", "run_id": "r", "at": "2026-01-01T00:00:00Z", "text": text}
    stream = b"data: " + encode(event) + b"\r\n\r\ndata: [DONE]\n\n"
    assert [each.text for each in told(saying(200, stream))] == [text]


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://agents.example:8000", True),
        ("HTTP://10.0.0.1", True),
        ("http://localhost@agents.example", True),
        ("http://localhost:8000", False),
        ("http://[::1]:8000", False),
        ("https://agents.example", False),
        ("http://[", False),
    ],
)
def test_a_token_that_others_could_read_is_told(url: str, told: bool) -> None:
    assert is_in_clear(url) is told


def found(directories: list[Path], query: str, **asked: Any) -> list[str]:
    given = {"top_k": 9, "corpus_ids": None} | asked
    refs = asyncio.run(retriever_over(directories).retrieve(CTX, query=query, **given))
    return [ref.chunk_id for ref in refs]


def test_passages_are_found_by_the_words_that_they_share(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    (one / "deep").mkdir(parents=True)
    (one / ".hidden").mkdir()
    two.mkdir()
    (one / "a.md").write_text("Red green.\n\nRed green blue and more words.\n \nYellow.\n")
    (one / "deep" / "b.TXT").write_text("RED\n")
    (two / "a.md").write_text("red green blue")
    (one / ".hidden" / "c.md").write_text("red")
    (one / "picture.png").write_text("red")
    (one / "large.txt").write_text("red " * (LONGEST_FILE // 4 + 1))
    (one / "link.md").symlink_to(two / "a.md")
    passages = ["one/a.md#1", "one/a.md#2", "one/deep/b.TXT#1", "two/a.md#1"]
    assert sorted(found([one, two], "red green blue")) == passages
    assert found([one, two], "red green blue", top_k=1) == ["two/a.md#1"]
    assert found([one, two], "red", corpus_ids=("two",)) == ["two/a.md#1"]
    assert sorted(found([one], "blue green")) == ["a.md#1", "a.md#2"]
    assert found([one], "violet") == []
    assert found([one], "?!") == []


def test_a_corpus_is_a_directory(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="is no directory"):
        retriever_over([tmp_path / "none"])
