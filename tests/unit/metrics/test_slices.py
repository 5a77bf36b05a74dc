from __future__ import annotations

import pytest

from oloproof.metrics.slices import labels, parse_slice, placer
from oloproof.model.case import Case
from oloproof.model.project import SliceSpec
from oloproof.model.reading import Reading
from oloproof.model.slice_values import NONE, UNPLACED
from oloproof.model.trajectory import Step, Trajectory

TAG = {"$unrepresentable": "float nan"}


def steps(*given: dict) -> tuple[Step, ...]:
    return tuple(Step(index=index, **{"kind": "tool_call", **fields}) for index, fields in enumerate(given, start=1))


def calls(*names: str, arguments: object = None) -> tuple[Step, ...]:
    return steps(*({"tool_name": name, "arguments": arguments} for name in names))


def place(
    text: str, recorded: tuple[Step, ...] | None = None, metadata: dict | None = None, **trajectory: object
) -> str:
    reading = None if recorded is None else Reading(Trajectory(steps=recorded, **trajectory))
    return placer(parse_slice(text))(Case(id="c", metadata=metadata or {}), reading)


TRAJECTORY_SLICES = [
    "first_tool",
    "repeated_action",
    "trajectory_length:4,8",
    "tool_calls:2",
    "handoffs:1",
    "route",
    "terminal_status",
]


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("metadata.surface", SliceSpec(kind="metadata", name="metadata.surface", path=("surface",))),
        ("metadata.user.plan", SliceSpec(kind="metadata", name="metadata.user.plan", path=("user", "plan"))),
        ("metadata.a:b", SliceSpec(kind="metadata", name="metadata.a:b", path=("a:b",))),
        ("first_tool", SliceSpec(kind="first_tool", name="first_tool")),
        ("repeated_action", SliceSpec(kind="repeated_action", name="repeated_action")),
        ("route", SliceSpec(kind="route", name="route")),
        ("terminal_status", SliceSpec(kind="terminal_status", name="terminal_status")),
        ("trajectory_length:4,8", SliceSpec(kind="trajectory_length", name="trajectory_length", bounds=(4, 8))),
        ("tool_calls: 1, 2", SliceSpec(kind="tool_calls", name="tool_calls", bounds=(1, 2))),
        ("handoffs:2", SliceSpec(kind="handoffs", name="handoffs", bounds=(2,))),
    ],
)
def test_parse_slice(text: str, spec: SliceSpec) -> None:
    assert parse_slice(text) == spec


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("first_tol", "unknown slice 'first_tol'; did you mean 'first_tool'?"),
        ("trajectory_lenght:4", "unknown slice 'trajectory_lenght:4'; did you mean 'trajectory_length'?"),
        ("metdata.surface", "unknown slice 'metdata.surface'; did you mean 'metadata.surface'?"),
        ("metadata", "unknown slice 'metadata'; did you mean 'metadata.<key>'?"),
        (
            "surface",
            (
                "unknown slice 'surface'; the slices are metadata.<key>, first_tool, repeated_action, route,"
                " terminal_status, trajectory_length:<bounds>, tool_calls:<bounds>, handoffs:<bounds>"
            ),
        ),
        ("metadata.", "slice 'metadata.' has an empty key; write metadata.<key> or metadata.<key>.<key>"),
        ("metadata.a..b", "slice 'metadata.a..b' has an empty key; write metadata.<key> or metadata.<key>.<key>"),
        ("route:3", "slice 'route' takes no bounds"),
        ("route:", "slice 'route' takes no bounds"),
        ("tool_calls", "slice 'tool_calls' needs upper bounds, as in 'tool_calls:4,8'"),
        ("tool_calls:", "slice 'tool_calls' needs upper bounds, as in 'tool_calls:4,8'"),
        *(
            (f"tool_calls:{bad}", f"the bounds of slice 'tool_calls' must be increasing positive integers, not '{bad}'")
            for bad in ("8,4", "4,4", "0,4", "-1", "4,,8", "4,", "1.5", "many", "²", "9" * 5000)
        ),
    ],
)
def test_parse_slice_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(ValueError) as raised:
        parse_slice(text)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ((4, 8), ("0", "1-4", "5-8", "9+")),
        ((1,), ("0", "1", "2+")),
        ((1, 2, 5), ("0", "1", "2", "3-5", "6+")),
    ],
)
def test_labels(bounds: tuple[int, ...], expected: tuple[str, ...]) -> None:
    assert labels(bounds) == expected


def test_metadata() -> None:
    metadata = {"surface": "chat", "user": {"plan": "pro", "age": 3}, "gone": None}
    assert place("metadata.surface", metadata=metadata) == "chat"
    assert place("metadata.user.plan", metadata=metadata) == "pro"
    assert place("metadata.user.age", metadata=metadata) == "3"
    assert place("metadata.gone", metadata=metadata) == "null"
    assert place("metadata.other", metadata=metadata) == NONE
    assert place("metadata.user.other", metadata=metadata) == NONE
    assert place("metadata.surface.deeper", metadata=metadata) == NONE


