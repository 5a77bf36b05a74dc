"""Early stopping in words: where a run stopped and why, what that saved, and what settled a rule."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_HALF_EVEN

from oloproof.errors import counted
from oloproof.model.decision import Basis, Decision, RateFinding
from oloproof.model.run import Report, Run
from oloproof.model.stopping import Saved, Settled, Stopping
from oloproof.reports.figures import full_run, quantity_text, time_text
from oloproof.reports.inert import inert
from oloproof.reports.shapes import Fact
from oloproof.stats.rounding import percent_of

STOPPING_LABELS = ("early stopping", "saved", "full run")


def stopping_facts(report: Report) -> Iterator[Fact]:
    """How the run could stop early and where it did, what was saved, and what the whole suite would have shown."""
    stopping = report.run.stopping
    if stopping is None:
        return
    how, saved, whole = STOPPING_LABELS
    yield Fact(how, f"{_method(stopping)}; {_where(report.run, stopping)}")
    if stopping.saved is not None:
        yield Fact(saved, _saved(stopping.saved, report.measured.cases))
    for metric in report.measured.metrics:
        bounds = full_run(metric, report.run)
        if bounds is not None:
            least, most = bounds
            sure = f"{percent_of(report.run.interval.level)}% sure at any moment"
            yield Fact(whole, f"{inert(metric.id)}: {least:,} to {most:,} passes of this suite's cases, {sure}")


def settled_in_words(decision: Decision) -> str:
    """When the rule was settled and by what, as the end of a sentence; "" where nothing stopped early."""
    if decision.reason == "stopped_early":
        return ""
    basis = decision.finding.basis if isinstance(decision.finding, RateFinding) else None
    by = "" if basis is None else f" ({_basis(basis)})"
    settled = decision.settled
    if settled is None:
        return by
    after = counted(settled.after, "case")
    if settled.by == "evidence":
        missing = f", {settled.missing:,} missing" if settled.missing else ""
        return f"{by} after {after}: {settled.passed:,} passed, {settled.failed:,} failed{missing}"
    return f"{by}; certain after {after}, which takes {inert(settled.boundary)}"


def _method(stopping: Stopping) -> str:
    named = f" on {', '.join(map(inert, stopping.rules))}" if stopping.rules else ""
    return f"{stopping.method}{named}, launch order from seed {stopping.seed}"


def _where(run: Run, stopping: Stopping) -> str:
    if not run.is_concluded:
        return "cut short before its verdict was settled"
    if stopping.after is None:
        return "no case was left out"
    causes = ", ".join(_cause(settled) for settled in stopping.settled if _is_cause(settled, stopping))
    return f"stopped after {stopping.after:,} of {run.cases:,} cases: {causes}"


def _is_cause(settled: Settled, stopping: Stopping) -> bool:
    """A failure settles the run by itself; passes do together."""
    failed = any(each.state == "FAIL" for each in stopping.settled)
    return settled.state == "FAIL" or not failed


def _cause(settled: Settled) -> str:
    return f"{inert(settled.rule)} {settled.state} by {settled.by}"


def _saved(saved: Saved, cases: int) -> str:
    also = []
    if saved.cost_usd is not None:
        also.append(f"about {quantity_text(saved.cost_usd, rounding=ROUND_HALF_EVEN)} USD")
    if saved.seconds is not None:
        also.append(f"about {_time(saved.seconds)} of the system's time")
    return ", ".join([f"{saved.cases:,} of {cases:,} cases not run", *also])


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else time_text(round(seconds))


def _basis(basis: Basis) -> str:
    level = f"{percent_of(basis.level)}%"
    return f"anytime-valid {level}, mixture" if basis.method == "anytime_mixture" else f"{basis.method}, {level}"
