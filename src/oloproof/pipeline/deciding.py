"""Counts → decisions → report, of a run that has just ended or of one that was stored: no case is read again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from oloproof import gates
from oloproof.errors import MOST_PROBLEMS, PRECEDENCE, BrokenError, ExitCode, Problem, UsageError, counted
from oloproof.model.comparison import Comparison
from oloproof.model.decision import Approval, CountFinding, Decision, Gate, Policy, RateFinding
from oloproof.model.measured import Measured, Quantile
from oloproof.model.project import Project
from oloproof.model.run import Report, Run
from oloproof.pipeline.ports import Ports, rfc3339
from oloproof.store import Store

NOT_FOR_REVIEW = "OLO608"


def stored_report(store: Store, header: Run, policy: Policy | None) -> Report:
    """The report of a stored run under ``policy``, from its aggregates alone: no case is read again."""
    if header.status == "running":
        raise BrokenError(
            f"run {header.id} was started and never finished",
            code="OLO604",
            hint=f"complete it: `oloproof run --resume {header.id}`",
        )
    comparison, warnings = store.comparison(header.id), store.warnings(header.id)
    if comparison is not None and not set(comparison.accepted) <= set(policy.accept_changed_cases if policy else ()):
        told = "the comparison accepted changed cases that the policy does not (any more): compare again"
        comparison, warnings = None, (*warnings, told)
    return report(header, store.aggregates(header.id), policy, store.approvals(header.id), warnings, comparison)


def gate(header: Run, project: Project | None, ports: Ports, *, approve: tuple[str, ...], by: str) -> Report:
    """Decide a stored run under the project's policy (``project`` None: under the one that was stored with it), after
    noting that ``by`` approves the rules in ``approve``. Who asks for a gate gets one, also of a run without.

    Errors: UsageError when the run was judged with another configuration, or a rule does not wait for approval.
    """
    if project is None:
        policy, by_choice = ports.store.policy(header.id), False
    else:
        _refuse_other_configuration(header, project)
        policy, by_choice = project.policy, project.policy_none
    _refuse_other_policy(header, policy, ports.store)
    header = replace(header, ungated_by_choice=by_choice)
    before = stored_report(ports.store, header, policy)
    if not approve:
        return before
    states = {decision.rule: decision.state for decision in before.decisions}
    refused = [rule for rule in approve if states.get(rule) != "MANUAL_REVIEW"]
    if refused:
        raise UsageError(
            Problem(NOT_FOR_REVIEW, f"rule {rule!r} is {states.get(rule, 'not in the policy')}, not MANUAL_REVIEW")
            for rule in refused
        )
    assert before.policy is not None  # some rule waits for approval
    rules = {rule.id: rule for rule in before.policy.rules}
    for decision in before.decisions:
        if decision.rule in approve:
            digest = gates.approval_digest(
                header.digest,
                rules[decision.rule],
                decision.finding,
                policy=before.policy,
                comparison=before.comparison,
            )
            approval = Approval(rule=decision.rule, by=by, at=rfc3339(ports.now()), run_digest=digest)
            ports.store.approve(header.id, approval)
    return stored_report(ports.store, header, policy)


def _refuse_other_configuration(header: Run, project: Project) -> None:
    if header.config_digest != project.config_digest:
        stored, given = header.config_digest[:12], project.config_digest[:12]
        message = f"run {header.id} was judged with configuration {stored}; this one is {given}"
        hint = "run again, or decide with what was stored: --as-judged"
        raise UsageError(Problem("OLO606", message, hint, file=project.config))


def _refuse_other_policy(header: Run, policy: Policy | None, store: Store) -> None:
    """What a run stopped for, or what evidence may have settled, is decided: no other question is put to it now."""
    stopping, asked = header.stopping, store.policy(header.id)
    if stopping is None or (stopping.after is None and not stopping.rules):
        return
    if policy is not None and (asked is None or not policy.decides_like(asked)):
        message = f"run {header.id} was free to stop by its own policy, and this one has other rules, bounds or levels"
        hint = "run again under this policy, or decide with what was stored: --as-judged"
        raise UsageError(Problem("OLO652", message, hint))


def stored_gate(store: Store, header: Run) -> Gate | None:
    """The verdict that a stored run ended with; None when it concluded nothing that can be read."""
    if header.finished_at is None:
        return None
    try:
        return stored_report(store, header, store.policy(header.id)).gate
    except BrokenError:  # one damaged run does not hide the others
        return None


def report(
    header: Run,
    measured: Measured,
    policy: Policy | None,
    approvals: tuple[Approval, ...],
    warnings: tuple[str, ...],
    comparison: Comparison | None = None,
) -> Report:
    """Decide, and keep it all together."""
    decisions = (
        gates.decide(measured, policy, approvals, header.digest, comparison, stopping=header.stopping) if policy else ()
    )
    decided = Report(
        run=header,
        measured=measured,
        policy=policy,
        decisions=decisions,
        gate=_gate(header, policy, decisions),
        approvals=approvals,
        warnings=warnings,
        comparison=comparison,
    )
    return replace(decided, warnings=(*warnings, *odd(decided, policy)))


def odd(decided: Report, policy: Policy | None) -> tuple[str, ...]:
    """What its reader should know of a report, a line each. ``policy`` is the whole one, also where the report decides
    some of its rules only; None: nothing is gated."""
    return (
        *gates.warnings(decided.measured, policy, decided.decisions),
        *_idle_rules(decided, policy),
        *_excluded_by_themselves(decided),
        *_other_number(decided.run),
        *_too_narrow(decided.run, decided.measured),
        *_idle_acceptances(policy, decided.comparison),
        *_of_pairs(decided.run, decided.comparison),
        *_rejudged(decided.comparison),
    )


def _idle_rules(decided: Report, policy: Policy | None) -> Iterator[str]:
    """Rules of which a PASS says nothing. Of a few of the cases nothing is gated, and nothing is said."""
    if policy is not None and not decided.run.partial:
        yield from gates.idle_rules(decided.measured, policy, decided.decisions)


def _excluded_by_themselves(decided: Report) -> Iterator[str]:
    """That recordings which are their own dataset say that a criterion does not apply to them, where a rule does not
    say how many it must apply to: who writes them decides what fails."""
    least = {rule.id: rule.min_cases for rule in decided.policy.rules} if decided.policy is not None else {}
    for decision in decided.decisions if decided.run.own_dataset else ():
        match decision.finding:
            case CountFinding(tally=tally) | RateFinding(tally=tally) if tally.excluded and least[decision.rule] == 1:
                cases = counted(tally.excluded, "case")
                yield (
                    f"rule '{decision.rule}' leaves out {cases} by what the recordings say of themselves:"
                    " `min_cases` says how many there must be"
                )
            case _:
                pass


def _other_number(header: Run) -> tuple[str, ...]:
    """That more or fewer cases were recorded than must be there, where no verdict says so."""
    if header.ungated_by_choice and header.own_dataset and header.expected_cases not in (None, header.cases):
        return (_not_the_number(header),)
    return ()


def _not_the_number(header: Run) -> str:
    return f"`cases: {header.expected_cases}` must be there, and {header.cases:,} were recorded"


def _too_narrow(header: Run, measured: Measured) -> tuple[str, ...]:
    """What is displayed of clustered cases as if they were independent; no rule is decided on it."""
    quantiles = [metric.id for metric in measured.metrics if isinstance(metric, Quantile)]
    if not (header.clustered and quantiles):
        return ()
    return (f"cases belong to clusters, and the interval of {', '.join(quantiles)} is too narrow for them",)


def _of_pairs(header: Run, comparison: Comparison | None) -> Iterator[str]:
    """What is displayed of pairs as if the run had gone to its end, and as if cases were independent."""
    if comparison is not None and header.stopping is not None and header.stopping.after is not None:
        yield (
            "the candidate stopped early: the cases that it left out are missing pairs, and the p-values hold for no"
            " run that stops because of what it shows"
        )
    if comparison is not None and header.clustered:
        yield (
            "cases belong to clusters: the intervals of differences take them as independent, and are too narrow, and"
            " the p-values too small"
        )


def _idle_acceptances(policy: Policy | None, comparison: Comparison | None) -> tuple[str, ...]:
    """What the policy accepts in advance: a later change to these cases would be waved through as well."""
    if policy is None or comparison is None:
        return ()
    idle = [repr(case) for case in policy.accept_changed_cases if case not in comparison.accepted]
    if not idle:
        return ()
    return (f"accept_changed_cases names {_listed(idle)}, neither gone nor changed: take out what is accepted by now",)


def _rejudged(comparison: Comparison | None) -> tuple[str, ...]:
    """That a milder function of the same name may be what looks like no regression. It is not refused: of what a
    function is made are all modules around it, and most of their changes change no verdict."""
    if comparison is None or not comparison.rejudged:
        return ()
    names = _listed([repr(name) for name in comparison.rejudged])
    told = f"the code of the functions that judge {names}, or of what they import, is not what it was for the baseline"
    return (f"{told}: a difference, or none, may be their doing; judge the baseline again by the functions of now",)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_PROBLEMS:,} more" if len(names) > MOST_PROBLEMS else ""
    return f"{', '.join(names[:MOST_PROBLEMS])}{more}"


def beside_base(report: Report, relaxed: tuple[Problem, ...], *, fail: bool) -> Report:
    """The report with what was relaxed of its policy. With ``fail`` that waits for a person: exit 4, unless something
    graver blocks already."""
    gate, looked_at = report.gate, ExitCode.MANUAL_REVIEW
    if fail and relaxed and PRECEDENCE.index(looked_at) < PRECEDENCE.index(gate.exit_code):
        ways = "one way" if len(relaxed) == 1 else f"{len(relaxed)} ways"
        gate = Gate(outcome="BLOCK", exit_code=looked_at, why=f"the policy was relaxed in {ways}: a person must look")
    return replace(report, relaxed=relaxed, gate=gate)


def decided_here(report: Report) -> Report:
    """A run in the calling process, decided for that process: what its rules say. The store goes on to call it a run in
    process, which no command gates."""
    run = replace(report.run, in_process=False)
    gate = _gate(run, report.policy, report.decisions)
    if report.policy is None and run.is_concluded and not run.ungated_by_choice:
        gate = replace(gate, why="there are no rules: pass rules=[…]")
    return replace(report, run=run, gate=gate)


def _gate(header: Run, policy: Policy | None, decisions: tuple[Decision, ...]) -> Gate:
    """The verdict on the run: the policy's where the run may be gated at all, otherwise why it may not."""
    if not header.is_concluded:
        why = f"the run is {header.status}: what was not run is missing"
        return Gate(outcome="NOT_GATED", exit_code=ExitCode.BROKEN, why=why)
    if header.ungated_by_choice and header.cases:
        return Gate(outcome="NOT_GATED", exit_code=ExitCode.ALLOW, why="no gate was asked for")
    why = _why_not_gated(header, policy)
    if why or policy is None:
        return Gate(outcome="NOT_GATED", exit_code=ExitCode.INSUFFICIENT_EVIDENCE, why=why)
    return gates.verdict(decisions, policy)


def _why_not_gated(header: Run, policy: Policy | None) -> str:
    if header.partial:
        return f"a partial run ({header.partial}) reports and never gates"
    if header.changed:
        return f"a run that was resumed although something had changed never gates: {'; '.join(header.changed)}"
    if header.in_process:
        return "a run with --in-process reports and never gates"
    if not header.cases:
        return "no case ran"
    if policy is None:
        return "there is no policy: write release.yaml beside the configuration, or `policy: none` to go without"
    if header.own_dataset and header.expected_cases is None:
        return "the recordings are their own dataset: write `cases: N`, the number that must be there"
    if header.own_dataset and header.expected_cases != header.cases:
        return _not_the_number(header)
    return ""
