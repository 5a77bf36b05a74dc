"""What ``agent`` and ``serve`` share: which agent it is, and where its runs are kept."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from oloproof.cli.common import from_environment
from oloproof.runtime import PostgresStore
from oloproof.service import Service
from oloproof.service.loading import STATE, named, without_credentials

_SCHEMES = ("postgresql://", "postgres://")
_PASSWORD = re.compile(r"password|//[^/]*:.*@", re.IGNORECASE)

F = TypeVar("F", bound=Callable[..., Any])


def service_options(command: F) -> F:
    """Which agent, and where its runs are kept; the command is given ``opened``, which makes the service of them."""

    @wraps(command)
    def gathered(*arguments: Any, **parameters: Any) -> Any:
        chosen = {name: parameters.pop(name) for name in ("app", "corpora", "state", "store", "store_env")}
        if any(chosen.values()) and parameters.get("server") is not None:
            raise click.UsageError("--server runs its own agent: leave out --app, --corpus, --state and --store")
        return command(*arguments, **parameters, opened=lambda: _opened(**chosen))

    options: Any = gathered
    for option in (
        click.option("--store-env", metavar="NAME", help="The environment variable that holds such an address."),
        click.option(
            "--store", metavar="URL", help="Keep the runs in Postgres, postgresql://HOST/DATABASE; their trail stays."
        ),
        click.option(
            "--state",
            type=click.Path(path_type=Path, file_okay=False),
            help=f"The directory that keeps runs and their audit trail. [default: {STATE}]",
        ),
        click.option(
            "--corpus",
            "corpora",
            multiple=True,
            type=click.Path(path_type=Path, file_okay=False, exists=True),
            help="A directory of text files to retrieve from; may be repeated.",
        ),
        click.option(
            "--app", metavar="MODULE:NAME", help="Your own agent: a Service, an AgentLoop, or what makes one."
        ),
    ):
        options = option(options)
    return cast(F, options)


def _opened(
    app: str | None, corpora: tuple[Path, ...], state: Path | None, store: str | None, store_env: str | None
) -> Service:
    if app is not None:
        if corpora or state is not None or store is not None or store_env is not None:
            raise click.UsageError("--app brings its own tools and stores: leave out --corpus, --state and --store")
        return named(app)
    if not corpora:
        print("neither --app nor --corpus was given: there is nothing to retrieve", file=sys.stderr)
    address = _address(store, store_env)
    kept = None if address is None else PostgresStore(address)
    return without_credentials(STATE if state is None else state, corpora, store=kept)


def _address(store: str | None, store_env: str | None) -> str | None:
    """The address of the database, None where none was given. A command line is no place for a password."""
    if store is not None and store_env is not None:
        raise click.UsageError("give --store or --store-env, not both")
    if store is not None and _PASSWORD.search(store):
        raise click.UsageError("--store: everybody on this machine can read it; give a password with --store-env NAME")
    given, option = store, "--store"
    if store_env is not None:
        given, option = from_environment("--store-env", store_env), f"--store-env: {store_env}"
    if given is not None and not given.startswith(_SCHEMES):
        raise click.UsageError(f"{option} begins neither with {_SCHEMES[0]} nor with {_SCHEMES[1]}")
    return given
