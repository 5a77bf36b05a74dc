"""An application asked without a socket, one request after the other."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx


class Asking:
    """Asks the application at this address. ``cookies`` are sent, and kept as they are set."""

    def __init__(self, app: Any, address: str, **cookies: str) -> None:
        self._app = app
        self._address = address
        self.cookies = httpx.Cookies(cookies)

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.request("GET", path, **options)

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        return asyncio.run(self._request(method, path, **options))

    async def _request(self, method: str, path: str, **options: Any) -> httpx.Response:
        transport = httpx.ASGITransport(app=self._app)
        async with httpx.AsyncClient(transport=transport, base_url=self._address, cookies=self.cookies) as client:
            answer = await client.request(method, path, **options)
            self.cookies.update(client.cookies)
            return answer
