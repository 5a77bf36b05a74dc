"""The pages at their addresses, behind the door."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Event
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from oloproof.reports.html import opening_page, policy
from oloproof.view import live, pages
from oloproof.view.door import SHUT, Door, refusal
from oloproof.view.pages import Elsewhere, Shelf, Wrong, wrong

Handler = Callable[[Shelf, Request], Response]

_MOST_DIGITS = 9


def viewer(shelf: Shelf, door: Door, stop: Event) -> Any:
    """The ASGI application. ``stop`` set ends what would be told for as long as a run goes on."""

    async def events(request: Request) -> Response:
        name = request.path_params["run"]
        told = live.told(lambda: live.look(shelf, name), stop, config=shelf.config)
        return StreamingResponse(told, media_type="text/event-stream")

    routes = [
        Route("/", _endpoint(shelf, _runs, _as_page)),
        Route("/compare", _endpoint(shelf, _comparison, _as_page)),
        Route("/runs/{run}", _endpoint(shelf, _run, _as_page)),
        Route("/runs/{run}/index", _endpoint(shelf, _index, _as_text)),
        Route("/runs/{run}/case", _endpoint(shelf, _case, _as_text)),
        Route("/runs/{run}/events", events),
    ]
    return _Guarded(Starlette(routes=routes, exception_handlers={404: _nowhere}), door)


class _Guarded:
    """Lets in whom the door lets in, and says with every answer what a browser may do with it."""

    def __init__(self, app: Any, door: Door) -> None:
        self._app = app
        self._door = door
        self._headers = [
            (name.encode(), value.encode())
            for name, value in {
                "content-security-policy": f"{policy(served=True)}; frame-ancestors 'none'",
                "x-frame-options": "DENY",
                "cache-control": "no-store",
                "x-content-type-options": "nosniff",
                "referrer-policy": "no-referrer",
                "cross-origin-opener-policy": "same-origin",
                "cross-origin-resource-policy": "same-origin",
            }.items()
        ]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"nothing is answered to {scope['type']}")

        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *self._headers]}
            await send(message)

        request = Request(scope)
        answer = self._at_the_door(request) or self._app
        await answer(scope, receive, sending)

    def _at_the_door(self, request: Request) -> Response | None:
        """The answer to whoever is not let in, or just has been."""
        refused = refusal(request.method, request.headers.items())
        if refused is not None:
            return PlainTextResponse(refused.why + "\n", refused.status)
        shown = request.query_params.get("token")
        if shown is not None and request.url.path == "/" and self._door.opens(shown):
            run = request.query_params.get("run")
            target = "/" if run is None else f"/runs/{quote(run, safe='')}"
            # Not a redirect: a browser that comes from another site would follow it without the cookie.
            answer = HTMLResponse(opening_page(target))
            answer.set_cookie(self._door.cookie, self._door.token, httponly=True, samesite="strict", path="/")
            return answer
        if not self._door.admits(request.cookies.get(self._door.cookie, "")):
            return PlainTextResponse(SHUT + "\n", 403)
        return None


def _endpoint(shelf: Shelf, handler: Handler, told: Callable[[Wrong], Response]) -> Callable[[Request], Response]:
    def endpoint(request: Request) -> Response:
        try:
            return handler(shelf, request)
        except Exception as error:
            return told(wrong(error))

    return endpoint


def _as_page(found: Wrong) -> Response:
    return HTMLResponse(found.page, found.status)


def _as_text(found: Wrong) -> Response:
    """For the script, which shows it in its place."""
    return PlainTextResponse(found.text, found.status)


def _runs(shelf: Shelf, request: Request) -> Response:
    limit = _number(request.query_params, "limit", default=pages.FIRST_RUNS)
    return HTMLResponse(pages.runs(shelf, limit=limit))


def _run(shelf: Shelf, request: Request) -> Response:
    found = pages.run(shelf, request.path_params["run"])
    return RedirectResponse(found.address, 303) if isinstance(found, Elsewhere) else HTMLResponse(found)


def _comparison(shelf: Shelf, request: Request) -> Response:
    names = [request.query_params.get(side) for side in ("candidate", "baseline")]
    if None in names:
        raise pages.nothing_here("two runs are compared: /compare?candidate=RUN&baseline=RUN")
    candidate, baseline = map(str, names)
    return HTMLResponse(pages.comparison(shelf, candidate, baseline))


def _index(shelf: Shelf, request: Request) -> Response:
    return PlainTextResponse(pages.index(shelf, request.path_params["run"]))


def _case(shelf: Shelf, request: Request) -> Response:
    name = request.query_params.get("id", "")
    trial = _number(request.query_params, "trial", default=1)
    return Response(pages.case(shelf, request.path_params["run"], name, trial=trial), media_type="application/json")


def _nowhere(_request: Request, _error: Exception) -> Response:
    return HTMLResponse(wrong(pages.nothing_here("there is no such page")).page, 404)


def _number(asked: Mapping[str, str], name: str, *, default: int) -> int:
    text = asked.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS and int(text)):
        raise pages.nothing_here(f"{name} is no number from 1: {text!r}")
    return int(text)
