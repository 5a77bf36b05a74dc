"""The certificate of a service, for both of its surfaces."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

from msgspec import Struct

from oloproof.service.errors import ServiceError


class Certificate(Struct, frozen=True, kw_only=True):
    """A certificate with the chain below it, and its key: as ``ssl`` reads them, and as PEM for gRPC."""

    context: Any
    chain: bytes
    key: bytes

    @classmethod
    def of(cls, chain: Path, key: Path) -> Certificate:
        """What two PEM files hold. Errors: ServiceError, which names the files and nothing of what is in them."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(chain, key, password=_refused)
            return cls(context=context, chain=chain.read_bytes(), key=key.read_bytes())
        except (OSError, ValueError) as error:  # an SSLError is an OSError
            why = getattr(error, "strerror", None) or str(error)
            hint = "give PEM files: the certificate with its chain, and its key without a passphrase"
            raise ServiceError("OLO769", f"{chain} and {key} cannot be used for TLS: {why}", hint) from None


def _refused() -> bytes:
    """Nobody is there to be asked for a passphrase."""
    raise ValueError("the key has a passphrase")
