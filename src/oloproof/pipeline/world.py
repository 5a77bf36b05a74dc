"""The real world: the store beside a configuration, the system's clock and dice, and which run a name means there."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from oloproof.errors import OloproofError, Problem, UsageError
from oloproof.model.run import Report, Run
from oloproof.pipeline.ports import Ports
from oloproof.project import hint_above, load
from oloproof.store import Store, codes

CONFIG = "oloproof.yaml"
STORE = ".oloproof"
BASELINE = "--baseline"
"""The option that names one, in the words of the command line that a run keeps."""
VALUED = ("--case", "--slice", "--limit", "--trials", BASELINE, "--seed")
"""The options among those words that the next word belongs to, whatever it looks like; the others are flags."""


def open_store(config: Path, *, create: bool) -> Store:
    """The store beside the configuration. Where neither is there, and the store is to be, that is told of both."""
    directory = config.parent / STORE
    if not create and not directory.exists() and not config.exists():
        what = f"there are neither runs here nor {config.name}"
        hint = hint_above(config, otherwise="go to the project's directory, or name its configuration")
        raise UsageError(Problem(codes.NO_STORE, what, hint, file=str(directory)))
    return Store.open(directory, create=create)


def find_run(store: Store, name: str, config: Path) -> Run:
    """The run that a name means. ``latest`` is of the configuration's project, since several may share a store; where
    the configuration cannot be read (any more), it is of the only one that is stored."""
    project = None
    if name.startswith("latest"):
        try:
            project = load(config).name
        except UsageError:
            if len({run.project for run in store.runs()}) > 1:
                raise
    return store.find(name, project=project)


def name_of_baseline(store: Store, report: Report) -> str:
    """What the run was compared with, as a command that is typed here names it: the file, or the run; "" where it had
    no baseline, or neither is to be found (any more)."""
    if report.comparison is None:
        return ""
    file, name = Path(_valued(report.run.asked).get(BASELINE, "")), report.comparison.baseline
    try:
        if file.is_absolute() and file.is_file():
            here = Path.cwd()
            return str(file.relative_to(here) if file.is_relative_to(here) else file)
        return name if store.find(name).id == name else ""
    except (OloproofError, OSError):  # nobody may look there, or where we stood is gone
        return ""


def _valued(words: Sequence[str]) -> dict[str, str]:
    """The options that have a value, with the last one that each is given. A case may be called like an option."""
    found, rest = {}, iter(words)
    for word in rest:
        if word in VALUED:
            found[word] = next(rest, "")
    return found


def real_ports(store: Store) -> Ports:
    """This store, the system's clock and dice; the user's code runs in workers."""
    return Ports(
        store=store, now=lambda: datetime.now(UTC), monotonic=time.monotonic, token=lambda: os.urandom(3).hex()
    )
