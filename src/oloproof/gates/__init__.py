"""The stage that decides: metrics and a policy in, decisions and one verdict on the run out."""

from __future__ import annotations

from oloproof.gates.advice import idle_rules, never_failing, policy_warnings, warnings
from oloproof.gates.exit import blocks, verdict
from oloproof.gates.outlook import Outlook, outlook
from oloproof.gates.rules import approval_digest, decide

__all__ = [
    "Outlook",
    "approval_digest",
    "blocks",
    "decide",
    "idle_rules",
    "never_failing",
    "outlook",
    "policy_warnings",
    "verdict",
    "warnings",
]
