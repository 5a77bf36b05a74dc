"""What survives: runs, their verdicts and conclusions, in ``.oloproof/oloproof.db``."""

from __future__ import annotations

from oloproof.store.codec import RunDigest, SourceRef, StoredCase, stored_case
from oloproof.store.names import new_run_id
from oloproof.store.sources import file_digest
from oloproof.store.store import AttemptVerdicts, CaseDetail, Store

__all__ = [
    "AttemptVerdicts",
    "CaseDetail",
    "RunDigest",
    "SourceRef",
    "Store",
    "StoredCase",
    "file_digest",
    "new_run_id",
    "stored_case",
]
