"""What survives: runs, their verdicts and conclusions, in ``.oloproof/oloproof.db``."""

from __future__ import annotations

from oloproof.store.baseline import encode_baseline, read_baseline
from oloproof.store.cases import AttemptVerdicts
from oloproof.store.codec import RunDigest, SourceRef, StoredCase, identity, stored_case
from oloproof.store.kept import Kept, Key
from oloproof.store.memory import MemoryStore
from oloproof.store.names import new_run_id
from oloproof.store.sources import Checked, file_digest
from oloproof.store.store import Store

__all__ = [
    "AttemptVerdicts",
    "Checked",
    "Kept",
    "Key",
    "MemoryStore",
    "RunDigest",
    "SourceRef",
    "Store",
    "StoredCase",
    "encode_baseline",
    "file_digest",
    "identity",
    "new_run_id",
    "read_baseline",
    "stored_case",
]
