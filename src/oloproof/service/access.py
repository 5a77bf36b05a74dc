"""Who may ask for what: a bearer token stands for one tenant, and a request's tenant and principal are its caller's."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from hashlib import sha256
from ipaddress import ip_address
from typing import Final

from msgspec import Struct

from oloproof.runtime import AgentRequest
from oloproof.service.errors import Refused, ServiceError

SHORTEST_TOKEN: Final = 16
"""Characters. A shorter token could be guessed."""

_HINT: Final = "write a line a token: TENANT TOKEN, and 'approve' behind it where its holder may approve actions"


class Grant(Struct, frozen=True, kw_only=True):
    """What a token is good for. ``digest`` is its SHA-256: the token itself is not kept."""

    tenant: str
    digest: bytes
    may_approve: bool = False


class Caller(Struct, frozen=True, kw_only=True):
    """Who a request says it is from. ``tenant`` and ``principal`` are its headers', None where it has none; ``grant``
    is its token's, None where the service has no tokens."""

    tenant: str | None
    principal: str | None
    grant: Grant | None


class Access:
    """The tokens of a service. Without any, whoever reaches it may ask for every tenant, and nobody may approve."""

    def __init__(self, grants: Iterable[Grant] = ()) -> None:
        self._grants = tuple(grants)

    def __bool__(self) -> bool:
        return bool(self._grants)

    @classmethod
    def of(cls, text: str, *, source: str) -> Access:
        """The tokens in a text of lines ``TENANT TOKEN [approve]``; blank lines and those with ``#`` do not count.

        Errors: ServiceError, which names ``source`` and the line and never a token.
        """
        grants: list[Grant] = []
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if len(words) not in (2, 3) or words[2:] not in ([], ["approve"]):
                raise ServiceError("OLO761", f"{source}:{number}: this line is no token", _HINT)
            if len(words[1]) < SHORTEST_TOKEN or not words[1].isascii():
                shortest = f"the token is shorter than {SHORTEST_TOKEN} characters, or not ASCII"
                raise ServiceError("OLO761", f"{source}:{number}: {shortest}", "make one: openssl rand -hex 24")
            grant = Grant(tenant=words[0], digest=_digest(words[1]), may_approve=len(words) == 3)
            if any(grant.digest == other.digest for other in grants):
                raise ServiceError("OLO761", f"{source}:{number}: the token is there already", "give each its own")
            grants.append(grant)
        if not grants:
            raise ServiceError("OLO761", f"{source} holds no token", _HINT)
        return cls(grants)

    def caller(self, *, authorization: str | None, tenant: str | None, principal: str | None) -> Caller:
        """Who asks. Errors: Refused with 401 for a token that is missing or unknown, 403 for another tenant's."""
        grant = self._grant(authorization) if self._grants else None
        if grant is not None and tenant is not None and tenant != grant.tenant:
            raise Refused(403, "wrong_tenant", "the token is another tenant's than x-tenant-id")
        return Caller(tenant=tenant, principal=principal, grant=grant)

    def _grant(self, authorization: str | None) -> Grant:
        scheme, _, token = (authorization or "").partition(" ")
        given = _digest(token.strip()) if scheme.lower() == "bearer" else b""
        found: Grant | None = None
        for grant in self._grants:  # all of them, whichever fits: the time must not tell
            if hmac.compare_digest(grant.digest, given):
                found = grant
        if found is None:
            needed = {"WWW-Authenticate": "Bearer"}
            raise Refused(401, "unauthenticated", "the bearer token is missing or wrong", headers=needed)
        return found


def require_own(caller: Caller, request: AgentRequest, *, approves: bool) -> None:
    """The request is its caller's. Errors: Refused with 403."""
    grant = caller.grant
    if caller.tenant not in (None, request.tenant_id) or (grant is not None and grant.tenant != request.tenant_id):
        raise Refused(403, "wrong_tenant", "tenant_id is another than that of the headers or the token")
    if caller.principal not in (None, request.principal_id):
        raise Refused(403, "wrong_principal", "principal_id is another than x-principal-id")
    if approves and (grant is None or not grant.may_approve):
        raise Refused(403, "may_not_approve", "approvals need a token that may approve")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach, or mean, the host."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogateescape")).digest()
