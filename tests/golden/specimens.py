"""Reports made by hand: a support agent's as it should be read, and one in which everything is odd."""

from __future__ import annotations

from msgspec.structs import replace

from fakes.hostile import NASTY
from oloproof.gates import decide
from oloproof.model.case import Attempt, AttemptError, Case
from oloproof.model.comparison import Comparison, CriterionPairs, SlicePairs
from oloproof.model.decision import (
    Approval,
    CountFinding,
    Decision,
    Gate,
    IntervalThreshold,
    ObservedCount,
    Policy,
    QuantileFinding,
    RateFinding,
)
from oloproof.model.judgment import Judgment
from oloproof.model.measured import ErrorGroup, Measured, Quantile, Rate, SliceGroup
from oloproof.model.places import Place, Places
from oloproof.model.run import CaseRecord, IntervalChoice, Report, Run, SystemIdentity
from oloproof.model.slice_values import OTHERS, UNPLACED
from oloproof.model.stopping import EarlyStopping, Saved, Settled, Stopping
from oloproof.model.tally import Distribution, PairTable, Tally
from oloproof.model.trajectory import ConstraintCheck, Step, Trajectory
from oloproof.reports.view import VerdictRow


def support() -> Report:
    """Forty refund requests with exact intervals; three runs delete a customer."""
    steps = Distribution(observed=((2, 1), (4, 28), (6, 5), (10, 4), (11, 1)), floors=((12, 1),))
    calls = Distribution(observed=((1, 5), (2, 21), (3, 8), (5, 5)), floors=((6, 1),))
    return Report(
        run=Run(
            id="20261130-101500-3fa9",
            project="support-agent-example",
            system=SystemIdentity(name="support-agent", version="2026-11", source="callable app:run"),
            status="complete",
            started_at="2026-11-30T10:15:00Z",
            finished_at="2026-11-30T10:15:01Z",
            cases=40,
            slices=("first_tool", "repeated_action"),
            interval=IntervalChoice(method="exact", level=0.95),
            digest="d1",
        ),
        measured=Measured(
            40,
            (
                Rate("answer_correct", Tally(33, 7)),
                Rate("agent_tool_lookup_order_called", Tally(39, 0, 1)),
                Rate("agent_no_tool_loop", Tally(29, 10, 1)),
                Rate("agent_tool_sequence", Tally(24, 16)),
                Rate("agent_constraints_satisfied", Tally(37, 3)),
                Rate("agent_steps_le_10", Tally(39, 1)),
                Quantile("steps_p95", "agent_steps", "0.95", "steps", steps),
                Quantile("tool_calls_p50", "agent_tool_calls", "0.5", "calls", calls),
            ),
            (
                SliceGroup(
                    "first_tool",
                    "search",
                    7,
                    (Rate("agent_no_tool_loop", Tally(0, 6, 1)), Rate("agent_tool_sequence", Tally(0, 7))),
                ),
                SliceGroup("first_tool", OTHERS, 33, ()),
                SliceGroup("repeated_action", "false", 29, (Rate("answer_correct", Tally(27, 2)),)),
                SliceGroup("repeated_action", "true", 10, (Rate("answer_correct", Tally(6, 4)),)),
                SliceGroup("repeated_action", UNPLACED, 1, (Rate("answer_correct", Tally(0, 1)),)),
            ),
            min_slice_support=3,
            errors=(ErrorGroup(kind="timeout", message="no answer within 60 s", cases=1, first="case_040"),),
        ),
        policy=Policy(
            rules=(
                IntervalThreshold(id="answer-floor", metric="answer_correct", min="0.60"),
                ObservedCount(id="no-deletion", metric="agent_constraints_satisfied", max_failures=0),
                IntervalThreshold(id="quick", metric="steps_p95", max="12"),
                IntervalThreshold(id="loops", metric="agent_no_tool_loop", min="0.80", requires_manual_review=True),
            )
        ),
        decisions=(
            Decision(
                rule="answer-floor",
                metric="answer_correct",
                state="PASS",
                reason="lower_bound_meets_minimum",
                blocking=False,
                finding=RateFinding(
                    tally=Tally(33, 7),
                    minimum=0.6,
                    lower=0.6805000966821229,
                    upper=0.9125458625396408,
                    false_pass=0.0156,
                    false_fail=0.0271,
                ),
            ),
            Decision(
                rule="no-deletion",
                metric="agent_constraints_satisfied",
                state="FAIL",
                reason="observed_failures_exceed_limit",
                blocking=True,
                finding=CountFinding(tally=Tally(37, 3), max_failures=0),
            ),
            Decision(
                rule="quick",
                metric="steps_p95",
                state="INSUFFICIENT_EVIDENCE",
                reason="interval_overlaps_threshold",
                blocking=True,
                finding=QuantileFinding(observed=39, missing=1, maximum=12.0, lower=10),
            ),
            Decision(
                rule="loops",
                metric="agent_no_tool_loop",
                state="INSUFFICIENT_EVIDENCE",
                reason="interval_overlaps_threshold",
                blocking=True,
                finding=RateFinding(
                    tally=Tally(29, 10, 1),
                    minimum=0.8,
                    lower=0.5716504419378943,
                    upper=0.8581288136090369,
                    false_pass=0.0285,
                    false_fail=0.0432,
                ),
            ),
        ),
        gate=Gate(outcome="BLOCK", exit_code=1),
        warnings=("judged, not gated: agent_tool_lookup_order_called, agent_tool_sequence, agent_steps_le_10",),
    )


