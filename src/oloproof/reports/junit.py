"""JUnit XML for the test tab of a CI: one test case a rule, one a judged case and criterion.

A blocking rule and a failing case are a ``<failure>``; what is missing, or undecided without blocking, is ``<skipped>``
with its reason, so that it is never read as a pass. Written by hand, because a run may have a hundred thousand
verdicts: only texts that :func:`~oloproof.reports.inert.inert` made legal in XML 1.0 get here, and they are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import assert_never

from oloproof.model.comparison import Comparison
from oloproof.reports.comparison import changed_text
from oloproof.reports.contrast import contrast
from oloproof.reports.inert import TEXT_LIMIT, inert
from oloproof.reports.lists import case_name, reason_text, steps_text
from oloproof.reports.stopping import STOPPING_LABELS
from oloproof.reports.view import DecisionRow, VerdictRow, View


def junit(view: View, verdict_rows: Iterable[VerdictRow]) -> Iterator[str]:
    """The document in pieces. ``verdict_rows`` are those of the run that the view shows; the excluded are no test."""
    return _document(view, _cases(view, verdict_rows))


def comparison_junit(view: View, comparison: Comparison, partings: Mapping[str, str]) -> Iterator[str]:
    """The document in pieces: the rules that compare, and each case that was fixed, is broken or lost its verdict.
    ``partings`` say by case where the calls part."""
    return _document(view, _changes(comparison, partings))


def _document(view: View, suite: Iterable[str]) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f"<testsuites{_attributes(name=view.project)}>\n"
    yield from _gate(view)
    yield from suite
    yield "</testsuites>\n"


def _gate(view: View) -> Iterator[str]:
    tests = [_rule(row) for row in view.decisions]
    if not view.is_carried and (view.exit_code or view.outcome == "NOT_GATED"):
        tests.append(_verdict(view))
    if not tests:
        return
    text = "".join(tests)
    failures, skipped = text.count("<failure "), text.count("<skipped ")
    yield f"<testsuite{_attributes(name='rules', tests=len(tests), failures=failures, errors=0, skipped=skipped)}>\n"
    yield _properties(view)
    yield text
    yield "</testsuite>\n"


def _properties(view: View) -> str:
    """Where a run could stop early, how it did."""
    told = [fact for fact in view.facts if fact.label in STOPPING_LABELS]
    properties = "".join(f"<property{_attributes(name=fact.label, value=fact.text)}/>\n" for fact in told)
    return f"<properties>\n{properties}</properties>\n" if told else ""


def _rule(row: DecisionRow) -> str:
    approved = f"approved by {row.approved_by}" if row.approved_by else ""
    body = "\n".join(part for part in (f"{row.metric}: {row.reason}", row.achieved, approved) if part)
    message = f"{row.state}: {row.words}"
    name = {"classname": "rule", "name": row.rule}
    if row.blocking:
        return _test(name, f"<failure{_attributes(type=row.state, message=message)}>{escape(body)}</failure>")
    match row.state:
        case "PASS":
            return _test(name, f"<system-out>{escape(row.words)}\n{escape(body)}</system-out>")
        case "FAIL" | "INSUFFICIENT_EVIDENCE" | "MANUAL_REVIEW":
            return _test(name, _skipped(f"{message}: {body}"))
        case _:
            assert_never(row.state)


def _verdict(view: View) -> str:
    """The run's verdict as a test of its own, where no rule carries it: a run that is not green must not look so."""
    name = {"classname": "rule", "name": "gate"}
    if view.exit_code == 0:
        return _test(name, _skipped(view.gate))
    advice = escape("\n".join(f"{step.label}: {step.text}" for step in view.next_steps))
    return _test(name, f"<failure{_attributes(type=view.outcome, message=view.gate)}>{advice}</failure>")


def _cases(view: View, rows: Iterable[VerdictRow]) -> Iterator[str]:
    counts = view.totals
    yield (
        "<testsuite"
        + _attributes(name="cases", tests=counts.n, failures=counts.failed, errors=0, skipped=counts.missing)
        + ">\n"
    )
    for row in rows:
        name = {"classname": inert(row.criterion), "name": case_name(row)}
        match row.verdict:
            case "pass":
                yield _test(name, "")
            case "fail":
                yield _test(name, _failure(row))
            case "missing":
                yield _test(name, _skipped(reason_text(row.reason, row.told)))
            case "excluded":
                pass
            case _:
                assert_never(row.verdict)
    yield "</testsuite>\n"


def _changes(comparison: Comparison, partings: Mapping[str, str]) -> Iterator[str]:
    criteria = comparison.criteria
    failed = sum(len(each.broken_cases) for each in criteria)
    missing = sum(len(each.lost_cases) for each in criteria)
    tests = failed + missing + sum(len(each.fixed_cases) for each in criteria)
    yield f"<testsuite{_attributes(name='changes', tests=tests, failures=failed, errors=0, skipped=missing)}>\n"
    for each in criteria:
        for case in each.broken_cases:
            message = _attributes(type="fail", message=changed_text(case, "broken", partings))
            yield _test(_changed(each.id, case), f"<failure{message}/>")
        for case in each.lost_cases:
            yield _test(_changed(each.id, case), _skipped(changed_text(case, "lost", partings)))
        for case in each.fixed_cases:
            yield _test(_changed(each.id, case), "")
    yield "</testsuite>\n"


def _changed(criterion: str, case: str) -> dict[str, str]:
    return {"classname": inert(criterion), "name": inert(case)}


def _failure(row: VerdictRow) -> str:
    """What was wrong, in the message too, since it is all that many a viewer shows at first."""
    compared = contrast(row.expected, row.found)
    message = reason_text(row.reason, row.told) if row.reason or row.told else compared or "fail"
    steps = f"steps {steps_text(row.steps)}" if row.steps else ""
    told = (inert(row.told or "", TEXT_LIMIT), compared, steps)
    body = "\n".join(part for part in told if part)
    return f"<failure{_attributes(type='fail', message=message)}>{escape(body)}</failure>"


def _test(name: dict[str, str], inside: str) -> str:
    opening = f"<testcase{_attributes(**name)}"
    return f"{opening}>{inside}</testcase>\n" if inside else f"{opening}/>\n"


def _skipped(message: str) -> str:
    return f"<skipped{_attributes(message=message)}/>"


def _attributes(**values: str | int) -> str:
    return "".join(f' {name}="{escape(str(value))}"' for name, value in values.items())
