"""The audit trail: records in a hash chain, and what a verifier finds wrong with one.

A record's digest is SHA-256 over the canonical JSON (keys sorted, no white space, UTF-8) of all its other fields, the
digest of the record before it among them. The first record of each run holds a random nonce, so no two runs share a
history (Haber and Stornetta 1991, "How to time-stamp a digital document", §5.1, linking).
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.json import Encoder

NONE: Final = ""
"""What the first record names as the digest before it."""

FIRST: Final = "run_started"
LAST: Final = "run_ended"
CALLER_STOP: Final = "caller_stop"
"""The one reason to stop after which a run can be resumed."""

canonical = Encoder(order="sorted").encode


def digest(value: Any) -> str:
    """SHA-256 over the canonical JSON of a value, 64 hexadecimal digits."""
    return sha256(canonical(value)).hexdigest()


class AuditHead(Struct, frozen=True, forbid_unknown_fields=True):
    """The last record of a run: its number and its digest."""

    seq: int
    digest: str


class AuditRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One event of a run. ``seq`` counts from 0; ``previous`` is the digest of the record before, "" for the first."""

    tenant: str
    run_id: str
    seq: int
    event: str
    data: dict[str, Any]
    previous: str
    digest: str

    @property
    def head(self) -> AuditHead:
        """This record as the last of its run."""
        return AuditHead(self.seq, self.digest)

    @property
    def run(self) -> tuple[str, str]:
        """The key of its run: tenant and run id."""
        return self.tenant, self.run_id


def chained(run: tuple[str, str], head: AuditHead | None, event: str, data: dict[str, Any]) -> AuditRecord:
    """The record of an event that follows ``head``, None at the start of a run."""
    tenant, run_id = run
    seq, previous = (0, NONE) if head is None else (head.seq + 1, head.digest)
    return AuditRecord(
        tenant=tenant,
        run_id=run_id,
        seq=seq,
        event=event,
        data=data,
        previous=previous,
        digest=_digest(tenant, run_id, seq, event, data, previous),
    )


AuditFault = Literal["changed", "removed", "reordered", "repeated", "unlinked", "no_nonce", "added", "cut"]


class AuditProblem(Struct, frozen=True, kw_only=True):
    """What is wrong with a trail: the run, the number of the record, and the fault.

    ``changed``: the record is not what its digest says. ``removed``: the record ``seq`` is not there. ``reordered``: it
    stands after one with a higher number. ``repeated``: it is there twice. ``unlinked``: it does not name the digest of
    the one before. ``no_nonce``: the run's first record holds none. ``added``: it stands after the end of its run.
    ``cut``: the trail ends before the given head.
    """

    tenant: str
    run_id: str
    seq: int
    fault: AuditFault

    def __str__(self) -> str:
        return f"run {self.run_id!r}, record {self.seq}: {self.fault}"


def verify_audit(records: Iterable[AuditRecord], *, heads: Iterable[Any] = ()) -> list[AuditProblem]:
    """Everything wrong with a trail, [] when nothing is. Runs may be mixed in it.

    ``heads`` are run states (anything with ``tenant``, ``run_id`` and ``audit_head``): a trail that does not reach
    their last record is cut. Without them a tail that was cut off cannot be seen.
    """
    runs: dict[tuple[str, str], list[AuditRecord]] = {}
    for record in records:
        runs.setdefault(record.run, []).append(record)
    problems = [problem for trail in runs.values() for problem in _faults(trail)]
    for state in heads:
        head = state.audit_head
        trail = runs.get((state.tenant, state.run_id), [])
        if not any(record.head == head for record in trail):
            problems.append(AuditProblem(tenant=state.tenant, run_id=state.run_id, seq=head.seq, fault="cut"))
    return problems


def _digest(tenant: str, run_id: str, seq: int, event: str, data: dict[str, Any], previous: str) -> str:
    return digest({"data": data, "event": event, "previous": previous, "run_id": run_id, "seq": seq, "tenant": tenant})


def _goes_on(last: AuditRecord, record: AuditRecord) -> bool:
    """Whether a record may follow the one that ended its run."""
    return record.event == "resumed" and last.data.get("reason") == CALLER_STOP


def _faults(trail: list[AuditRecord]) -> Iterable[AuditProblem]:
    tenant, run_id = trail[0].run

    def problem(seq: int, fault: AuditFault) -> AuditProblem:
        return AuditProblem(tenant=tenant, run_id=run_id, seq=seq, fault=fault)

    by_number: dict[int, AuditRecord] = {}
    highest = -1
    for record in trail:
        if record.digest != _digest(*record.run, record.seq, record.event, record.data, record.previous):
            yield problem(record.seq, "changed")
        if record.seq in by_number:
            yield problem(record.seq, "repeated")
            continue
        if record.seq < highest:
            yield problem(record.seq, "reordered")
        highest = max(highest, record.seq)
        by_number[record.seq] = record
    missing_to = 0
    for seq in sorted(by_number):
        if seq > missing_to:  # one problem a gap: a forged number must not cost time in its size
            yield problem(missing_to, "removed")
        missing_to = seq + 1
        before = by_number.get(seq - 1)
        if before is not None and by_number[seq].previous != before.digest:
            yield problem(seq, "unlinked")
        if before is not None and before.event == LAST and not _goes_on(before, by_number[seq]):
            yield problem(seq, "added")
    first = by_number.get(0)
    if first is not None:
        if first.previous != NONE:
            yield problem(0, "unlinked")
        nonce = first.data.get("nonce")
        if first.event != FIRST or not isinstance(nonce, str) or len(nonce) < 32:
            yield problem(0, "no_nonce")
