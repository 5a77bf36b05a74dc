"""The stage that decides: metrics and a policy in, decisions and one verdict on the run out."""

from __future__ import annotations

from oloproof.gates.advice import policy_warnings, warnings
from oloproof.gates.exit import blocks, verdict
from oloproof.gates.outlook import Outlook, outlook
from oloproof.gates.rules import approval_digest, decide
from oloproof.gates.stopping import MOST_AT_ONCE, Course, Suite, launch_order

__all__ = [
    "MOST_AT_ONCE",
    "Course",
    "Outlook",
    "Suite",
    "approval_digest",
    "blocks",
    "decide",
    "launch_order",
    "outlook",
    "policy_warnings",
    "verdict",
    "warnings",
]
