"""Comparisons that tests of what follows from one share."""

from __future__ import annotations

from oloproof.model.comparison import Comparison, CriterionPairs
from oloproof.model.tally import PairTable


def compared(table: PairTable, name: str = "right") -> Comparison:
    """Two runs whose pairs under one criterion are those of ``table``."""
    return Comparison(
        candidate="new",
        baseline="old",
        pairs=table.n,
        only_in_candidate=(),
        only_in_baseline=(),
        changed=(),
        accepted=(),
        uncompared=(),
        membership="candidate",
        criteria=(CriterionPairs(name, table),),
    )
