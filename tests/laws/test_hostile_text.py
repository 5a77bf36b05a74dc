"""No text makes a surface say or do what the report did not: every text of the corpus, in every field, on each."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator
from msgspec.structs import replace

from fakes import said
from fakes.hostile import ALIKE, HOSTILE, deep
from oloproof.cli.actions import defused
from oloproof.model.events import CaseStarted
from oloproof.reports import document, markdown, terminal
from oloproof.reports.comparison import comparison_notes, comparison_tables
from oloproof.reports.events import event_line
from oloproof.reports.github import MOST, workflow_commands
from oloproof.reports.inert import TEXT_LIMIT, inert
from oloproof.reports.junit import junit
from oloproof.reports.lists import failure_table
from oloproof.reports.remarks import remarks
from oloproof.reports.sarif import sarif
from oloproof.reports.tap import tap
from oloproof.reports.view import view

SCHEMAS = Path(__file__).parents[1] / "fakes" / "schemas"
GROUPS = [HOSTILE[at : at + 13] for at in range(0, len(HOSTILE), 13)]
REGISTERED = {"error", "warning", "notice", "set-output", "set-env", "add-mask", "stop-commands", "add-path", "debug"}


def test_the_corpus_is_large_and_holds_no_text_twice() -> None:
    assert len(HOSTILE) == len(set(HOSTILE)) >= 80


# --- Markdown --------------------------------------------------------------------------------------------------------


class Drawn(HTMLParser):
    """Tags with their attributes, the texts of code spans, and the text around them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.code: list[str] = []
        self.around = ""
        self._inside = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        if tag == "code":
            self.code.append("")
            self._inside = True

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "code"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.code[-1] += data
        else:
            self.around += data


OURS = {
    (tag, ())
    for tag in "h2 h3 p code ul li table thead tbody tr th td details summary strong".split()  # noqa: SIM905
}


def gfm(text: str) -> Drawn:
    """As GitHub reads it, raw HTML included."""
    cmarkgfm = pytest.importorskip("cmarkgfm", reason="cmarkgfm is not installed")
    from cmarkgfm.cmark import Options

    extensions = ["table", "autolink", "strikethrough", "tasklist"]
    return Drawn(cmarkgfm.markdown_to_html_with_extensions(text, Options.CMARK_OPT_UNSAFE, extensions))


@pytest.mark.parametrize("texts", GROUPS, ids=range(len(GROUPS)))
def test_markdown_is_read_as_the_tags_that_were_written(texts: tuple[str, ...]) -> None:
    report = said.report(texts)
    drawn = view(report)
    assert report.comparison is not None
    compared = markdown.render_comparison(
        drawn, comparison_tables(report, dict.fromkeys(texts, texts[0])), list(comparison_notes(report.comparison))
    )
    for text in (markdown.render(drawn), compared):
        read = gfm(text)
        assert set(read.tags) <= OURS
        assert not re.search(r"[@#<>`\x1b]|://|www\.|evil|alert", read.around)
        for each in texts:
            assert not each.strip() or inert(each) in read.code


# --- terminal --------------------------------------------------------------------------------------------------------


def test_a_terminal_shows_what_was_drawn_and_nothing_else() -> None:
    pyte = pytest.importorskip("pyte", reason="pyte is not installed")
    width = 200
    table = failure_table(row for row in said.rows(HOSTILE) if row.verdict == "fail")
    for draw in (
        lambda *, color: terminal.render_table(table, width=width, color=color),
        lambda *, color: terminal.render(view(said.report(HOSTILE[::9])), width=width, color=color),
    ):
        lines = draw(color=False).splitlines()
        screen = pyte.Screen(width, len(lines) + 1)
        stream = pyte.Stream(screen)
        stream.feed(draw(color=True).replace("\n", "\r\n"))
        shown = [line.rstrip() for line in screen.display[:-1]]
        plain = [line.rstrip() for line in lines]
        # An emulator has a cell for each character; where marks are drawn upon others, its columns are not to be told.
        simple = [at for at, line in enumerate(plain) if re.fullmatch(r"[\x20-\x7e─-▟…→–≥≤·✗✓]*", line)]
        assert len(simple) > len(plain) / 3
        assert [shown[at] for at in simple] == [plain[at] for at in simple]
        assert (screen.title, screen.icon_name) == ("", "")
        assert screen.cursor.y == len(lines)


# --- documents -------------------------------------------------------------------------------------------------------


