"""uvicorn's HTTP protocol, and a time within which a client must have sent a head.

uvicorn itself waits for one as long as a client cares to send a byte now and then, and counts each connection against
its limit: a few thousand of them would keep everybody else out.
"""

from __future__ import annotations

from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

LONGEST_HEAD_S: Final = 10.0
"""From the connection, or from the end of the last answer, to the end of the next head. It also bounds how long the
rest of a body is read that has been refused."""


class PromptProtocol(H11Protocol):  # type: ignore[misc]  # an extra, of no type here
    """Closes a connection on which nothing is asked in time."""

    _late: Any = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait_for_a_head()

    def on_response_complete(self) -> None:
        self._wait_for_a_head()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._late.cancel()
        super().connection_lost(exc)

    def _wait_for_a_head(self) -> None:
        if self._late is not None:
            self._late.cancel()
        self._late = self.loop.call_later(LONGEST_HEAD_S, self._close_if_nothing_is_asked)

    def _close_if_nothing_is_asked(self) -> None:
        if (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing():
            self.transport.close()
