"""The application against its own description: what it allows is answered, what it forbids is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, seed, settings

from fakes.service import ACME, TOKENS, retrieving
from oloproof.service import Access, Service
from oloproof.service.asking import Desk

schemathesis = pytest.importorskip("schemathesis")
pytest.importorskip("sse_starlette")

from oloproof.service.rest import create_app  # noqa: E402

OPEN = create_app(Desk.of(Service(loop=retrieving())))
GUARDED = create_app(Desk.of(Service(loop=retrieving()), access=Access.of(TOKENS, source="tokens")))

of_the_open = schemathesis.openapi.from_asgi("/openapi.json", OPEN)
of_the_guarded = schemathesis.openapi.from_asgi("/openapi.json", GUARDED)

BOUNDED = settings(
    max_examples=60,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@of_the_open.parametrize()
@seed(8)
@BOUNDED
def test_the_open_service_does_what_its_description_says(case: Any) -> None:
    case.headers = dict(case.headers or {}) | {"host": "localhost"}
    case.call_and_validate()


@of_the_guarded.parametrize()
@seed(8)
@BOUNDED
def test_the_guarded_service_does_what_its_description_says(case: Any) -> None:
    case.call_and_validate(headers={"authorization": f"Bearer {ACME}"})
