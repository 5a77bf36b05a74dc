from __future__ import annotations

import pytest
from msgspec import DecodeError, ValidationError

from oloproof.model.recording import read, skim

STEPS = (
    '{"index": 1, "kind": "tool_call", "tool_name": "look", "arguments": {"id": 1}},'
    '{"index": 2, "kind": "tool_result", "tool_name": "look", "result": {"total": [1, 2.5, null]}}'
)
LINE = f'{{"case": "a", "trajectory": {{"steps": [{STEPS}], "truncated": true}}}}'.encode()


def test_skimming_reads_all_but_the_results() -> None:
    skimmed, whole = skim(LINE), read(LINE)
    assert skimmed.trajectory is not None
    assert whole.trajectory is not None
    assert bytes(skimmed.trajectory.steps[1].result) == b'{"total": [1, 2.5, null]}'
    for a, b in zip(skimmed.trajectory.steps, whole.trajectory.steps, strict=True):
        assert [getattr(a, name) == getattr(b, name) for name in a.__struct_fields__].count(False) == 1
    assert (skimmed.case, skimmed.trajectory.truncated) == ("a", True)


@pytest.mark.parametrize("reader", [read, skim])
@pytest.mark.parametrize(
    ("text", "found"),
    [
        (r'{"case": "a", "output": {"answer": "\ud800"}}', {"answer": {"$unrepresentable": "str '\\ud800'"}}),
        ('{"case": "a", "output": NaN}', {"$unrepresentable": "float nan"}),
        ('{"case": "a", "output": [1, -Infinity]}', [1, {"$unrepresentable": "float -inf"}]),
    ],
)
def test_what_json_cannot_carry_keeps_the_case(reader, text: str, found: object) -> None:
    assert reader(text.encode()).output == found


@pytest.mark.parametrize("reader", [read, skim])
@pytest.mark.parametrize("text", ["", "{", '{"case": "a"} x', '{"case": "a", "output": }'])
def test_what_is_no_json_is_refused(reader, text: str) -> None:
    with pytest.raises(DecodeError):
        reader(text.encode())


@pytest.mark.parametrize("reader", [read, skim])
@pytest.mark.parametrize(
    "text",
    [
        '{"case": 1}',
        '{"case": "a", "trajectry": {}}',
        '{"case": "a", "trajectory": {"step": []}}',
        '{"case": "a", "trajectory": {"steps": [{"index": 1, "kind": "message", "tool": "x"}]}}',
        r'{"case": "\ud800"}',
        '{"case": "a", "trajectory": {"steps": [{"index": 1, "kind": "message", "latency_ms": -1}]}}',
    ],
)
def test_what_is_no_recording_is_refused(reader, text: str) -> None:
    with pytest.raises(ValidationError):
        reader(text.encode())