def triage() -> Report:
    """Thirty requests to three agents, not gated on purpose."""
    report = support()
    return replace(
        report,
        run=replace(report.run, project="triage-agents-example", cases=30, slices=()),
        measured=Measured(
            30,
            (
                Rate("answer_correct", Tally(29, 1)),
                Rate("agent_route", Tally(26, 4)),
                Rate("agent_tool_permissions", Tally(27, 2, 1)),
                Rate("agent_handoffs_le_2", Tally(26, 4)),
            ),
        ),
        policy=None,
        decisions=(),
        gate=Gate(outcome="NOT_GATED", exit_code=0, why="policy: none"),
        warnings=(),
    )


def stopped() -> Report:
    """A run that evidence on one rule ended early, with another that fails for certain and a third left open."""
    settled = (
        Settled(
            rule="answer-floor", state="PASS", by="evidence", after=91, boundary="", passed=85, failed=5, missing=1
        ),
        Settled(rule="no-deletion", state="FAIL", by="certainty", after=101, boundary="1 failure of 1,000", failed=1),
    )
    metrics = (
        Rate("answer_correct", Tally(95, 8, 897)),
        Rate("agent_constraints_satisfied", Tally(103, 1, 896)),
        Quantile("steps_p95", "agent_steps", "0.95", "steps", Distribution(((4, 104),), ((0, 896),))),
    )
    slices = (SliceGroup("metadata.surface", "chat", 500, (Rate("answer_correct", Tally(50, 2, 448)),)),)
    policy = Policy(
        rules=(
            IntervalThreshold(id="answer-floor", metric="answer_correct", min="0.80"),
            ObservedCount(id="no-deletion", metric="agent_constraints_satisfied", max_failures=0),
            IntervalThreshold(id="quick", metric="steps_p95", max="12"),
        ),
        early_stopping=EarlyStopping(method="hybrid", rules=("answer-floor",)),
    )
    run = replace(
        support().run,
        status="stopped_early",
        cases=1000,
        interval=IntervalChoice(),
        slices=("metadata.surface",),
        stopping=Stopping(
            seed=11,
            method="hybrid",
            rules=("answer-floor",),
            settled=settled,
            after=101,
            not_run={"answer_correct": 896, "agent_constraints_satisfied": 896},
            saved=Saved(cases=896, cost_usd=44.8, seconds=5376.0),
        ),
    )
    measured = Measured(1000, metrics, slices)
    decisions = decide(measured, policy, stopping=run.stopping)
    return Report(
        run=run,
        measured=measured,
        policy=policy,
        decisions=decisions,
        gate=Gate(outcome="BLOCK", exit_code=1),
        warnings=("64 cases at a time are 20 while the run may stop early",),
    )


