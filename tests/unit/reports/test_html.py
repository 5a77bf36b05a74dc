from __future__ import annotations

import base64
import hashlib
import re
from urllib.parse import quote

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from fakes.hostile import NASTY
from fakes.pages import Tags, unpacked
from golden import specimens
from oloproof.model.alignment import AlignedCall, Alignment
from oloproof.model.case import Case
from oloproof.model.judgment import Judgment
from oloproof.model.measured import Measured, Rate, SliceGroup
from oloproof.model.run import CaseRecord, Run
from oloproof.model.tally import Tally
from oloproof.reports.html import Entry, report_page
from oloproof.reports.html.aligned import Line, aligned
from oloproof.reports.html.parts import LEFT_OUT, UNREADABLE, packed
from oloproof.reports.html.ways import blocking_ways, broken_ways, ways
from oloproof.reports.inert import inert


def entry(
    name: str = "c1", *, record: CaseRecord | None = None, verdict: str = "pass", places: tuple[str, ...] = ()
) -> Entry:
    record = record or replace(specimens.looping_case(), case=Case(id=name, input=name))
    judgments = tuple(Judgment(verdict) for _ in record.judgments)  # type: ignore[arg-type]
    return Entry(case=name, trial=1, judgments=judgments, record=record, places=places)


def run_of(record: CaseRecord) -> Run:
    return replace(specimens.support().run, criteria=tuple(name for name, _ in record.judgments), slices=("tool",))


RUN = run_of(specimens.looping_case())


def page(*entries: Entry, content: bool = True) -> str:
    return "".join(report_page(replace(specimens.support(), run=RUN), entries, content=content))


def index(*entries: Entry, room: int = 12_000_000) -> dict[str, object]:
    parts = "".join(
        f'<script type="text/plain" id="{part.id}">{part.text}</script>'
        for part in packed(entries, RUN, content=True, room=room)
    )
    return unpacked(parts)


def test_nothing_runs_but_what_bears_the_hash_of_the_policy() -> None:
    text = page(entry())
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    policy_text = policy[1].replace("&#39;", "'")
    for tag, name in (("script", "script-src"), ("style", "style-src")):
        (own,) = re.findall(rf"(?s)<{tag}>(.*?)</{tag}>", text)
        digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}'" in policy_text
    assert policy_text.startswith("default-src 'none';")
    assert "unsafe" not in policy_text


def test_no_element_names_anything_outside_of_the_page() -> None:
    for tag, attributes in Tags(page(entry())).tags:
        assert not attributes.keys() & {"src", "srcset", "action", "style", "data", "poster"}, tag
        assert not any(name.startswith("on") for name in attributes), tag
        assert (attributes.get("href") or "#").startswith(("#", "data:,"))


def test_foreign_text_makes_no_element() -> None:
    plain = [tag for tag, _ in Tags(page()).tags]
    report = replace(specimens.support(), run=RUN, warnings=tuple(NASTY))
    nasty = "".join(report_page(report, [entry(name) for name in NASTY]))
    more = len(NASTY) - len(specimens.support().warnings)
    assert [tag for tag, _ in Tags(nasty).tags if tag != "li"].count("script") == plain.count("script") + 1
    assert sum(tag == "li" for tag, _ in Tags(nasty).tags) == plain.count("li") + more
    assert "alert(1)" in Tags(nasty).text
    nasty.encode()  # no lone surrogate is left


def test_the_list_holds_every_attempt_with_its_verdicts_and_slice_values() -> None:
    listed = index(entry("a", places=("x",)), entry("b", verdict="fail", places=("y",)), entry("c", places=("x",)))
    found = listed["index"]
    assert isinstance(found, dict)
    assert [row[:6] for row in found["rows"]] == [
        ["a", 1, "pppp", [0], 0, 0],
        ["b", 1, "ffff", [1], 0, 1],
        ["c", 1, "pppp", [0], 0, 2],
    ]
    assert (found["slices"], found["values"]) == (["tool"], [["x", "y"]])
    assert found["rows"][0][6] == '"a"'


def test_a_block_holds_the_steps_with_the_offending_marked() -> None:
    blocks = index(entry())
    (shown,) = blocks["block-0"]  # type: ignore[misc]
    assert [step["number"] for step in shown["view"]["steps"] if step["offends"]] == ["1", "3", "5"]


def test_cases_are_packed_by_the_hundred() -> None:
    blocks = index(*(entry(f"c{number}") for number in range(250)))
    assert [len(blocks[f"block-{number}"]) for number in range(3)] == [100, 100, 50]  # type: ignore[arg-type]


