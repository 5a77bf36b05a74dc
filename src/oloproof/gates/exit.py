"""The verdict on a run: what its decisions, taken together, tell CI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from oloproof.errors import PRECEDENCE, ExitCode
from oloproof.model.decision import Decision, Gate, Policy, State

_EXIT_CODES: Mapping[State, ExitCode] = {
    "FAIL": ExitCode.FAIL,
    "MANUAL_REVIEW": ExitCode.MANUAL_REVIEW,
    "INSUFFICIENT_EVIDENCE": ExitCode.INSUFFICIENT_EVIDENCE,
}


def blocks(state: State, policy: Policy) -> bool:
    """Whether a decision in this state blocks the run. FAIL always does, PASS never, whatever ``block_on`` says."""
    return state == "FAIL" or (state in policy.block_on and state != "PASS")


def verdict(decisions: Sequence[Decision], policy: Policy) -> Gate:
    """ALLOW (exit 0) when nothing blocks and at least one rule is PASS.

    Otherwise BLOCK, with the exit code of the gravest blocking state (FAIL, MANUAL_REVIEW, INSUFFICIENT_EVIDENCE);
    where nothing blocks and no rule passed, exit 3 and ``why``. A run that was not gated at all has no verdict here.
    """
    codes = {_EXIT_CODES[decision.state] for decision in decisions if blocks(decision.state, policy)}
    for code in PRECEDENCE:
        if code in codes:
            return Gate(outcome="BLOCK", exit_code=code)
    if any(decision.state == "PASS" for decision in decisions):
        return Gate(outcome="ALLOW", exit_code=ExitCode.ALLOW)
    why = "no rule passed, and exit 0 needs one that does" if decisions else "the policy has no rules"
    return Gate(outcome="BLOCK", exit_code=ExitCode.INSUFFICIENT_EVIDENCE, why=why)
