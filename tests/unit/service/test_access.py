"""Who may ask for what."""

from __future__ import annotations

import pytest

from fakes.service import ACME, BETA, DESK, TOKENS, body
from oloproof.runtime import AgentRequest
from oloproof.service import Access
from oloproof.service.access import Caller, is_loopback, require_own
from oloproof.service.errors import Refused, ServiceError

ACCESS = Access.of(TOKENS, source="tokens")
OURS = AgentRequest(**body())


def caller(token: str, tenant: str | None = "acme", principal: str | None = "alice") -> Caller:
    return ACCESS.caller(authorization=f"Bearer {token}", tenant=tenant, principal=principal)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "tokens holds no token"),
        ("# nothing\n", "tokens holds no token"),
        ("acme\n", "tokens:1: this line is no token"),
        (f"# x\nacme {ACME} admin\n", "tokens:2: this line is no token"),
        ("acme short\n", "tokens:1: the token is shorter than 16 characters"),
        (f"acme {ACME}\nbeta {ACME}\n", "tokens:2: the token is there already"),
    ],
)
def test_a_text_that_holds_no_tokens(text: str, message: str) -> None:
    with pytest.raises(ServiceError) as refused:
        Access.of(text, source="tokens")
    assert message in str(refused.value)
    assert refused.value.problems[0].code == "OLO761"
    assert ACME not in str(refused.value)


@pytest.mark.parametrize("given", [None, "", "Bearer", "Bearer ", "Bearer x", f"Basic {ACME}", ACME, f"Bearer {ACME}x"])
def test_without_a_token_that_is_known_nobody_is_served(given: str | None) -> None:
    with pytest.raises(Refused) as refused:
        ACCESS.caller(authorization=given, tenant="acme", principal="alice")
    assert (refused.value.status, refused.value.headers) == (401, {"WWW-Authenticate": "Bearer"})


def test_a_token_is_good_for_its_tenant_alone() -> None:
    require_own(caller(ACME), OURS, approves=False)
    with pytest.raises(Refused, match="another tenant"):
        caller(BETA)
    for absent in (caller(BETA, tenant=None), caller(BETA, tenant="beta")):
        with pytest.raises(Refused) as refused:
            require_own(absent, OURS, approves=False)
        assert (refused.value.status, refused.value.code) == (403, "wrong_tenant")


def test_tenant_and_principal_of_the_headers_are_those_of_the_body() -> None:
    anybody = Access()
    for tenant, principal, code in (("beta", "alice", "wrong_tenant"), ("acme", "bob", "wrong_principal")):
        asks = anybody.caller(authorization=None, tenant=tenant, principal=principal)
        with pytest.raises(Refused) as refused:
            require_own(asks, OURS, approves=False)
        assert (refused.value.status, refused.value.code) == (403, code)


def test_only_a_token_that_may_approve_approves() -> None:
    require_own(caller(DESK), OURS, approves=True)
    for asks in (caller(ACME), Access().caller(authorization=f"Bearer {DESK}", tenant="acme", principal="alice")):
        with pytest.raises(Refused) as refused:
            require_own(asks, OURS, approves=True)
        assert (refused.value.status, refused.value.code) == (403, "may_not_approve")


def test_no_token_is_kept() -> None:
    assert ACME not in repr(vars(ACCESS))


@pytest.mark.parametrize(
    ("host", "near"),
    [
        *((host, True) for host in ("127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost", "LocalHost")),
        *((host, False) for host in ("0.0.0.0", "::", "10.0.0.1", "localhost.evil.example", "")),
    ],
)
def test_what_is_loopback(host: str, near: bool) -> None:
    assert is_loopback(host) is near
