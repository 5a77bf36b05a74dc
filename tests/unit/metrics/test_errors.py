from __future__ import annotations

from oloproof.metrics import ErrorGroups
from oloproof.model.case import Attempt, AttemptError, Case, ErrorKind
from oloproof.model.evidence import Evidence
from oloproof.model.judgment import PASS, Judgment, missing
from oloproof.model.measured import ErrorGroup


def seen(*attempts: tuple[AttemptError | None, Judgment]) -> tuple[ErrorGroup, ...]:
    """The groups after a case each, ``c1`` onwards."""
    errors = ErrorGroups(["right"])
    for number, (error, judgment) in enumerate(attempts, 1):
        case = Case(id=f"c{number}")
        errors.see(Evidence(case, Attempt(case_id=case.id, error=error)), (judgment,))
    return errors.groups()


def crash(message: str, kind: ErrorKind = "system_error") -> tuple[AttemptError, Judgment]:
    return AttemptError(kind=kind, message=message), missing(kind)


def test_errors_are_grouped_by_kind_and_message() -> None:
    fine = (None, PASS)
    late = crash("boom", "timeout")
    assert seen(fine, crash("boom"), late, crash("boom"), crash("other\nline")) == (
        ErrorGroup(kind="system_error", message="boom", cases=2, first="c2"),
        ErrorGroup(kind="timeout", message="boom", cases=1, first="c3"),
        ErrorGroup(kind="system_error", message="other", cases=1, first="c5"),
    )


def test_messages_that_differ_in_ids_are_one_group() -> None:
    messages = ("no order ord-1001", "no order ord-22", "no order 404", "no order 500")
    assert seen(*map(crash, messages), crash(messages[0])) == (
        ErrorGroup(kind="system_error", message=messages[0], cases=3, first="c1", varied=True),
        ErrorGroup(kind="system_error", message="no order 404", cases=1, first="c3"),
        ErrorGroup(kind="system_error", message="no order 500", cases=1, first="c4"),
    )


def test_an_evaluator_that_raised_is_named_and_told_by_its_first_line() -> None:
    broken = missing("evaluator_error", detail="KeyError: 1\nTraceback")
    assert seen((None, broken)) == (
        ErrorGroup(kind="evaluator_error", message="right: KeyError: 1", cases=1, first="c1"),
    )


def test_what_was_not_run_and_what_only_failed_is_no_error() -> None:
    failed = (None, Judgment("fail", "evaluator_error"))
    assert seen(crash("stopped", "not_run"), failed) == ()


def test_messages_beyond_twenty_are_only_counted_by_kind() -> None:
    groups = seen(*(crash(f"order {number}") for number in range(30)), crash("order 3"), crash("late", "timeout"))
    assert len(groups) == 22
    assert groups[3].cases == 2
    assert groups[20:] == (
        ErrorGroup(kind="system_error", message=None, cases=10, first="c21"),
        ErrorGroup(kind="timeout", message=None, cases=1, first="c32"),
    )


def test_a_message_of_megabytes_is_cut() -> None:
    (group,) = seen(crash("x" * 2_000_000))
    assert group.message == "x" * 500