def parsed_junit() -> Any:
    etree = pytest.importorskip("lxml.etree", reason="lxml is not installed")
    text = "".join(junit(view(said.report(HOSTILE)), said.rows(HOSTILE)))
    return etree, etree.fromstring(text.encode())


def test_junit_fits_the_schema_that_jenkins_reads_it_by() -> None:
    etree, document_ = parsed_junit()
    schema = (SCHEMAS / "junit.xsd").read_text()
    # Since its later versions, and everywhere else, a skipped test says why in an attribute.
    bare, told = (
        '<xs:element name="skipped" type="xs:string"/>',
        (
            '<xs:element name="skipped"><xs:complexType mixed="true">'
            '<xs:attribute name="message" type="xs:string"/></xs:complexType></xs:element>'
        ),
    )
    assert bare in schema
    etree.XMLSchema(etree.fromstring(schema.replace(bare, told).encode())).assertValid(document_)


def test_junit_gives_texts_back_that_xml_allows_and_spells_the_others_out() -> None:
    _, document_ = parsed_junit()
    cases = document_.xpath("//testsuite[@name='cases']/testcase")
    assert [case.get("name") for case in cases] == [inert(text) for text in HOSTILE for _ in range(3)]
    kept = [text for text in HOSTILE if text.isprintable() and len(text) <= 200]
    assert len(kept) > 60
    assert {text for text in kept if inert(text) == text} <= {case.get("name") for case in cases}
    assert {child.tag for case in cases for child in case} == {"failure", "skipped"}


def test_sarif_fits_its_schema_and_gives_texts_back() -> None:
    log = json.loads("".join(sarif(view(said.report(HOSTILE)), said.rows(HOSTILE), said.places(HOSTILE))))
    schema = json.loads((SCHEMAS / "sarif-2.1.0.json").read_text())
    assert list(Draft4Validator(schema).iter_errors(log)) == []
    results = log["runs"][0]["results"]
    assert len(results) == 3 * len(HOSTILE)
    messages = [read_message(result["message"]["text"]) for result in results]
    failing = [message for message, result in zip(messages, results, strict=True) if " fails " in message]
    assert len(failing) == len(HOSTILE)
    for text, message in zip(HOSTILE, failing, strict=True):
        assert message.startswith(f"{inert(text)} fails {inert(text)}")
    # To a consumer, a bracket that is not escaped is a link, and a brace a placeholder.
    for result in results:
        bare = re.sub(r"\\[\\\[\]]|\{\{|\}\}", "", result["message"]["text"])
        assert not re.search(r"[\[\]{}]", bare)
        assert "markdown" not in result["message"]
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"[\w.~/%-]*", uri, re.ASCII)


def read_message(text: str) -> str:
    """A message of SARIF as a consumer shows it."""
    return re.sub(r"\\([\\\[\]])", r"\1", text.replace("{{", "{").replace("}}", "}"))


def test_ids_that_look_alike_stay_apart() -> None:
    log = json.loads("".join(sarif(view(said.report(ALIKE)), said.rows(ALIKE), said.places(ALIKE))))
    prints = [result["partialFingerprints"]["oloproof/v1"] for result in log["runs"][0]["results"]]
    # A case that fails and one without a verdict are told of the same case and criterion here, and of nothing else.
    assert len(set(prints)) == 2 * len(ALIKE)


def test_tap_holds_as_many_points_as_it_plans_and_gives_texts_back() -> None:
    lines = "".join(tap(view(said.report(HOSTILE)), said.rows(HOSTILE))).splitlines()
    points = [re.fullmatch(r"(ok|not ok) (\d+) - (.*?)( # TODO it does not block)?", line) for line in lines[1:-1]]
    assert lines[0] == "TAP version 13"
    assert lines[-1] == f"1..{len(points)}"
    assert all(points)
    assert [int(point[2]) for point in points if point] == list(range(1, len(points) + 1))
    # Nothing else is a directive: a bare # ends a description.
    assert not any(re.search(r"(?<!\\)(\\\\)*#", point[3]) for point in points if point)
    told = [re.sub(r"\\([\\#])", r"\1", point[3]) for point in points if point]
    cases = told[1 + len(HOSTILE) :]
    assert cases[::3] == [f"{inert(text)}: {inert(text)}" for text in HOSTILE]
    assert all(point[1] == "not ok" for point in points[-1::-3] if point)  # what is missing


