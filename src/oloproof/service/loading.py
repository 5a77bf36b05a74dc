"""The service that ``MODULE:NAME`` names, or the one without credentials."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oloproof.runtime import (
    AgentLoop,
    AsyncTool,
    HeuristicController,
    JsonlAuditSink,
    RetrieveTool,
    RunStore,
    SqliteStore,
    ToolRegistry,
)
from oloproof.service.conversing import Service
from oloproof.service.corpus import retriever_over
from oloproof.service.errors import ServiceError

STATE = Path(".oloproof") / "agent"


def named(target: str) -> Service:
    """What ``module:name`` names: a Service, an AgentLoop, or a function without arguments that returns one of these.

    The module is imported into this process, from the working directory or what is installed.
    Errors: ServiceError.
    """
    module_name, _, name = target.partition(":")
    if not module_name or not name:
        raise ServiceError("OLO762", f"{target!r:.80} names no service", "write MODULE:NAME, as in my_agent:service")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        value: Any = importlib.import_module(module_name)
        for part in name.split("."):
            value = getattr(value, part)
        if not isinstance(value, Service | AgentLoop) and callable(value):
            value = value()
    except Exception as error:
        raise ServiceError("OLO762", f"{target} cannot be loaded: {type(error).__name__}: {error}") from error
    if isinstance(value, AgentLoop):
        return Service(loop=value)
    if isinstance(value, Service):
        return value
    what = f"{target} is of type {type(value).__name__}, no Service"
    raise ServiceError("OLO762", what, "name an oloproof.service.Service, an AgentLoop, or a function that makes one")


def without_credentials(state: Path, corpora: Sequence[Path], *, store: RunStore | None = None) -> Service:
    """The rule that retrieves once and answers, over directories of text; the trail of its runs is kept in ``state``,
    and so are the runs where ``store`` is None.

    Errors: ServiceError where the directories cannot be read or written.
    """
    tools: list[AsyncTool] = [RetrieveTool(retriever_over(corpora))] if corpora else []
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)  # states hold what was asked and answered
        kept = SqliteStore(state / "runs.db") if store is None else store
    except Exception as error:  # of the file system, or of SQLite
        raise ServiceError("OLO765", f"{state}: runs cannot be kept here: {error}", "name another --state") from None
    audit = JsonlAuditSink(state / "audit.jsonl")
    loop = AgentLoop(controller=HeuristicController(), tools=ToolRegistry(tools), checkpoint_store=kept, audit=audit)
    return Service(loop=loop)
