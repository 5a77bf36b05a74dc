"""What both shells do between two effects: keep the state, then the trail; and what they check before a session."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from oloproof.record.steps import printable
from oloproof.runtime.audit import CALLER_STOP
from oloproof.runtime.errors import StateError
from oloproof.runtime.gates import Approval
from oloproof.runtime.sinks import AuditSink
from oloproof.runtime.state import OVER, RunState
from oloproof.runtime.stores import RunStore


class Keeping(Struct, frozen=True):
    """Where a shell keeps states (None: nowhere) and audit records."""

    store: RunStore | None
    audit: AuditSink

    def keep(self, state: RunState) -> None:
        """Save the state, then write its audit records. What the state says is done only after that."""
        if self.store is not None:
            self.store.save(state)
        try:
            self.audit.append(state.outbox)
        except StateError:
            # A session that found the run over, or could not go on with it, may have written them in the meantime. The
            # store has let this one save, so it alone goes on from here; without a store nothing says so.
            if self.store is None or self.audit.head(state.key) != state.audit_head:
                raise

    def require_new(self, tenant: str, run_id: str) -> None:
        """Errors: StateError where the run id is in the store or the trail."""
        stored = None if self.store is None else self.store.load(tenant, run_id)
        if stored is not None or self.audit.head((tenant, run_id)) is not None:
            raise StateError(f"there is a run {run_id!r} already", hint="resume it, or give another run_id")

    def stored(self, tenant: str, run_id: str) -> RunState:
        """The stored state of a run. Errors: StateError where there is none, or no store."""
        if self.store is None:
            raise StateError("there is no store to read a run from", hint="give a store=, or the state itself")
        state = self.store.load(printable(tenant), printable(run_id))  # as the kernel wrote them when the run began
        if state is None:
            raise StateError(f"there is no run {run_id!r}")
        return state

    def require_resumable(self, state: RunState) -> None:
        """Bring the trail up to the state, if a crash kept its last records from it.

        Errors: StateError where the run is over (its trail is brought up all the same), the state is older than what is
        stored or written, or the trail does not hold the state's last record.
        """
        if self.store is not None:
            stored = self.store.load(*state.key)
            if stored is not None and stored != state:
                raise StateError(
                    f"this copy of the run {state.run_id!r} is not the stored one",
                    hint="it was changed, or the run has gone on since; resume it by its id",
                )
        self._bring_up(state)
        if isinstance(state.at, OVER) and state.stop_reason != CALLER_STOP:
            raise StateError(f"the run {state.run_id!r} is over: it is {state.status.value}")

    def _bring_up(self, state: RunState) -> None:
        """Write the records of the state's last transition that the trail lacks."""
        held = self.audit.head(state.key)
        if held == state.audit_head:
            return
        if held is not None and held.seq > state.audit_head.seq:
            raise StateError(f"this copy of the run {state.run_id!r} is old: the audit trail shows that it went on")
        for position, record in enumerate(state.outbox):
            if (record.seq, record.previous) == ((0, "") if held is None else (held.seq + 1, held.digest)):
                self.audit.append(state.outbox[position:])
                return
        raise StateError(
            f"the audit trail does not hold record {state.audit_head.seq} of the run {state.run_id!r}",
            hint="the trail was cut, or it is another's; pass the audit sink that the run was started with",
        )


def checked_approvals(approvals: Iterable[Approval]) -> tuple[Approval, ...]:
    """Errors: TypeError for what is no Approval."""
    given = tuple(approvals)
    for approval in given:
        if not isinstance(approval, Approval):
            raise TypeError(f"approvals holds {type(approval).__name__}, no Approval")
    return given
