"""What a report has to say of single places: rules that do not pass, cases that fail or have no verdict.

SARIF and the annotations of a pull request are drawn from these. What is missing is never as loud as what failed and
never silent, and whatever blocks is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from oloproof.model.comparison import Comparison
from oloproof.model.places import Place, Places
from oloproof.reports.comparison import changed_text
from oloproof.reports.contrast import contrast
from oloproof.reports.inert import TEXT_LIMIT, inert
from oloproof.reports.lists import case_name, reason_text, steps_text
from oloproof.reports.view import DecisionRow, VerdictRow, View

Level = Literal["error", "warning", "note"]
RULE = "rule/"
CRITERION = "criterion/"
GATE = "gate"


class Remark(Struct, frozen=True, kw_only=True):
    """One thing said of one place. ``about`` names what it is about: ``rule/no-deletion``, ``criterion/answer`` or
    ``gate``. ``identity`` is the same in every run that says the same of it; not made for show. ``case`` is the case
    with its trial, "" where it is about none, ``steps`` the steps that it rests on. ``place`` None: nowhere known.
    ``rules`` are the places of the rules that count it."""

    level: Level
    about: str
    text: str
    identity: tuple[str, ...]
    place: Place | None = None
    case: str = ""
    steps: tuple[int, ...] = ()
    rules: tuple[tuple[str, Place], ...] = ()


def remarks(view: View, rows: Iterable[VerdictRow], places: Places) -> Iterator[Remark]:
    """What a run's report remarks: on its rules first, then on its cases in the order of the run."""
    yield from rule_remarks(view, places)
    for row in rows:
        if row.verdict in ("fail", "missing"):
            yield _case_remark(view, row, places)


def regressions_first(
    view: View, rows: Callable[[], Iterable[VerdictRow]], places: Places, comparison: Comparison | None
) -> Iterator[Remark]:
    """The same, the cases that were broken since the baseline before the others; ``rows`` are read twice."""
    criteria = () if comparison is None else comparison.criteria
    broken = {(criterion.id, case) for criterion in criteria for case in criterion.broken_cases}
    known = [row for row in rows() if (row.criterion, row.case) in broken] if broken else []
    yield from remarks(view, known, places)
    for row in rows():
        if row.verdict in ("fail", "missing") and (row.criterion, row.case) not in broken:
            yield _case_remark(view, row, places)


def rule_remarks(view: View, places: Places) -> Iterator[Remark]:
    """On every rule that does not pass, and on a verdict that no rule carries."""
    for row in view.decisions:
        if row.blocking or row.state != "PASS":
            yield _rule_remark(view, row, places)
    if view.exit_code and not view.is_carried:
        identity = (view.project, GATE)
        yield Remark(level="error", about=GATE, text=view.gate, identity=identity, place=places.config)


def comparison_remarks(
    view: View, comparison: Comparison, places: Places, partings: Mapping[str, str]
) -> Iterator[Remark]:
    """What a comparison remarks: on its rules, then on the cases that broke or lost their verdict. ``partings`` say by
    case where the calls part."""
    yield from rule_remarks(view, places)
    for criterion in comparison.criteria:
        name = inert(criterion.id)
        level: Level = "error" if _blocks(view, name) else "warning"
        for case in criterion.broken_cases:
            text = f"{inert(case)}: {name} {changed_text(case, 'broken', partings)}"
            yield _changed_remark(view, name, case, text=text, level=level, places=places)
        for case in criterion.lost_cases:
            text = f"{inert(case)}: {name} {changed_text(case, 'lost', partings)}"
            yield _changed_remark(view, name, case, text=text, level="note", places=places)


def _rule_remark(view: View, row: DecisionRow, places: Places) -> Remark:
    level: Level = "error" if row.blocking else "warning" if row.state == "FAIL" else "note"
    return Remark(
        level=level,
        about=RULE + row.rule,
        text=f"{row.rule} is {row.state}: {row.words}",
        identity=(view.project, RULE, row.rule),
        place=places.rules.get(row.rule, places.config),
    )


def _case_remark(view: View, row: VerdictRow, places: Places) -> Remark:
    criterion, case = inert(row.criterion), case_name(row)
    told = reason_text(row.reason, row.told) if row.reason or row.told else ""
    if row.verdict == "fail":
        level: Level = "error" if _blocks(view, criterion) else "warning"
        steps = f"steps {steps_text(row.steps)}" if row.steps else ""
        why = "; ".join(part for part in (told, contrast(row.expected, row.found), steps) if part)
        text = f"{case} fails {criterion}: {why}" if why else f"{case} fails {criterion}"
    else:
        level, text = "note", f"{case} has no verdict on {criterion}: {told}"
    return Remark(
        level=level,
        about=CRITERION + criterion,
        text=text,
        identity=(view.project, CRITERION, row.criterion, row.case, str(row.trial)),
        place=places.cases.get((row.case, row.trial)) or places.criteria.get(row.criterion, places.config),
        case=case,
        steps=row.steps,
        rules=_rules_about(view, criterion, places),
    )


def _changed_remark(view: View, criterion: str, case: str, *, text: str, level: Level, places: Places) -> Remark:
    return Remark(
        level=level,
        about=CRITERION + criterion,
        text=inert(text, TEXT_LIMIT),
        identity=(view.project, CRITERION, criterion, case),
        place=places.cases.get((case, 1)) or places.criteria.get(criterion, places.config),
        case=inert(case),
        rules=_rules_about(view, criterion, places),
    )


def _blocks(view: View, criterion: str) -> bool:
    """Whether a rule about the criterion blocks."""
    return any(row.blocking and row.metric == criterion for row in view.decisions)


def _rules_about(view: View, criterion: str, places: Places) -> tuple[tuple[str, Place], ...]:
    rules = (row.rule for row in view.decisions if row.metric == criterion)
    return tuple((rule, places.rules[rule]) for rule in rules if rule in places.rules)
