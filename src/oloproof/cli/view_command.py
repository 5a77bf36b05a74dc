"""``oloproof view``."""

from __future__ import annotations

import os
import secrets
import sys
import webbrowser
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Event, Thread
from types import ModuleType
from urllib.parse import urlencode

import click

from oloproof.cli.common import TEXT, config_option, named_config
from oloproof.errors import Problem, UsageError
from oloproof.pipeline.world import STORE, find_run, open_store

_TOKEN_BYTES = 32


@click.command("view")
@click.argument("run", required=False, type=TEXT)
@config_option
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0: any that is free.")
@click.option(
    "--open/--no-open", "opening", default=None, help="Open a browser; default: on a terminal with a display."
)
@click.option("--no-content", is_flag=True, help="Leave inputs, outputs, arguments and results out.")
def command(run: str | None, config: Path, port: int, opening: bool | None, no_content: bool) -> None:
    """Show the stored runs in the browser, and follow one that goes on.

    RUN is the one to start at: an id, a unique part of one, latest or latest~2; without it the list of runs.

    The server is for reading, listens on this machine alone, and asks for the token in the address that it prints.
    Ctrl-C, or a SIGTERM, ends it.

    \b
    Example:
      oloproof view latest
    """
    serving, app = _imported()
    with open_store(config, create=False) as store:
        start = None if run is None else find_run(store, run, config).id
    try:
        on = serving.listening(port)
    except OSError as error:
        raise click.UsageError(f"cannot listen on port {port}: {error.strerror}: choose another --port") from error
    with on:
        port = on.getsockname()[1]
        browser = _has_display() if opening is None else opening
        ticket = secrets.token_urlsafe(_TOKEN_BYTES) if browser else None
        door = app.Door(secrets.token_urlsafe(_TOKEN_BYTES), ticket=ticket, port=port)
        shelf = app.Shelf(directory=config.parent / STORE, config=named_config(config), content=not no_content)
        stop, place = Event(), partial(_address, port, start)

        def ready() -> None:
            print(place(door.token), flush=True)
            print("open this address; it shows what the store holds, for reading only. Ctrl-C ends it", file=sys.stderr)
            if ticket is not None:
                Thread(target=_open, args=(place(ticket),), daemon=True).start()

        serving.serve(app.viewer(shelf, door, stop), on, stop, ready)


def _imported() -> tuple[ModuleType, ModuleType]:
    try:
        from oloproof.view import app, serving
    except ImportError:
        what = "`oloproof view` needs starlette and uvicorn, which are not installed"
        raise UsageError(Problem("OLO721", what, "pip install 'oloproof[view]'")) from None
    return serving, app


def _address(port: int, run: str | None, token: str) -> str:
    start = {} if run is None else {"run": run}
    return f"http://127.0.0.1:{port}/?{urlencode({'token': token} | start)}"


def _has_display() -> bool:
    """Whether somebody sits before this machine who can be shown a browser."""
    graphical = sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    return graphical and sys.stdout.isatty()


def _open(address: str) -> None:
    """Where there is no browser, the address that was printed is what there is."""
    with suppress(Exception):
        webbrowser.open(address)
