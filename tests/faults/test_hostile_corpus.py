"""One run whose agent says everything of the hostile corpus, and more than a report can hold, in every form at once."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path

import pytest
from jsonschema import Draft4Validator

from fakes.hostile import HOSTILE
from fakes.projects import NONE_WRONG, RIGHT, oloproof, project

AGENT = """
import sys
from oloproof import *

@system(records=("agent_trajectory/v1",))
def run(case):
    text = case["text"] * case.get("times", 1)
    answer = text
    for _ in range(case.get("deep", 0)):
        answer = [answer]
    with current_case().trace() as trace:
        trace.tool_call(text[:5_000] or "empty", {text[:100]: answer}, agent=text[:5_000] or None)
    print(text)
    print(text, file=sys.stderr)
    if case.get("raises"):
        raise RuntimeError(text)
    return {"answer": answer}
"""
SCHEMA = Path(__file__).parents[1] / "fakes" / "schemas" / "sarif-2.1.0.json"
FORMS = ("markdown", "junit", "sarif", "tap", "html")
DRAWN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
COMMAND = re.compile(r"^\s*::(?!(error|warning|notice) title=)[^ :]+.*::|##\w*\[", re.MULTILINE)


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    texts = [text.encode("utf-8", "backslashreplace").decode() for text in HOSTILE if len(text) < 10_000]
    asked = [{"text": text, "raises": number % 3 == 0} for number, text in enumerate(texts)]
    asked += [
        {"text": "long line ", "times": 1_000_000},
        {"text": "deep", "deep": 10_000},
        {"text": "x", "deep": 900},
        {"text": "<b>\x1b[2J", "times": 200_000, "raises": True},
    ]
    cases = [
        {
            "id": f"{number} {case['text']}",
            "input": case,
            "expected": {"answer": "yes", "tools": [case["text"][:100] or "empty", "more"]},
            "metadata": {"said": case["text"]},
        }
        for number, case in enumerate(asked)
    ]
    evaluators = [RIGHT, {"type": "agent_tool_sequence"}]
    slices = ["metadata.said", "first_tool"]
    return project(tmp_path, app=AGENT, cases=cases, evaluators=evaluators, rules=[NONE_WRONG], slices=slices)


def assert_inert(text: str) -> None:
    found = {character for character in text if unicodedata.category(character) in DRAWN} - {"\n"}
    assert found == set()


def test_every_form_of_the_report_is_whole_and_inert(said: Path) -> None:
    files = [word for form in FORMS for word in (f"--{form}", f"report.{form}")]
    done = oloproof(said, "run", "--github", *files)
    assert done.code == 1, done.err
    views = (["--failures"], ["--missing"], ["--verdicts"], ["--verdicts", "--csv"], ["--case", "0 [bold]x[/]"])
    shown = [done, *(oloproof(said, "inspect", *view) for view in views)]
    for each in shown:
        assert_inert(each.out + each.err)
        assert COMMAND.search(each.out + each.err) is None
    for form in FORMS[:-1]:
        text = (said / f"report.{form}").read_text()
        assert_inert(text)
        assert len(text) < 2_000_000
    markdown = (said / "report.markdown").read_text()
    assert (said / "summary.md").read_text() == markdown
    assert len(markdown) < 65_536
    sarif = json.loads((said / "report.sarif").read_text())
    assert list(Draft4Validator(json.loads(SCHEMA.read_text())).iter_errors(sarif)) == []
    assert (said / "report.html").stat().st_size < 15_000_000
    stated = len((said / "report.tap").read_text().splitlines()) - 2
    assert (said / "report.tap").read_text().endswith(f"\n1..{stated}\n")