def test_failing_cases_find_room_where_passing_ones_do_not() -> None:
    many = [entry(f"c{number}", verdict="fail" if number >= 450 else "pass") for number in range(500)]
    listed = index(*many, room=16_000)["index"]
    assert isinstance(listed, dict)
    places = [row[4] for row in listed["rows"]]
    assert places[0] == 0
    assert LEFT_OUT in places[:450]
    assert LEFT_OUT not in places[450:]


def test_a_case_that_cannot_be_read_is_listed_and_said_to_be() -> None:
    lost = Entry(case="gone", trial=1, judgments=entry().judgments, record=None)
    listed = index(lost)
    assert listed["index"]["rows"][0][4] == UNREADABLE  # type: ignore[index]


SECRET = "hunter2"


def secret_record() -> CaseRecord:
    record = specimens.looping_case()
    trajectory = record.attempt.trajectory
    assert trajectory is not None
    steps = tuple(
        replace(step, arguments={"key": SECRET} if step.kind == "tool_call" else step.arguments, result=SECRET)
        for step in trajectory.steps
    )
    attempt = replace(
        record.attempt, output=SECRET, log=SECRET, trajectory=replace(trajectory, steps=steps), error=None
    )
    told = Judgment("fail", f"said {SECRET}", (1,), SECRET, SECRET, SECRET)
    case = Case(id="c1", input=SECRET, expected={"answer": SECRET}, metadata={"note": SECRET})
    judgments = tuple((name, told) for name, _ in record.judgments)
    return replace(record, case=case, attempt=attempt, judgments=judgments)


@pytest.mark.parametrize("content", [True, False])
def test_without_content_nothing_that_was_said_is_in_the_file(content: bool) -> None:
    called = AlignedCall(status="extra", step=1, tool="lookup_order", arguments={"key": SECRET})
    beside = {"agent_no_tool_loop": Alignment(rows=(called,), ordered=True)}
    text = page(replace(entry(record=secret_record()), alignments=beside), content=content)
    assert (SECRET in text + str(unpacked(text))) is content
    assert "lookup_order" in str(unpacked(text))


def test_lists_are_set_beside_one_another_element_by_element() -> None:
    assert aligned(["a", "b"], ["a", "c", "b"]) == (
        Line("same", "[", "["),
        Line("same", '  "a"', '  "a"'),
        Line("found", "", '  "c"'),
        Line("same", '  "b"', '  "b"'),
        Line("same", "]", "]"),
    )


@pytest.mark.parametrize(("expected", "found"), [(1, 2), ({"max": 2}, 5), ("a", "b"), (UNSET, [1]), ([1], UNSET)])
def test_a_single_line_is_not_aligned(expected: object, found: object) -> None:
    assert aligned(expected, found) == ()


def test_texts_are_aligned_by_their_own_lines() -> None:
    assert aligned("a\nb", "a\n<c>\x1b") == (Line("same", "a", "a"), Line("changed", "b", "<c>\\x1b"))


def test_a_slice_with_too_few_cases_has_no_interval_drawn() -> None:
    few = SliceGroup("tool", "x", 2, (Rate("right", Tally(1, 1)),))
    report = replace(specimens.support(), measured=Measured(2, few.metrics, (few,), min_slice_support=3))
    text = "".join(report_page(report, ()))
    drawn = text[text.index("<h2>Slices</h2>") : text.index("<h2>Run</h2>")]
    assert "tool=x" in drawn
    assert 'class="interval"' not in drawn


def test_a_criterion_leads_to_the_attempts_behind_its_figures() -> None:
    name = "a&b=<c>\x1b #1"
    failing = Rate(name, Tally(1, 1, 2, 3))
    assert [(way.text, way.address) for way in ways(failing)] == [
        ("see the 1 that fails", f"#criterion={quote(inert(name), safe='')}&verdict=fail"),
        ("see the 2 that are missing", f"#criterion={quote(inert(name), safe='')}&verdict=missing"),
    ]
    assert ways(Rate("right", Tally(5, 0, 0, 1))) == ()


def test_rules_that_block_lead_there_each_criterion_once() -> None:
    report = specimens.support()
    named = [way.criterion for way in blocking_ways(report)]
    assert named == ["agent_constraints_satisfied", "agent_no_tool_loop", "agent_no_tool_loop"]  # no quantile
    again = replace(report.decisions[1], rule="again")
    assert blocking_ways(replace(report, decisions=(*report.decisions, again))) == blocking_ways(report)


def test_a_comparison_leads_to_what_is_broken_of_the_criteria_that_block() -> None:
    report = specimens.compared()
    assert broken_ways(report) == ()  # the rule of the broken criterion passes
    blocking = replace(report.decisions[0], blocking=True)
    (way,) = broken_ways(replace(report, decisions=(blocking,)))
    assert (way.criterion, way.text) == ("answer_correct", "see the 1 that is broken")
    assert way.address == "#slice=answer_correct%3Dbroken"