def test_csv_is_read_back_and_starts_no_formula() -> None:
    text = "".join(document.verdict_csv(said.rows(HOSTILE)))
    read = list(csv.reader(text.splitlines()))[1:]
    assert len(read) == 3 * len(HOSTILE)
    assert not any(cell[:1] in tuple("=+-@\t\r") for row in read for cell in row if cell)
    for row, said_ in zip(read[::3], HOSTILE, strict=True):
        assert row[0] in (inert(said_, TEXT_LIMIT), inert(f"'{said_}", TEXT_LIMIT))


# --- what a CI server reads ------------------------------------------------------------------------------------------


def obeyed(line: str) -> Iterator[tuple[str, str, str]]:
    """The command that GitHub's runner takes from a line, in either of its spellings: name, properties and data."""
    line = line.lstrip()
    if (found := re.match(r"::([^ :]+)(?: ((?:(?!::).)*))?::(.*)", line)) and found[1] in REGISTERED:
        yield found[1], found[2] or "", found[3]
    elif (found := re.search(r"##\[([^\] ]+)([^\]]*)\](.*)", line)) and found[1] in REGISTERED:
        yield found[1], found[2], found[3]


def test_annotations_are_ten_of_a_kind_and_each_says_one_thing() -> None:
    found = list(remarks(view(said.report(HOSTILE)), said.rows(HOSTILE), said.places(HOSTILE)))
    commands = [next(obeyed(line)) for line in workflow_commands(found, inspect="oloproof inspect x")]
    assert [name for name, _, _ in commands] == ["error"] * MOST + ["notice"] * MOST
    assert commands[MOST - 1][2] == f"and {2 * len(HOSTILE) - MOST + 1} more, in oloproof inspect x"


@pytest.mark.parametrize("texts", [HOSTILE[at : at + MOST] for at in range(0, len(HOSTILE), MOST)])
def test_an_annotation_gives_its_text_back_and_holds_no_other_command(texts: tuple[str, ...]) -> None:
    drawn, where = view(said.report(texts)), said.places(texts)
    found = list(remarks(drawn, said.rows(texts), where))
    found = [remark for remark in found if remark.about.startswith("criterion/") and remark.level == "error"]
    lines = list(workflow_commands(found, inspect="x"))
    assert len(lines) == len(texts)
    for line, remark in zip(lines, found, strict=True):
        assert line.count("\n") == 1
        ((name, properties, data),) = obeyed(line)
        assert name == "error"
        assert unescaped(data) == remark.text
        read = dict(pair.split("=", 1) for pair in properties.split(","))
        assert (unescaped(read["title"]), read["line"]) == (f"oloproof {remark.about}", "3")
        assert remark.place is not None
        assert unescaped(read["file"]) == remark.place.file


def unescaped(text: str) -> str:
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, character)
    return text


def test_nothing_that_is_printed_is_a_command() -> None:
    printed = "".join(f"{inert(text, TEXT_LIMIT)}\n  {inert(text, TEXT_LIMIT)}\n" for text in HOSTILE)
    assert any(list(obeyed(line)) for line in printed.splitlines())
    assert not any(list(obeyed(line)) for line in defused(printed).splitlines())
    assert not re.search(r"##\w*\[", defused(printed))


def test_a_document_means_the_same_without_commands() -> None:
    value = {text.encode("utf-8", "replace").decode(): text[:100] for text in HOSTILE}
    text = document.encode(value)
    assert json.loads(defused(text)) == value


def test_an_event_is_a_line_that_commands_nothing_and_gives_its_text_back() -> None:
    for text in HOSTILE:
        line = event_line(CaseStarted(case=text, trial=1, rerun=False)).decode("ascii")
        assert line.count("\n") == 1
        assert list(obeyed(line)) == []
        assert json.loads(line)["case"] == text


# --- size ------------------------------------------------------------------------------------------------------------


def test_what_is_deep_or_long_costs_a_line() -> None:
    (row, *_) = said.rows(["c"])
    huge = [replace(row, verdict="fail", expected=value, found=value) for value in (deep(), "x" * 10_000_000)]
    drawn, where = view(said.report(["a"])), said.places(["c"])
    for text in ("".join(sarif(drawn, huge, where)), "".join(junit(drawn, huge)), "".join(tap(drawn, huge))):
        assert len(text) < 12_000
    assert len(terminal.render_table(failure_table(huge), width=120, color=True)) < 12_000
