"""The way to a Ray cluster, within a bounded time: one that is there, or one of this machine alone for the run."""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from oloproof.errors import BrokenError, Problem, UsageError
from oloproof.model.project import RayExecutor

LOCAL = "local"
CONNECT_S = 5.0
"""How long the address may take to answer at all."""

PROBE_S = 90.0
"""How long a cluster may take to let a program in. On a busy machine most of it goes to importing Ray."""

LEFT_BEHIND = (".oloproof/", ".git/", ".venv/", "venv/", "__pycache__/", ".env", ".env.*")
"""What is never sent along with a project's files: its store, its history, its environment, and its secrets."""

_OBJECT_STORE_BYTES = 256 * 1024 * 1024
_HOST_AND_PORT = re.compile(r"(?P<host>[^\s:/]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})")
_NO_MEMBER = re.compile(r"Failed to connect to socket at address:\S*/raylet|Can't find a `node_ip_address\.json` file")
_FRAME = re.compile(r"\[0x[0-9a-f]+\]|StackTrace Information")
_START = "ray: {address: HOST:PORT} names the head's, as `ray start --head` prints it"

_QUIETLY = {
    "configure_logging": False,
    "log_to_driver": False,
    "logging_level": "ERROR",
}

_SURROUNDINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_gcs_rpc_server_reconnect_timeout_s": "3600"}
"""A cluster that starts here tells nobody that it did. And where a cluster loses its head, this process is not ended
with it, as Ray would after a minute: the run ends by itself, once no worker is left."""

_AT_IMPORT = _SURROUNDINGS | {"RAY_ENABLE_AUTO_CONNECT": "0"}
"""No thread that asks Ray something after the run has ended starts another cluster by that. The processes of a cluster
that starts here do not have this from us, since an agent may count on it."""

_PROBE = "import ray, sys; ray.init(address=sys.argv[1], configure_logging=False, log_to_driver=False); ray.shutdown()"


@contextmanager
def connected(executor: RayExecutor, directory: str, *, config: str) -> Iterator[Any]:
    """Ray, connected until the block ends.

    Errors: UsageError when Ray is not installed or the address is none; BrokenError when no cluster lets us in.
    """
    with _surroundings(_AT_IMPORT):
        ray = _ray(config)
    address = _address(executor)
    options: dict[str, Any] = dict(_QUIETLY)
    if address == LOCAL:
        options |= {"include_dashboard": False, "object_store_memory": _OBJECT_STORE_BYTES}
    else:
        _probe(address, where=config if executor.address else None)
        if is_upload(executor):
            options["runtime_env"] = {"working_dir": directory, "excludes": list(LEFT_BEHIND)}
    with _quiet(ray):
        try:
            with _handlers_kept(), _surroundings(_SURROUNDINGS):
                _init(ray, address, options)
            yield ray
        finally:
            with _handlers_kept():
                ray.shutdown()


def is_upload(executor: RayExecutor) -> bool:
    """The project's files are sent along; to a cluster of this machine alone they need not be."""
    return executor.code == "upload" and _address(executor) != LOCAL


def _address(executor: RayExecutor) -> str:
    return executor.address or os.environ.get("RAY_ADDRESS") or LOCAL


def _ray(config: str) -> Any:
    try:
        import ray
    except ImportError:
        hint = "pip install 'oloproof[ray]'"
        raise UsageError(Problem("OLO430", "executor: ray needs the library Ray", hint, file=config)) from None
    return ray


def _init(ray: Any, address: str, options: dict[str, Any]) -> None:
    try:
        ray.init(address=address, **options)
    except ray.exceptions.RuntimeEnvSetupError as exc:
        last = str(exc).strip().rpartition("\n")[2]
        hint = "leave out what is large in .gitignore or .rayignore, or write `ray: {code: shared}`"
        raise UsageError(
            Problem("OLO437", f"the project's files could not be sent along: {last.partition('. ')[0][:300]}", hint)
        ) from None
    except Exception as exc:  # of many kinds, by what it was that went wrong
        raise _nobody(address, f"{type(exc).__name__}: {str(exc).strip()[:500]}") from None


@contextmanager
def _quiet(ray: Any) -> Iterator[None]:
    """Ray prints to this process's standard output what befalls the cluster's machines, unasked, and its own advice to
    standard error: what is to be known of both is told where the run is."""
    logger, inner = logging.getLogger("ray"), ray._private.worker
    level, printing = logger.level, getattr(inner, "_worker_logs_enabled", True)
    logger.setLevel(logging.ERROR)
    inner._worker_logs_enabled = False
    try:
        yield
    finally:
        logger.setLevel(level)
        inner._worker_logs_enabled = printing


def _probe(address: str, *, where: str | None) -> None:
    """See that the cluster lets a program in. Ray itself waits for minutes, cannot be interrupted, and ends the whole
    process at last: so another process asks first."""
    if address != "auto":
        _knock(address, where)
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    command = [sys.executable, "-P", "-c", _PROBE, address]
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        _, said = process.communicate(timeout=PROBE_S)
    except subprocess.TimeoutExpired:
        raise _nobody(address, f"nothing there speaks as Ray does (waited {PROBE_S:g} s)") from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.returncode:
        raise _nobody(address, _reason(said.decode(errors="replace")) or f"exit status {process.returncode}")


def _reason(said: str) -> str:
    """Why Ray let nobody in, of all that it says then."""
    if _NO_MEMBER.search(said):
        return "this machine does not belong to it: call oloproof on one that does, or `ray start --address` here"
    lines = [line.strip() for line in said.splitlines() if line.strip() and not _FRAME.search(line)]
    errors = [line for line in lines if "Error" in line]
    return (errors or lines or [""])[-1][:500]


def _knock(address: str, where: str | None) -> None:
    found = _HOST_AND_PORT.fullmatch(address)
    if found is None:
        named = "ray.address" if where else "RAY_ADDRESS"
        message = f"{named} is {address!r}, which is not host:port, auto or local"
        raise UsageError(Problem("OLO436", message, _START, file=where))
    try:
        socket.create_connection((found["host"].strip("[]"), int(found["port"])), timeout=CONNECT_S).close()
    except (OSError, OverflowError, UnicodeError) as exc:
        raise _nobody(address, str(exc)) from None


def _nobody(address: str, why: str) -> BrokenError:
    hint = f"{_START}; without an address Ray starts on this machine"
    return BrokenError(f"no Ray cluster could be reached at {address}: {why}", code="OLO431", hint=hint)


@contextmanager
def _handlers_kept() -> Iterator[None]:
    """Ray puts a handler of its own on SIGTERM, which is not its to handle here."""
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        with suppress(ValueError):  # not the main thread: Ray has put none either
            signal.signal(signal.SIGTERM, handler)


@contextmanager
def _surroundings(variables: Mapping[str, str]) -> Iterator[None]:
    """What Ray reads from the environment as it is imported and starts, and what it leaves there."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
