from __future__ import annotations

import json
from typing import Any

from fakes.imports import imported
from oloproof.importers.cases import CaseRows
from oloproof.model.recording import Recording


def rows(*recordings: tuple[Recording, Any]) -> tuple[list[Any], int]:
    found = CaseRows()
    for recording, of_case in recordings:
        found.add(recording, of_case)
    assert len(found) == len({recording.case for recording, _ in recordings})
    return [json.loads(line) for line in found.lines()], found.conflicts


def run(case: str, **fields: Any) -> Recording:
    return Recording(case=case, **fields)


def test_a_row_says_what_the_case_is_and_not_how_it_went() -> None:
    recording = run("a", input={"q": 1}, expected={"answer": "x"}, metadata={"team": "t", "reward": 1}, output="y")
    found, conflicts = rows((recording, ("team",)), (run("b"), None), (run("c", metadata={"m": 1}), None))
    assert found == [
        {"id": "a", "input": {"q": 1}, "expected": {"answer": "x"}, "metadata": {"team": "t"}},
        {"id": "b"},
        {"id": "c", "metadata": {"m": 1}},
    ]
    assert conflicts == 0


def test_trials_of_a_case_are_one_row_and_what_differs_is_no_fact_of_it() -> None:
    first = run("a", input=1, metadata={"kept": 1, "differs": 1, "first": 1})
    second = run("a", trial=2, input=1, metadata={"kept": 1, "differs": 2, "second": 1})
    found, conflicts = rows((first, None), (second, None))
    assert (found, conflicts) == ([{"id": "a", "input": 1, "metadata": {"kept": 1}}], 0)
    _, conflicts = rows((first, None), (run("a", input=2), None), (run("a", expected={"x": 1}), None))
    assert conflicts == 1


MESSAGES = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a", "stop_reason": "end_turn"}]


def of_case(name: str, value: Any, *, metadata: tuple[str, ...] = ()) -> Any:
    (line,) = imported(name, value, metadata=metadata).lines
    return line.of_case


def test_formats_tell_the_case_from_its_run() -> None:
    task = {"user_id": "u", "actions": [], "outputs": []}
    tau = {"task_id": 1, "reward": 1.0, "info": {"task": task}, "traj": MESSAGES}
    assert "reward" not in of_case("openai", [tau])
    assert {"outputs", "task_id"} <= set(of_case("openai", [tau]))
    own = {"messages": MESSAGES, "metadata": {"team": "t"}}
    assert of_case("anthropic", own) == ("team",)
    assert of_case("anthropic", own | {"x": 1}, metadata=("kept=x",)) == {"team", "kept"}
