"""What a configuration named and no case showed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from oloproof.evaluators import Vacuity
from oloproof.evaluators.text import Contains
from oloproof.model.judgment import PASS, Judgment, excluded, missing

ABSENT = Judgment("fail", "field_absent")
CRASHED = Judgment("fail", "system_error")
WARNING = "criterion 'contains' reads the field 'answer', which no output has"


@pytest.mark.parametrize(
    ("judgments", "warnings"),
    [
        ([ABSENT], (WARNING,)),
        ([ABSENT, CRASHED, missing("timeout")], (WARNING,)),
        ([ABSENT, PASS], ()),
        ([ABSENT, Judgment("fail", "not_text")], ()),
        ([missing("system_error"), missing("output_not_recorded")], ()),
        ([excluded("not_selected")], ()),
        ([CRASHED, Judgment("fail", "timeout")], ()),
        ([], ()),
    ],
)
def test_a_field_is_missed_only_where_there_was_an_output(judgments: Sequence[Judgment], warnings: tuple[str, ...]):
    vacuity = Vacuity([Contains(field="answer", value="yes")])
    for judgment in judgments:
        vacuity.see(None, [judgment])
    assert vacuity.warnings() == warnings
