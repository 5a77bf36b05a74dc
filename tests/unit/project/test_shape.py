"""Types are exact, and every shape that a file may have can be read."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta, Struct
from msgspec import inspect as shapes

from oloproof.evaluators import EVALUATORS
from oloproof.project import shape, spec
from oloproof.project.nodes import Fields, Node
from oloproof.project.problems import Problems
from oloproof.project.yaml_nodes import parse_yaml


class Inner(Struct, frozen=True, kw_only=True):
    count: Annotated[int, Meta(ge=1, lt=10)] = 1


class Shape(Struct, frozen=True, kw_only=True):
    number: float = 0.0
    count: int = 0
    flag: bool = False
    text: Annotated[str, Meta(pattern="^a")] = "a"
    choice: Literal["x", 3] = "x"
    names: Annotated[tuple[str, ...], Meta(min_length=1)] = ("a",)
    listed: list[int] = []
    table: dict[str, tuple[str, ...]] = {}
    either: Annotated[int, Meta(ge=0)] | str | None = None
    anything: Any = None
    inner: Inner = Inner()


def node(text: str) -> Node:
    found = parse_yaml(text.encode(), Problems("f"))
    assert found is not None
    return found


def read(text: str) -> tuple[Shape | None, list[str]]:
    problems = Problems("f")
    value = shape.struct(node(text), Shape, problems, what="the file")
    assert (value is None) == bool(problems.found)
    return value, [problem.message for problem in problems.found]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{}", Shape()),
        ("{number: 3}", Shape(number=3.0)),
        ("{count: -3, flag: true}", Shape(count=-3, flag=True)),
        ("{choice: 3}", Shape(choice=3)),
        ("{names: [b, c], listed: [1, 2]}", Shape(names=("b", "c"), listed=[1, 2])),
        ("{table: {a: [b], c: []}}", Shape(table={"a": ("b",), "c": ()})),
        ("{either: 3}", Shape(either=3)),
        ("{either: x}", Shape(either="x")),
        ("{anything: [null, {a: 1.5}]}", Shape(anything=[None, {"a": 1.5}])),
        ("{inner: {count: 9}}", Shape(inner=Inner(count=9))),
    ],
)
def test_what_is_of_the_shape(text: str, value: Shape) -> None:
    found, problems = read(text)
    assert (found, problems) == (value, [])
    assert found is not None
    assert type(found.number) is float


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{count: "2"}', "count must be an integer, found the string '2'"),
        ("{count: true}", "count must be an integer, found true"),
        ("{count: 1.0}", "count must be an integer, found the number 1.0"),
        ("{count: [1]}", "count must be an integer, found a list"),
        ("{number: true}", "number must be a number, found true"),
        ("{number: .nan}", "number must be a finite number, found .nan"),
        ("{number: 1e999}", "number must be a finite number, found 1e999"),
        ("{number: 1" + "0" * 350 + "}", "number must be a finite number, found … (351 characters)"),
        ("{flag: 1}", "flag must be true or false, found the integer 1"),
        ("{flag: yes}", "flag must be true or false, found the string 'yes'"),
        ("{text: 2026}", "text must be a string, found the integer 2026"),
        ("{text: b}", "text must be of the form ^a, found 'b'"),
        ("{choice: 3.0}", "choice must be 3 or x, found the number 3.0"),
        ("{choice: y}", "choice must be 3 or x, found the string 'y'"),
        ("{names: []}", "names must not be empty"),
        ("{names: a}", "names must be a list, found the string 'a'"),
        ("{names: [1]}", "an item of names must be a string, found the integer 1"),
        ("{table: [a]}", "table must be a mapping, found a list"),
        ("{table: {a: b}}", "table.a must be a list, found the string 'b'"),
        ("{either: 1.5}", "either must be an integer or a string, found the number 1.5"),
        ("{either: -1}", "either must be at least 0, found -1"),
        ("{either: null}", "either has no value; it must be an integer or a string"),
        ("{inner: {count: 10}}", "count must be at least 1 and less than 10, found 10"),
        ("{inner: {cuont: 1}}", "unknown key 'cuont'"),
        ("{anything: [.inf]}", ".inf is not a finite number"),
    ],
)
def test_what_is_not(text: str, message: str) -> None:
    assert read(text) == (None, [message])


def test_every_problem_is_noted() -> None:
    _, problems = read("{count: x, flag: x, names: [1, 2], zzz: 1, inner: {count: 0}}")
    assert len(problems) == 6


SPECIMENS = ["", "1", "-1", "1.5", "true", "x", "''", "[]", "[x]", "[1, {}]", "{}", "{a: b}", "{a: [b]}", "{a: {b: c}}"]


SHAPES = [cls for cls in vars(spec).values() if isinstance(cls, type) and issubclass(cls, Struct) and cls is not Struct]


@pytest.mark.parametrize("cls", [*EVALUATORS.values(), *SHAPES], ids=lambda cls: cls.__name__)
def test_every_declared_field_can_be_read_from_anything(cls: type[Struct]) -> None:
    info = shapes.type_info(cls)
    assert isinstance(info, shapes.StructType)
    for field in info.fields:
        for specimen in SPECIMENS:
            written = node(f"{field.encode_name}: {specimen}")
            assert isinstance(written, Fields)
            shape.keys(written, cls, Problems("f"), what="it")
