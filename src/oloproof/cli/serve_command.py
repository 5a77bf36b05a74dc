"""``oloproof serve``."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import click

from oloproof.cli.agents import service_options
from oloproof.cli.common import COUNT, Amount, from_environment
from oloproof.errors import ExitCode
from oloproof.service import Access, Service, ServiceLimits
from oloproof.service.asking import Desk
from oloproof.service.serving import Addresses, JsonLines, require_guarded, serve
from oloproof.service.tls import Certificate

_PORT = click.IntRange(0, 65535)
_FILE = click.Path(path_type=Path, dir_okay=False)
_SPARE_FILES = 256


@click.command("serve")
@service_options
@click.option("--host", default="127.0.0.1", show_default=True, help="Any but a loopback address needs tokens.")
@click.option("--port", type=_PORT, default=8000, show_default=True, help="0: any that is free.")
@click.option("--grpc-port", type=_PORT, help="Serve gRPC too, on this port; 0: any that is free.")
@click.option("--tokens", type=_FILE, help="A file of lines TENANT TOKEN.")
@click.option("--tokens-env", metavar="NAME", help="The environment variable that holds such lines.")
@click.option("--tls-cert", type=_FILE, help="Speak TLS: the certificate with its chain, in PEM.")
@click.option("--tls-key", type=_FILE, help="The certificate's key, in PEM, without a passphrase.")
@click.option(
    "--max-body", type=COUNT, metavar="N", default=256, show_default=True, help="The largest request, in KiB."
)
@click.option("--max-streams", type=COUNT, metavar="N", default=1000, show_default=True, help="So many runs at once.")
@click.option("--max-seconds", type=Amount(min=0, min_open=True), default=300, show_default=True, help="For one run.")
def command(
    opened: Callable[[], Service],
    host: str,
    port: int,
    grpc_port: int | None,
    tokens: Path | None,
    tokens_env: str | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    max_body: int,
    max_streams: int,
    max_seconds: float,
) -> None:
    """Serve an agent: POST /v1/agent streams a run's events, /docs describes it, /healthz says that it is up.

    Ctrl-C, or a SIGTERM, ends it; runs that are under way stop and can be resumed. Log events go to stderr, one JSON
    object a line.

    \b
    Example:
      oloproof serve --corpus docs
      oloproof serve --app my_agent:service --host 0.0.0.0 --tokens /run/secrets/tokens \\
        --tls-cert /run/secrets/tls.crt --tls-key /run/secrets/tls.key
    """
    access = _access(tokens, tokens_env)
    certificate = _certificate(tls_cert, tls_key)
    addresses = Addresses(host=host, port=port, grpc_port=grpc_port, certificate=certificate)
    limits = ServiceLimits(most_body_bytes=max_body * 1024, most_streams=max_streams, longest_run_s=max_seconds)
    desk = Desk.of(service=_unopened(opened, access, host), access=access, limits=limits)
    _allow_files(2 * max_streams + _SPARE_FILES)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)  # its starts and stops are told below
    if addresses.warning is not None:
        _say(addresses.warning)
    asyncio.run(serve(desk, addresses, ready=_say))
    logging.shutdown()
    sys.stderr.flush()
    # A function that hangs in a thread cannot be stopped, and the interpreter would wait for it.
    os._exit(ExitCode.ALLOW)


def _unopened(opened: Callable[[], Service], access: Access, host: str) -> Service:
    """The service, opened only where it may be served at all."""
    require_guarded(access, host)
    return opened()


def _certificate(chain: Path | None, key: Path | None) -> Certificate | None:
    if (chain is None) != (key is None):
        raise click.UsageError("--tls-cert and --tls-key go together")
    return None if chain is None or key is None else Certificate.of(chain, key)


def _access(tokens: Path | None, tokens_env: str | None) -> Access:
    if tokens is not None and tokens_env is not None:
        raise click.UsageError("give --tokens or --tokens-env, not both")
    if tokens is not None:
        try:
            return Access.of(tokens.read_text(encoding="utf-8"), source=str(tokens))
        except (OSError, UnicodeDecodeError) as error:
            raise click.UsageError(f"--tokens: {tokens} cannot be read: {error}") from None
    if tokens_env is not None:
        return Access.of(from_environment("--tokens-env", tokens_env), source=tokens_env)
    return Access()


def _allow_files(wanted: int) -> None:
    """Let this process hold so many open files, where it may: each stream is one, and shells allow 1,024 by default."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