@pytest.mark.parametrize("text", TRAJECTORY_SLICES)
def test_a_case_without_a_trajectory_is_unplaced(text: str) -> None:
    assert place(text) == UNPLACED


def test_first_tool() -> None:
    told = steps({"kind": "message"}, {"tool_name": "search"}, {"tool_name": "refund"})
    assert place("first_tool", told) == "search"
    assert place("first_tool", told, truncated=True) == "search"
    assert place("first_tool", ()) == NONE
    assert place("first_tool", told[:1]) == NONE
    assert place("first_tool", told[:1], truncated=True) == UNPLACED
    assert place("first_tool", calls("(none)")) == '"(none)"'


def test_repeated_action() -> None:
    def of(*arguments: object, truncated: bool = False) -> str:
        recorded = steps(*({"tool_name": "search", "arguments": value} for value in arguments))
        return place("repeated_action", recorded, truncated=truncated)

    assert of() == "false"
    assert of({"q": 1}) == "false"
    assert of({"q": 1}, {"q": 2}) == "false"
    assert of({"q": 1}, {"q": 1.0}) == "true"
    assert of({"q": 1}, {"q": True}) == "false"
    assert of({"q": 1, "r": 2}, {"r": 2, "q": 1}) == "true"
    assert of({"q": 1}, {"q": 2}, {"q": 1}) == "false"
    assert of({"q": 1}, {"q": 1}, truncated=True) == "true"
    assert of({"q": 1}, {"q": 2}, truncated=True) == UNPLACED
    assert of(truncated=True) == UNPLACED


def test_repeated_action_with_unknown_arguments() -> None:
    def of(*arguments: object) -> str:
        return place("repeated_action", steps(*({"tool_name": "search", "arguments": value} for value in arguments)))

    assert of(None, None) == UNPLACED
    assert of(None, {"q": 1}) == UNPLACED
    assert of({"q": TAG}, {"q": TAG}) == UNPLACED
    assert of({"q": TAG, "r": 1}, {"q": 1, "r": 2}) == "false"
    assert of(None, {"q": 1}, {"q": 1}) == "true"
    assert place("repeated_action", calls("search", "refund")) == "false"


def test_repeated_action_ignores_what_lies_between() -> None:
    search = {"tool_name": "search", "arguments": {}}
    between = {"kind": "tool_result", "tool_name": "search", "result": 1}
    assert place("repeated_action", steps(search, between, {"kind": "message"}, search)) == "true"
    assert place("repeated_action", steps(search, {"tool_name": "other", "arguments": {}}, search)) == "false"


@pytest.mark.parametrize(("count", "group"), [(0, "0"), (1, "1-4"), (4, "1-4"), (5, "5-8"), (8, "5-8"), (9, "9+")])
def test_trajectory_length(count: int, group: str) -> None:
    messages = steps(*({"kind": "message"} for _ in range(count)))
    assert place("trajectory_length:4,8", messages) == group
    assert place("trajectory_length:4,8", messages, truncated=True) == (group if group == "9+" else UNPLACED)


def test_tool_calls() -> None:
    recorded = steps({"kind": "message"}, {"tool_name": "a"}, {"tool_name": "a"})
    assert place("tool_calls:1", recorded) == "2+"
    assert place("tool_calls:1", recorded, truncated=True) == "2+"
    assert place("tool_calls:2", recorded) == "1-2"
    assert place("tool_calls:2", recorded, truncated=True) == UNPLACED


HANDED_OVER = steps(
    {"kind": "message", "agent": "triage"},
    {"kind": "handoff", "agent": "triage", "to_agent": "billing"},
    {"tool_name": "refund", "agent": "billing"},
    {"kind": "message", "agent": "clerk", "inside": 3},
    {"kind": "handoff", "agent": "billing", "to_agent": "person"},
)


def test_route() -> None:
    assert place("route", HANDED_OVER) == "triage>billing>person"
    assert place("route", HANDED_OVER, truncated=True) == UNPLACED
    assert place("route", calls("search")) == UNPLACED
    assert place("route", ()) == NONE


def test_routes_that_differ_never_read_the_same() -> None:
    def of(*agents: str) -> str:
        return place("route", steps(*({"kind": "message", "agent": agent} for agent in agents)))

    assert of("a>b") == '"a>b"'
    assert of("a", "b") == "a>b"
    assert of('"a>b"') == r'"\"a>b\""'
    assert of("(none)") == '"(none)"'
    assert of("(unplaced)") == '"(unplaced)"'


def test_handoffs() -> None:
    assert place("handoffs:1", HANDED_OVER) == "2+"
    assert place("handoffs:1", HANDED_OVER, truncated=True) == "2+"
    assert place("handoffs:2", HANDED_OVER, truncated=True) == UNPLACED
    assert place("handoffs:2", HANDED_OVER) == "1-2"
    assert place("handoffs:1", ()) == "0"
    assert place("handoffs:1", calls("search")) == UNPLACED


@pytest.mark.parametrize("truncated", [False, True])
def test_terminal_status_is_as_recorded(truncated: bool) -> None:
    assert place("terminal_status", (), terminal_status="failure", truncated=truncated) == "failure"
    assert place("terminal_status", (), truncated=truncated) == "unknown"
