"""The sentence: cases → attempts → judgments → metrics → decisions → report.

Read :mod:`~oloproof.pipeline.running` first. Each function is a straight line over values; the world (store, clock,
dice) comes in through :class:`Ports`. Nothing here prints, parses an option or exits.
"""

from __future__ import annotations

from oloproof.pipeline.budget import Budget
from oloproof.pipeline.comparing import (
    caveats,
    compare,
    comparison_report,
    complete,
    concluded,
    partings,
    refuse_incomparable,
    sides_of,
)
from oloproof.pipeline.deciding import beside_base, decided_here, gate, report, stored_gate, stored_report
from oloproof.pipeline.explaining import alignments
from oloproof.pipeline.foreseeing import outlooks, rehearsal
from oloproof.pipeline.ports import Baseline, Ports, Request, Resumption, Watch
from oloproof.pipeline.redacting import Redacting, problems_told
from oloproof.pipeline.running import run
from oloproof.pipeline.stopping import early_outlook, followed_policy, wished

__all__ = [
    "Baseline",
    "Budget",
    "Ports",
    "Redacting",
    "Request",
    "Resumption",
    "Watch",
    "alignments",
    "beside_base",
    "caveats",
    "compare",
    "comparison_report",
    "complete",
    "concluded",
    "decided_here",
    "early_outlook",
    "followed_policy",
    "gate",
    "outlooks",
    "partings",
    "problems_told",
    "refuse_incomparable",
    "rehearsal",
    "report",
    "run",
    "sides_of",
    "stored_gate",
    "stored_report",
    "wished",
]