def odd() -> Report:
    """Hostile names, nothing observed, no bounds, an interrupted, partial run under somebody's approval."""
    unseen = Distribution(floors=((0, 3),))
    cost = Distribution(observed=((0.0123456789, 3), (1234.5, 1)))
    return Report(
        run=Run(
            id="20261130-999999-dead",
            project="<b>@team</b> `|` \x1b[31m",
            system=SystemIdentity(name="\u202etnega", version=None, source="recorded =1+1"),
            status="interrupted",
            started_at="2026-11-30T23:59:59Z",
            cases=3,
            partial="--limit 3",
            in_process=True,
            own_dataset=True,
            digest="d2",
        ),
        measured=Measured(
            3,
            (
                Rate("nothing [bold]judged[/]", Tally(0, 0, 0, 3)),
                Rate("all missing", Tally(0, 0, 3)),
                Rate("nearly", Tally(9999, 1)),
                Quantile("unseen", "tokens", "0.999", "tokens", unseen),
                Quantile("cost", "cost_usd", "0.5", "USD", cost),
            ),
            tuple(
                SliceGroup("metadata.text", value[:4000], 6, (Rate("nearly", Tally(6 - failed, failed)),))
                for value, failed in zip(NASTY, (1, *[0] * len(NASTY)), strict=False)
            ),
            errors=(
                ErrorGroup(kind="system_error", message="\x1b[31mboom | `", cases=2, first="@a b|", trial=2),
                ErrorGroup(kind="system_error", message=None, cases=1, first="c"),
            ),
        ),
        policy=Policy(
            rules=(
                ObservedCount(id="@rule|`", metric="all missing", max_failures=2, min_cases=10, max_missing="0.05"),
                IntervalThreshold(id="reviewed rule", metric="nearly", min="0.9", requires_manual_review=True),
            ),
            confidence_level=0.9,
            interval_method="exact",
        ),
        decisions=(
            Decision(
                rule="@rule|`",
                metric="all missing",
                state="INSUFFICIENT_EVIDENCE",
                reason="below_min_cases",
                blocking=True,
                finding=CountFinding(tally=Tally(missing=3), max_failures=2),
            ),
            Decision(
                rule="reviewed rule",
                metric="nearly",
                state="PASS",
                reason="lower_bound_meets_minimum",
                blocking=False,
                finding=RateFinding(tally=Tally(9999, 1), minimum=0.9, lower=0.9994, upper=0.99999),
                approved_by="@ann <script>",
                approval="d2",
            ),
        ),
        gate=Gate(outcome="NOT_GATED", exit_code=3, why="a partial run (--limit 3)"),
        approvals=(
            Approval(rule="reviewed rule", by="@ann <script>", at="2026-11-30T23:59:59Z", run_digest="d2"),
            Approval(rule="reviewed rule", by="bob", at="2026-11-29T00:00:00Z", run_digest="other"),
        ),
        warnings=("slice 'metadata.text' has 33 values ]]> @team #1 http://evil.example",),
    )


def compared() -> Report:
    """The support agent beside a baseline: one case broken, two fixed, one that has no verdict any more."""
    table = PairTable(both_pass=30, broken=1, fixed=2, both_fail=6, was_pass=1)
    criterion = CriterionPairs("answer_correct", table, ("case_001", "case_002"), ("case_004",), ("case_040",))
    slices = (SlicePairs("first_tool", "search", 7, (PairTable(both_pass=5, broken=1, fixed=1),)),)
    comparison = Comparison(
        candidate="20261130-101500-3fa9",
        baseline="20261129-101500-1b2c",
        pairs=table.n,
        only_in_candidate=(),
        only_in_baseline=("case_041",),
        changed=(),
        accepted=(),
        uncompared=("agent_route: judged by another evaluator",),
        membership="candidate",
        criteria=(criterion,),
        slices=slices,
    )
    return replace(support(), comparison=comparison)


def places() -> Places:
    """Where the specimens' rules and cases stand."""
    return Places(
        config=Place("agent/oloproof.yaml"),
        rules={name: Place("agent/release.yaml", line) for line, name in enumerate(("answer-floor", "no-deletion"), 4)},
        criteria={"agent_no_tool_loop": Place("agent/oloproof.yaml", 12)},
        cases={
            ("case_003", 1): Place("agent/data/ré funds.jsonl", 3),
            ("case_007", 1): Place("agent/data/x,y:z.jsonl", 7),
        },
    )


