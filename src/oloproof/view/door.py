"""Who is let in: requests to this machine by its own name, from a browser that was shown the token.

A page of another site that a browser has open can make it send requests here. What keeps it out: the name in ``Host``,
since a name that was made to mean this machine is still another one (DNS rebinding); a cookie that is not sent for
other sites; and what the browser says of where a request comes from.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

_HOST: Final = re.compile(r"(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE)
"""Any port, since a tunnel may lead here from another one."""

SHUT: Final = "Open the address that `oloproof view` printed."


class Refusal(Struct, frozen=True):
    """A status and why."""

    status: int
    why: str


class Door:
    """``token`` opens as often as it is shown; a browser that was let in brings it back in the cookie. ``ticket`` opens
    once: it is for the browser that is started here, whose command line others on the machine can read. None where
    no browser is started."""

    def __init__(self, token: str, *, ticket: str | None = None, port: int) -> None:
        self.token = token
        self.cookie = f"oloproof_view_{port}"
        """The cookie's name: cookies do not know ports, and two servers must not take one another's."""
        self._ticket = ticket

    def admits(self, shown: str) -> bool:
        """Whether this is the token. Takes as long for one that is nearly right as for any other."""
        return _same(shown, self.token)

    def opens(self, shown: str) -> bool:
        """Whether this is the token, or the ticket, which then is spent."""
        if self._ticket is not None and _same(shown, self._ticket):
            self._ticket = None
            return True
        return self.admits(shown)


def refusal(method: str, headers: Sequence[tuple[str, str]]) -> Refusal | None:
    """Why nobody gets an answer to such a request, None where some do. ``headers`` have lower-case names."""
    hosts = [value for name, value in headers if name == "host"]
    if len(hosts) != 1 or not _HOST.fullmatch(hosts[0]):
        return Refusal(421, "This server answers to localhost and 127.0.0.1 alone.")
    if method != "GET":
        return Refusal(405, "This server is for reading.")
    told = dict(headers)
    if told.get("sec-fetch-site") in ("cross-site", "same-site") and told.get("sec-fetch-mode") != "navigate":
        return Refusal(403, "Another site asked for this.")
    return None


def _same(shown: str, kept: str) -> bool:
    return hmac.compare_digest(shown.encode("utf-8", "surrogatepass"), kept.encode())
