from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from oloproof.importers.pairing import Call, Waiting

Event = tuple[bool, str, str, bool]
"""Whether it is a call, its id, its tool ("" in a result: not given), and whether a call begins a new turn."""

events = st.lists(st.tuples(st.booleans(), st.sampled_from(["", "x", "y"]), st.sampled_from("abc"), st.booleans()))


class Slow:
    """The rule, as it is written, over all waiting calls."""

    def __init__(self) -> None:
        self.open: list[Call] = []

    def answer(self, call_id: str, name: str | None) -> Call | None:
        found = [call for call in self.open if call.call_id == call_id] if call_id else []
        found = [call for call in found if call.name == name] or found
        if not found:
            bare = [call for call in self.open if not (call_id and call.call_id)]
            found = [call for call in bare if name is None or call.name == name]
        if not found:
            return None
        answered = next(call for call in found if call.turn == found[-1].turn)
        self.open = [call for call in self.open if call is not answered]
        return answered


@settings(max_examples=200, deadline=None)
@given(events)
def test_a_result_answers_the_call_that_the_rule_names(written: list[Event]) -> None:
    waiting, slow, turn = Waiting(), Slow(), 1
    for index, (is_call, call_id, name, new_turn) in enumerate(written, 1):
        if is_call:
            turn += new_turn
            call = Call(index, name, call_id, turn)
            waiting.add(call)
            slow.open.append(call)
        else:
            tool = None if new_turn else name
            assert waiting.answer(call_id, tool) is slow.answer(call_id, tool)
    assert waiting.unanswered() == slow.open


def test_many_calls_without_results_and_results_without_calls_take_no_time() -> None:
    waiting = Waiting()
    for index in range(1, 20_001):
        waiting.add(Call(index, "a", "x", index))
        assert waiting.answer("y") is None
    assert len(waiting.unanswered()) == 20_000
