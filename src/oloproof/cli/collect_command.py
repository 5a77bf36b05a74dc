"""``oloproof collect``."""

from __future__ import annotations

import fcntl
import os
import sys
import time
from io import FileIO
from pathlib import Path
from threading import Event, Thread

import click

from oloproof.cli.common import Amount, OutputFile, from_environment
from oloproof.errors import counted
from oloproof.receiver.begun import SUFFIX, Begun
from oloproof.receiver.earlier import Earlier, NotOurs, read
from oloproof.receiver.gathering import Gathering, Waits
from oloproof.receiver.server import Limits, Receiver
from oloproof.receiver.writing import Writer
from oloproof.service.access import is_loopback
from oloproof.signals import ending

MEGABYTE = 2**20
LOOK_EVERY_S = 0.5
_SECONDS = Amount(min=0)
_MEGABYTES = click.IntRange(min=1, max=2**20)


@click.command("collect")
@click.option("-o", "--output", type=OutputFile(), required=True, help="The traces.jsonl to write, or to go on with.")
@click.option("--port", type=click.IntRange(0, 65535), default=4318, show_default=True, help="0: any that is free.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Any but a loopback address needs a token.")
@click.option("--token-env", metavar="NAME", help="The environment variable with the bearer token that senders give.")
@click.option(
    "--quiet", type=_SECONDS, default=10, show_default=True, help="A trace is complete after so many quiet seconds."
)
@click.option(
    "--conversation-quiet",
    type=_SECONDS,
    default=600,
    show_default=True,
    help="And a conversation, whose user may take a while, or a trace that is known to be under way.",
)
@click.option("--max-body", type=_MEGABYTES, default=16, show_default=True, help="The largest request, in MiB.")
@click.option(
    "--max-memory", type=_MEGABYTES, default=512, show_default=True, help="The most that waits to be written, in MiB."
)
def command(
    output: Path,
    port: int,
    host: str,
    token_env: str | None,
    quiet: float,
    conversation_quiet: float,
    max_body: int,
    max_memory: int,
) -> None:
    """Receive OpenTelemetry over HTTP and write the trajectory of each run once it is complete.

    Ctrl-C, or a SIGTERM, ends it; then what is still waiting is written too.

    \b
    Example:
      oloproof collect --port 4318 -o traces.jsonl
    """
    token = _token(host, token_env)
    limits = Limits(most_bytes=max_body * MEGABYTE, token=token)
    is_new = not output.exists()
    with _opened(output) as file:
        earlier = _earlier(output, file)
        begun = Begun(output.with_name(output.name + SUFFIX))
        gathering = Gathering(
            Waits(trace_s=quiet, conversation_s=max(quiet, conversation_quiet)),
            most_bytes=max_memory * MEGABYTE,
            written=earlier.written,
            torn=begun.known() - earlier.written.keys(),
        )
        try:
            receiver = Receiver((host, port), gathering, limits, clock=time.monotonic, begun=begun)
        except OSError as error:
            if is_new:
                output.unlink()
            problem = f"cannot listen on {host}:{port}: {error.strerror}: choose another --port"
            raise click.UsageError(problem) from error
        writer = Writer(file, earlier)
        with receiver:
            _receive(receiver, writer, goes_on=None if is_new else f"{output}: {_held(earlier)}")
        begun.keep(gathering.unwritten)
    print(
        f"wrote {output}: {writer.trajectories} trajectories, {writer.steps} steps; {writer.unrelated} traces of "
        f"something else, {gathering.late} records came too late",
        file=sys.stderr,
    )
    if writer.reopened:
        cut = counted(writer.reopened, "trajectory", "trajectories")
        print(f"  {cut} marked as truncated, since steps came after it was written: see --quiet", file=sys.stderr)


def _token(host: str, token_env: str | None) -> str | None:
    token = None if token_env is None else from_environment("--token-env", token_env)
    if token is None and not is_loopback(host):
        raise click.UsageError(f"--host {host}: others could send, so it needs a --token-env")
    return token


def _opened(output: Path) -> FileIO:
    """The file, which is this process's alone as long as it is open."""
    if output.exists() and not output.is_file():
        raise click.UsageError(f"{output} is no file: name a new one")
    file = FileIO(os.open(output, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666), "r+b")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise click.UsageError(f"{output} is being written by another process: name a new file") from None
    except OSError:  # a file system that knows no locks
        pass
    return file


def _earlier(output: Path, file: FileIO) -> Earlier:
    """What the file holds. What was not written to its end is mended or taken away."""
    try:
        with output.open("rb") as lines:
            found = read(lines)
    except NotOurs as error:
        message = f"{output} is there already, and line {error.line} is none that collect wrote: name a new file"
        raise click.UsageError(message) from None
    file.truncate(found.size)
    if found.missing:
        file.seek(found.size)
        file.write(found.missing)
    return found


def _held(earlier: Earlier) -> str:
    return f"going on after {counted(earlier.trajectories, 'trajectory', 'trajectories')}"


def _receive(receiver: Receiver, writer: Writer, *, goes_on: str | None) -> None:
    """Until a signal comes. ``goes_on``: what is said of a file that was there; None: it is new."""
    stop = Event()
    serving = Thread(target=receiver.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    with ending(stop.set):
        serving.start()
        host, port = receiver.server_address[:2]
        print(f"listening on http://{host!s}:{port}", file=sys.stderr, flush=True)
        if goes_on is not None:
            print(goes_on, file=sys.stderr, flush=True)
        while not stop.wait(LOOK_EVERY_S):
            _write(receiver, writer)
        receiver.shutdown()
        serving.join()
        receiver.refuse_more()
        _write(receiver, writer, everything=True)


def _write(receiver: Receiver, writer: Writer, *, everything: bool = False) -> None:
    """What is complete, or all there is; and that what was complete is not."""
    for traces in receiver.due(everything=everything):
        writer.run(traces)
    writer.reopen(receiver.belied())
