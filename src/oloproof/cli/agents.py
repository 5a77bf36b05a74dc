"""What ``agent`` and ``serve`` share: which agent it is, and where its runs are kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from oloproof.service import Service
from oloproof.service.loading import STATE, named, without_credentials

F = TypeVar("F", bound=Callable[..., Any])


def service_options(command: F) -> F:
    """``--app``, ``--corpus`` and ``--state``; the command is given ``opened``, which makes the service of them."""

    @wraps(command)
    def gathered(*arguments: Any, **parameters: Any) -> Any:
        chosen = {name: parameters.pop(name) for name in ("app", "corpora", "state")}
        if any(chosen.values()) and parameters.get("server") is not None:
            raise click.UsageError("--server runs its own agent: leave out --app, --corpus and --state")
        return command(*arguments, **parameters, opened=lambda: _opened(**chosen))

    options: Any = gathered
    for option in (
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


def _opened(app: str | None, corpora: tuple[Path, ...], state: Path | None) -> Service:
    if app is None:
        return without_credentials(STATE if state is None else state, corpora)
    if corpora or state is not None:
        raise click.UsageError("--app brings its own tools and stores: leave out --corpus and --state")
    return named(app)
