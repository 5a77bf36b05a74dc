from __future__ import annotations

import pytest

from oloproof.gates import blocks, verdict
from oloproof.model.decision import CountFinding, Decision, Gate, Policy, State
from oloproof.model.tally import Tally

ALL = ("FAIL", "INSUFFICIENT_EVIDENCE", "MANUAL_REVIEW")
REASONS = {
    "PASS": "observed_failures_within_limit",
    "FAIL": "observed_failures_exceed_limit",
    "INSUFFICIENT_EVIDENCE": "no_observation",
    "MANUAL_REVIEW": "review_required",
}


def gate(*states: State, block_on: tuple[State, ...] = ALL) -> Gate:
    policy = Policy(rules=(), block_on=block_on)
    decisions = [
        Decision(
            rule="r",
            metric="m",
            state=state,
            reason=REASONS[state],
            blocking=blocks(state, policy),
            finding=CountFinding(tally=Tally(), max_failures=0),
        )
        for state in states
    ]
    return verdict(decisions, policy)


@pytest.mark.parametrize(
    ("states", "code"),
    [
        (("PASS",), 0),
        (("PASS", "FAIL"), 1),
        (("PASS", "INSUFFICIENT_EVIDENCE"), 3),
        (("PASS", "MANUAL_REVIEW"), 4),
        (("INSUFFICIENT_EVIDENCE", "MANUAL_REVIEW"), 4),
        (("INSUFFICIENT_EVIDENCE", "MANUAL_REVIEW", "FAIL"), 1),
    ],
)
def test_the_gravest_blocking_state_gives_the_exit_code(states: tuple[State, ...], code: int) -> None:
    outcome = "ALLOW" if code == 0 else "BLOCK"
    assert gate(*states) == Gate(outcome=outcome, exit_code=code)


def test_only_blocking_states_count() -> None:
    assert gate("PASS", "MANUAL_REVIEW", block_on=("FAIL",)).exit_code == 0
    assert gate("MANUAL_REVIEW", "INSUFFICIENT_EVIDENCE", block_on=("INSUFFICIENT_EVIDENCE",)).exit_code == 3


def test_a_failure_blocks_whatever_the_policy_says() -> None:
    assert gate("PASS", "FAIL", block_on=()).exit_code == 1


def test_a_pass_never_blocks() -> None:
    assert gate("PASS", block_on=("PASS",)).exit_code == 0


def test_nothing_that_blocks_is_not_enough() -> None:
    why = "no rule passed, and exit 0 needs one that does"
    assert gate("INSUFFICIENT_EVIDENCE", block_on=()) == Gate(outcome="BLOCK", exit_code=3, why=why)
    assert gate() == Gate(outcome="BLOCK", exit_code=3, why="the policy has no rules")
