"""A report that may be shown around: what was asked, answered, passed to a tool and returned by it is left out."""

from __future__ import annotations

import re

from msgspec.structs import replace

from oloproof.model.judgment import Judgment
from oloproof.model.run import CaseRecord, Report
from oloproof.reports.case import CaseView, JudgmentView
from oloproof.reports.lists import reason_text
from oloproof.reports.shapes import Fact

LEFT_OUT = "(left out)"

_ALWAYS_SHOWN = frozenset({"run", "trial", "duration"})
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def discreet_report(report: Report) -> Report:
    """The report without what errors said."""
    errors = tuple(
        group if group.message is None else replace(group, message=LEFT_OUT) for group in report.measured.errors
    )
    return replace(report, measured=replace(report.measured, errors=errors))


def discreet_case(view: CaseView, record: CaseRecord) -> CaseView:
    """The view of ``record`` with the names of things, and nothing that an agent, a tool or the dataset said."""
    return replace(
        view,
        facts=tuple(fact if fact.label in _ALWAYS_SHOWN else Fact(fact.label, LEFT_OUT) for fact in view.facts),
        steps=tuple(replace(step, details=()) for step in view.steps),
        constraints=tuple(text.partition(": ")[0] for text in view.constraints),
        judgments=tuple(
            _discreet(drawn, judgment) for drawn, (_, judgment) in zip(view.judgments, record.judgments, strict=True)
        ),
        alignments=(),
        blocks=(),
    )


def discreet_reason(judgment: Judgment) -> str | None:
    """The reason where it is a name, and not text that a function made up."""
    if judgment.reason is None or _NAME.fullmatch(judgment.reason):
        return judgment.reason
    return LEFT_OUT


def _discreet(drawn: JudgmentView, judgment: Judgment) -> JudgmentView:
    return replace(drawn, reason=reason_text(discreet_reason(judgment), None), expected=LEFT_OUT, found=LEFT_OUT)
