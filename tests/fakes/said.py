"""A report in which texts stand in every field that an agent, a dataset or a file may choose."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from golden.specimens import support
from oloproof.model.comparison import Comparison, CriterionPairs
from oloproof.model.decision import Approval, CountFinding, Decision, Gate
from oloproof.model.measured import ErrorGroup, Measured, Rate, SliceGroup
from oloproof.model.places import Place, Places
from oloproof.model.run import Report, SystemIdentity
from oloproof.model.tally import PairTable, Tally
from oloproof.reports.view import VerdictRow


def report(texts: Sequence[str]) -> Report:
    """A report that says each text as a rule, criterion, slice, error, warning, approval and changed case."""
    before, rate = support(), Rate(texts[0], Tally(6, 1))
    pairs = PairTable(both_pass=9, broken=len(texts), fixed=len(texts))
    comparison = Comparison(
        candidate=texts[0],
        baseline=texts[0],
        pairs=pairs.n,
        only_in_candidate=tuple(texts),
        only_in_baseline=tuple(texts),
        changed=tuple(texts),
        accepted=(),
        uncompared=tuple(texts),
        membership="candidate",
        criteria=tuple(CriterionPairs(text, pairs, (text,), (text,), (text,)) for text in texts),
    )
    return replace(
        before,
        run=replace(
            before.run,
            project=texts[0],
            system=SystemIdentity(name=texts[0], version=texts[-1], source=texts[0]),
            partial=texts[0],
        ),
        measured=Measured(
            700,
            tuple(Rate(text, Tally(500, 100, 100)) for text in texts),
            tuple(SliceGroup(text, text, 7, (rate,)) for text in texts),
            errors=tuple(ErrorGroup(kind="system_error", message=text, cases=1, first=text) for text in texts),
        ),
        policy=None,
        decisions=tuple(_decision(text) for text in texts),
        gate=Gate(outcome="BLOCK", exit_code=1, why=texts[0]),
        approvals=tuple(Approval(rule=text, by=text, at=text, run_digest="d") for text in texts),
        warnings=tuple(texts),
        comparison=comparison,
    )


def rows(texts: Sequence[str]) -> list[VerdictRow]:
    """For each text a verdict that passes, one that fails and one that is missing, with it in every field."""
    return [
        VerdictRow(
            case=text,
            criterion=text,
            verdict=verdict,
            reason=text or None,
            detail=text,
            error=text,
            expected={text[:100]: text[:100]},
            found=[text[:100]],
        )
        for text in texts
        for verdict in ("pass", "fail", "missing")
    ]


def places(texts: Sequence[str]) -> Places:
    """A place of every text, in a file of its name."""
    named = {text: Place(text.encode("utf-8", "replace").decode(), 3) for text in texts}
    return Places(config=Place("oloproof.yaml"), rules=named, cases={(text, 1): named[text] for text in texts})


def _decision(text: str) -> Decision:
    return Decision(
        rule=text,
        metric=text,
        state="FAIL",
        reason="observed_failures_exceed_limit",
        blocking=True,
        finding=CountFinding(tally=Tally(500, 100, 100), max_failures=0),
        approved_by=text,
    )
