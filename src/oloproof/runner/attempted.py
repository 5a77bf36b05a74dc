"""An attempt as it goes through a run: with its case, and with what is known of it from before."""

from __future__ import annotations

from msgspec import Struct

from oloproof.model.case import Attempt, Case
from oloproof.model.judgment import Judgment
from oloproof.redaction import Scope
from oloproof.store import SourceRef


class Hidden(Struct, frozen=True, gc=False):
    """What was taken out of an attempt: ``case`` is its case without it, ``scope`` takes it out of what is said later,
    and ``touches`` says whether there was anything."""

    case: Case
    scope: Scope
    touches: bool


class Attempted(Struct, frozen=True, gc=False):
    """An attempt at a case, where it lies when a file has it already, and how it was judged when the store has it; None
    where it is to be judged. ``settled`` are the verdicts of the one that it was made again for, () where there is
    none: what is known of that one is not asked again. ``before`` are those of its earlier ones that nobody has judged,
    since this run made it again at once. ``hidden`` is what was taken out of it, None where nothing is looked for."""

    case: Case
    attempt: Attempt
    source: SourceRef | None = None
    judgments: tuple[Judgment, ...] | None = None
    settled: tuple[Judgment, ...] = ()
    before: tuple[Attempt, ...] = ()
    hidden: Hidden | None = None

    @property
    def shown_case(self) -> Case:
        """The case as it may be kept and shown."""
        return self.case if self.hidden is None else self.hidden.case