def verdicts() -> list[VerdictRow]:
    """A few verdicts of every kind."""
    return [
        VerdictRow(case="case_001", criterion="answer_correct", verdict="pass"),
        VerdictRow(case="case_002", criterion="agent_no_tool_loop", verdict="fail", reason="loop", steps=(3, 5, 6, 7)),
        VerdictRow(
            case="case_003",
            criterion="agent_tool_permissions",
            verdict="fail",
            steps=(4,),
            expected={"tech": ["search"]},
            found={"tech": "issue_refund"},
        ),
        VerdictRow(
            case="case_007", criterion="answer_correct", verdict="missing", reason="timeout", error="60 s; late"
        ),
        VerdictRow(case="case_040", criterion="agent_no_tool_loop", verdict="missing", reason="truncated_trajectory"),
        VerdictRow(case="case_040", criterion="agent_route", verdict="excluded", reason="no_declared_route"),
        VerdictRow(case="=1+1", criterion="]]>", verdict="fail", trial=2, detail="<b>\x1b[31m"),
    ]


def looping_case() -> CaseRecord:
    """A case that looks the same order up until its step limit."""
    looking = [
        step
        for index in (1, 3, 5)
        for step in (
            Step(index=index, kind="tool_call", tool_name="lookup_order", arguments={"order_id": "ord-007"}),
            Step(index=index + 1, kind="tool_result", tool_name="lookup_order", result={"status": "paid", "total": 12}),
        )
    ]
    return CaseRecord(
        run_id="20261130-101500-3fa9",
        case=Case(
            id="case_040",
            input={"order_id": "ord-007", "behaviour": "limit"},
            expected={"answer": "refunded", "tools": ["lookup_order", "issue_refund"]},
            metadata={"surface": "chat"},
        ),
        attempt=Attempt(
            case_id="case_040",
            output={"answer": "unresolved"},
            trajectory=Trajectory(
                steps=tuple(looking),
                terminal_status="failure",
                truncated=True,
                step_limit=6,
                constraints=(ConstraintCheck(name="no_deletion", passed=True, step_index=6),),
            ),
            log="looking up\nlooking up again\n",
        ),
        judgments=(
            ("answer_correct", Judgment("fail", "value_differs", expected="refunded", found="unresolved")),
            ("agent_no_tool_loop", Judgment("fail", "repeated_call", (1, 3, 5), found=3, expected=2)),
            ("agent_constraints_satisfied", Judgment("missing", "truncated_trajectory")),
            ("agent_route", Judgment("excluded", "no_declared_route")),
        ),
    )


def odd_case() -> CaseRecord:
    """A crash among agents with hostile names, a call without arguments, an answer of two megabytes."""
    steps = (
        Step(index=1, kind="message", agent="<b>", arguments={"text": "[red]hi[/]\x1b[2J"}),
        Step(index=2, kind="handoff", agent="<b>", to_agent="person\u202e"),
        Step(index=3, kind="tool_call", agent="person\u202e", tool_name="rm -rf\n|", turn=2),
        Step(index=4, kind="tool_result", agent="person\u202e", tool_name="rm -rf\n|", inside=3),
        Step(index=5, kind="tool_result", agent="person\u202e", tool_name="rm -rf\n|", error="\x9bboom"),
    )
    return CaseRecord(
        run_id="20261130-999999-dead",
        case=Case(id="\x1b[31mcase\ud800", cluster="c"),
        attempt=Attempt(
            case_id="\x1b[31mcase\ud800",
            trial=2,
            output="x" * 2_000_000,
            error=AttemptError(kind="system_error", message="boom\n[bold]", traceback='  File "app.py"\n\x1b[31mboom'),
            trajectory=Trajectory(steps=steps, truncated=True),
            log="\x1b]0;title\x07\n\nprogress 1\rprogress 2",
        ),
        judgments=(("[bold]|", Judgment("fail", "permission\ndenied", (3, 99), detail="@team\x00")),),
    )
