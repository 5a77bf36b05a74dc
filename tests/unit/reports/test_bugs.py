"""A bug of ours is told in few lines, all of them inert."""

from __future__ import annotations

import re

import pytest

from fakes.hostile import HOSTILE
from oloproof.reports import figures
from oloproof.reports.bugs import bug_lines, bug_text
from oloproof.reports.inert import inert
from oloproof.stats import rounding


def raised(what: BaseException) -> BaseException:
    try:
        raise what
    except BaseException as error:
        return error


def test_which_version_and_where_in_our_code_are_told() -> None:
    with pytest.raises(Exception) as found:
        rounding.percent_of("no number")
    first, *rest = bug_lines(found.value)
    assert re.fullmatch(r"oloproof \S+, Python 3\.\d+\.\d+, \w+", first)
    assert [re.sub(r":\d+", "", line) for line in rest] == ["stats/rounding.py in percent_of"]


def test_a_frame_of_others_is_told_where_it_raised() -> None:
    assert [re.sub(r":\d+", "", line) for line in bug_lines(raised(ValueError()))][1:] == [
        "reports/test_bugs.py in raised"
    ]


def test_what_it_was_raised_from_is_told_below() -> None:
    cause, context = raised(ValueError("a\nb")), raised(OSError(5, "no"))
    error = raised(ValueError("outer"))
    error.__cause__ = cause
    cause.__context__ = context
    said = [line for line in bug_lines(error) if line.startswith("raised while")]
    assert said == [r"raised while handling ValueError: a\nb", "raised while handling OSError: [Errno 5] no"]
    context.__context__ = error  # in a circle
    assert [line for line in bug_lines(error) if line.startswith("raised while")] == said
    cause.__suppress_context__ = True
    assert len([line for line in bug_lines(error) if line.startswith("raised while")]) == 1


def test_a_recursion_without_end_is_told_in_a_few_lines() -> None:
    def again() -> None:
        again()

    with pytest.raises(RecursionError) as found:
        again()
    assert len(list(bug_lines(found.value))) == 2
    deep = compile("def again():\n    again()", figures.__file__, "exec")
    names: dict[str, object] = {}
    exec(deep, names)
    with pytest.raises(RecursionError) as found:
        names["again"]()  # type: ignore[operator]
    lines = list(bug_lines(found.value))
    assert (len(lines), lines[-1]) == (22, "reports/figures.py:2 in again")
    assert re.fullmatch(r"… [\d,]+ more", lines[1])


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_it_quotes_is_inert(text: str) -> None:
    said = bug_text(raised(ValueError(text)))
    assert said.startswith("ValueError")
    assert inert(said, len(said)) == said
    error = raised(TypeError())
    error.__cause__ = raised(ValueError(text))
    for line in bug_lines(error):
        assert inert(line, len(line)) == line


def test_one_that_cannot_say_what_it_is_is_told_by_its_name() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert bug_text(Mute()) == "Mute"
