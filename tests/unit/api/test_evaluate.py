"""A function evaluated by the program that has it."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from contextlib import chdir
from datetime import date
from html.parser import HTMLParser
from pathlib import Path

import pytest

import oloproof
from fakes.hostile import HOSTILE
from fakes.secrets import SECRET, parts
from oloproof.api.rows import frame
from oloproof.errors import RecordError, UsageError
from oloproof.model.case import Case
from oloproof.model.values import is_unrepresentable, snapshot
from oloproof.reports.inert import inert

RIGHT = {"type": "contains", "criterion": "right", "field": "answer", "expected_field": "answer"}
NONE_WRONG = {"id": "none-wrong", "metric": "right", "kind": "observed_count", "max_failures": 0}


TAGS = {"div", "p", "strong", "table", "caption", "thead", "tbody", "tr", "th", "td", "ul", "li", "br", "small"}
TAGS |= {"dl", "dt", "dd", "details", "summary", "pre"}


def echo(asked):
    return {"answer": asked}


def case(name, asked="yes", **expected):
    return {"id": name, "input": asked, "expected": {"answer": "yes"} | expected}


def calls(tools):
    with oloproof.current_case().trace() as trace:
        for tool in tools:
            trace.tool_call(tool, {})
    return {"answer": "yes"}


def test_secrets_are_taken_out_of_what_is_kept_and_shown(tmp_path):
    def fails(case, output):
        raise ValueError(f"{'.' * 1980}{SECRET}")

    rows = [{"id": "c1", "input": SECRET}]
    found = oloproof.evaluate(echo, rows, evaluators=[RIGHT, fails], redact={}, store=tmp_path)

    shown = [repr(found.cases["c1"].to_document()), found._repr_html_(), repr(found.cases["c1"].output)]
    assert parts(*shown) == []
    assert found.cases["c1"].output == {"answer": "[redacted:email:1]"}


def test_metrics_rules_cases_and_the_verdict(tmp_path):
    with chdir(tmp_path):
        found = oloproof.evaluate(echo, [case("c1"), case("c2", "no")], evaluators=[RIGHT], rules=[NONE_WRONG])
        assert list(tmp_path.iterdir()) == []
    assert (found.verdict, found.exit_code, found.run.status) == ("BLOCK", 1, "complete")
    metric = found.metrics["right"]
    assert (metric.passed, metric.failed, metric.missing, metric.excluded) == (1, 1, 0, 0)
    assert metric.estimate == 0.5
    assert metric.lower < 0.5 < metric.upper
    assert (found.rules["none-wrong"].state, found.rules[0].blocking) == ("FAIL", True)
    assert [each.verdict for each in found.cases] == ["pass", "fail"]
    assert (found.cases["c2"].output, found.cases["c2"].expected) == ({"answer": "no"}, {"answer": "yes"})
    assert found.to_document()["format"] == "oloproof.report/v1"
    assert found.to_dicts()[1] == {
        "case": "c2",
        "trial": 1,
        "criterion": "right",
        "verdict": "fail",
        "reason": None,
    }


def test_rules_that_let_it_through_and_none_at_all():
    assert oloproof.evaluate(echo, [case("c1")], evaluators=[RIGHT], rules=[NONE_WRONG]).exit_code == 0
    ungated = oloproof.evaluate(echo, [case("c1")], evaluators=[RIGHT])
    assert (ungated.verdict, ungated.exit_code, len(ungated.rules)) == ("NOT_GATED", 3, 0)
    chosen = oloproof.evaluate(echo, [case("c1")], evaluators=[RIGHT], policy="none")
    assert (chosen.exit_code, chosen.gate.why) == (0, "no gate was asked for")
    policy = {"version": 1, "rules": [NONE_WRONG | {"requires_manual_review": True}]}
    assert oloproof.evaluate(echo, [case("c1")], evaluators=[RIGHT], policy=policy).exit_code == 4


def test_a_result_is_neither_true_nor_false():
    with pytest.raises(TypeError, match="ask whether its verdict"):
        assert oloproof.evaluate(echo, [case("c1", "no")], evaluators=[RIGHT], rules=[NONE_WRONG])


def test_a_release_file_that_lies_there_decides_only_where_it_is_named(tmp_path):
    (tmp_path / "release.yaml").write_text("{version: 1, rules: [{id: a, metric: right, min: 0.1}]}")
    with chdir(tmp_path):
        assert oloproof.evaluate(echo, [case("c1")], evaluators=[RIGHT]).exit_code == 3
        assert oloproof.evaluate(echo, [case("c1")], evaluators=[RIGHT], policy="release.yaml").exit_code == 0


def test_functions_judge_here_beside_what_is_written():
    seen = []

    @oloproof.evaluator(criterion="short")
    def is_short(output, expected):
        seen.append(os.getpid())
        output.clear()  # what one does to its copy, no other sees
        return oloproof.Verdict(False, "too long") if expected.get("answer") == "no" else True

    def raises(context):
        raise ValueError("of the evaluator")

    found = oloproof.evaluate(
        echo,
        [case("c1"), case("c2", "no", answer="no")],
        evaluators=[is_short, {"type": lambda output: output["answer"] == "yes", "criterion": "yes"}, raises, RIGHT],
    )
    assert seen == [os.getpid()] * 2
    assert found.cases["c1"].verdicts == {"short": "pass", "yes": "pass", "raises": "missing", "right": "pass"}
    assert found.cases["c2"].verdicts == {"short": "fail", "yes": "fail", "raises": "missing", "right": "pass"}
    assert found.cases["c2"].judgments["short"].reason == "too long"
    assert "of the evaluator" in found.cases["c2"].judgments["raises"].detail
    assert found.cases["c2"].output == {"answer": "no"}


def test_what_the_agent_records_is_judged_and_shown():
    found = oloproof.evaluate(
        calls,
        [Case(id="c1", input=["search"] * 3, expected={"tools": ["search"]}, line=7)],
        evaluators=[{"type": "agent_tool_sequence"}, {"type": "agent_no_tool_loop"}],
        metrics=[{"id": "p50", "type": "quantile", "source": "agent_steps", "quantile": 0.5}],
        slices=["first_tool"],
        project="support",
    )
    assert found.run.project == "support"
    (only,) = found.cases
    assert only.verdicts == {"agent_tool_sequence": "fail", "agent_no_tool_loop": "fail"}
    assert [step.tool_name for step in only.trajectory.steps] == ["search"] * 3
    assert found.metrics["p50"].estimate == 3
    assert "✗ agent_tool_sequence" in only._repr_html_()


def test_an_agent_that_records_nothing_is_missing():
    found = oloproof.evaluate(echo, [case("c1", tools=[])], evaluators=[{"type": "agent_tool_sequence"}])
    assert found.cases["c1"].judgments["agent_tool_sequence"].reason == "no_trajectory"
    with pytest.raises(UsageError, match="OLO411"):
        oloproof.evaluate(
            oloproof.system(records=())(lambda asked: asked),
            [case("c1", tools=[])],
            evaluators=[{"type": "agent_tool_sequence"}],
        )


def test_a_case_that_raises_costs_that_case_alone():
    def system(asked):
        raise SystemExit(0) if asked == "exit" else ValueError("no such order")

    found = oloproof.evaluate(system, [case("c1", "exit"), case("c2")], evaluators=[RIGHT], rules=[NONE_WRONG])
    assert [each.verdict for each in found.cases] == ["missing", "missing"]
    assert found.exit_code == 3
    assert "no such order" in found.cases["c2"].error.message


def test_async_systems_also_inside_a_running_loop():
    async def system(asked):
        await asyncio.sleep(0)
        oloproof.current_case()
        return {"answer": asked}

    async def notebook():
        return oloproof.evaluate(system, [case("c1"), case("c2", "no")], evaluators=[RIGHT])

    for found in (
        oloproof.evaluate(system, [case("c1"), case("c2", "no")], evaluators=[RIGHT]),
        asyncio.run(notebook()),
    ):
        assert [each.verdict for each in found.cases] == ["pass", "fail"]


def test_a_class_with_what_it_opens_and_one_loop_for_all_of_it():
    loops = []

    class Agent:
        async def setup(self):
            loops.append(asyncio.get_running_loop())

        async def run(self, asked):
            loops.append(asyncio.get_running_loop())
            return {"answer": asked}

        async def teardown(self):
            loops.append(asyncio.get_running_loop())

    async def notebook():
        found = oloproof.evaluate(Agent, [case("c1")], evaluators=[RIGHT])
        return found, asyncio.get_running_loop()

    found, own = asyncio.run(notebook())
    assert found.cases["c1"].verdict == "pass"
    assert len(loops) == 3
    assert len({*loops, own}) == 2
    assert loops[0].is_closed()


def test_trials_of_a_case():
    found = oloproof.evaluate(
        lambda asked: {"answer": "yes" if oloproof.current_case().trial == 1 else "no"},
        [case("c1")],
        evaluators=[RIGHT],
        trials=2,
    )
    assert (found.cases["c1"].verdict, found.cases["c1", 2].verdict) == ("pass", "fail")


def test_what_a_system_does_to_its_case_nobody_judges_by_and_no_other_trial_is_given():
    def run(asked):
        case = oloproof.current_case()
        seen = {"answer": asked["wanted"], "surface": case.metadata.get("surface")}
        asked["wanted"] = "no"
        case.metadata.clear()
        return seen

    def asked_as_ever(case, output):
        return case.input["wanted"] == output["answer"] == "yes" and output["surface"] == "chat"

    found = oloproof.evaluate(
        run,
        [{"id": "c1", "input": {"wanted": "yes"}, "metadata": {"surface": "chat"}, "expected": {"answer": "no"}}],
        evaluators=[asked_as_ever, RIGHT | {"only": "metadata.surface == chat"}],
        trials=3,
    )
    assert (found.metrics["asked_as_ever"].passed, found.metrics["asked_as_ever"].failed) == (1, 0)
    assert (found.metrics["right"].failed, found.metrics["right"].excluded) == (1, 0)


def test_a_dataset_in_a_file(tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_text('{"id": "c1", "input": "yes", "expected": {"answer": "yes"}}\n')
    for written in (path, str(path)):
        assert [each.id for each in oloproof.evaluate(echo, written, evaluators=[RIGHT]).cases] == ["c1"]
    with pytest.raises(UsageError, match="does not exist"):
        oloproof.evaluate(echo, tmp_path / "none.jsonl", evaluators=[RIGHT])


@pytest.mark.parametrize(
    ("cases", "asked", "told"),
    [
        ([case("c1")], {"evaluators": [RIGHT | {"fild": 1}]}, r"evaluators\[0\].fild: unknown key 'fild'.*'field'"),
        ([case("c1")], {"evaluators": [RIGHT, RIGHT]}, r"the first at evaluators\[0\].criterion"),
        ([case("c1")], {"evaluators": []}, "nothing is measured"),
        ([case("c1")], {"evaluators": "contains"}, "evaluators must be a list"),
        ([case("c1")], {"evaluators": [lambda other: True]}, "takes 'other'"),
        ([case("c1")], {"evaluators": [RIGHT], "rules": [NONE_WRONG | {"metric": "rigt"}]}, "did you mean 'right'"),
        ([case("c1")], {"evaluators": [RIGHT], "trails": 2}, "no keyword 'trails'; did you mean 'trials'"),
        ([case("c1")], {"evaluators": [RIGHT], "dataset": "x.jsonl"}, "no keyword 'dataset'"),
        ([{"input": 1}], {"evaluators": [RIGHT]}, r"cases\[0\]: a row needs the key 'id'"),
        ([case("c1"), case("c1")], {"evaluators": [RIGHT]}, r"cases\[1\].*the first at cases\[0\]"),
        (["c1"], {"evaluators": [RIGHT]}, r"cases\[0\]: a row must be a mapping"),
        ([], {"evaluators": [RIGHT]}, "the dataset has no cases"),
        (None, {"evaluators": [RIGHT]}, "not a NoneType"),
        ([{"id": "c1", "input": {"on": date(2026, 11, 30)}}], {"evaluators": [RIGHT]}, r"cases\[0\].input.on: date"),
        ([case("c1")], {"evaluators": [RIGHT | {"only": b"x"}]}, r"evaluators\[0\].only: bytes .* is no JSON value"),
    ],
)
def test_what_is_wrong_is_told_at_its_place_before_anything_is_called(cases, asked, told):
    def never(asked):
        raise AssertionError

    with pytest.raises((UsageError, TypeError), match=f"(?s){told}"):
        oloproof.evaluate(never, cases, **asked)


def test_what_is_no_system():
    with pytest.raises(TypeError, match="pass the function itself"):
        oloproof.evaluate("app:run", [], evaluators=[RIGHT])
    with pytest.raises(TypeError, match="not both"):
        oloproof.evaluate(echo, [case("c1")], evaluators=[RIGHT], rules=[], policy={})
    with pytest.raises(UsageError, match="cannot be called with one argument"):
        oloproof.evaluate(lambda: 1, [case("c1")], evaluators=[RIGHT])


def test_a_stored_run_is_gated_by_nobody_else(tmp_path):
    found = oloproof.evaluate(echo, [case("c1"), case("c2")], evaluators=[RIGHT], rules=[NONE_WRONG], store=tmp_path)
    assert found.exit_code == 0
    for name in ("latest", found.id, found.id[-6:]):
        again = oloproof.load_run(name, path=tmp_path)
        assert (again.id, again.verdict, again.exit_code) == (found.id, "NOT_GATED", 3)
    assert [each.id for each in again.cases] == ["c1", "c2"]
    assert again.metrics.to_dicts() == found.metrics.to_dicts()
    assert again.cases["c1"].to_document() == found.cases["c1"].to_document()
    with pytest.raises(UsageError, match="no run is called 'x'; the newest are: "):
        oloproof.load_run("x", path=tmp_path)


def test_there_is_no_run(tmp_path):
    with pytest.raises(UsageError, match=r"there are neither runs here nor oloproof.yaml"):
        oloproof.load_run(path=tmp_path)
    with pytest.raises(UsageError, match="there is no such file or directory; name a project's directory"):
        oloproof.load_run(path=tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_ends_the_run_and_the_program(tmp_path):
    begun = []

    def system(asked):
        begun.append(asked)
        os.kill(os.getpid(), signal.SIGINT)
        return {"answer": "yes"}

    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a test in the background of a shell ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            oloproof.evaluate(system, [case("c1"), case("c2")], evaluators=[RIGHT], store=tmp_path)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(begun) == 1
    assert oloproof.load_run(path=tmp_path).run.status == "interrupted"


ATTRIBUTES = {
    ("scope", "col"),
    ("style", "list-style:none"),
    ("style", "overflow-wrap:anywhere"),
    ("style", "overflow-x:auto"),
} | {
    ("style", f"text-align:left;{rest}")
    for rest in ("overflow-wrap:normal", "vertical-align:top;overflow-wrap:break-word;max-width:24em")
}


class Drawn(HTMLParser):
    """The tags and attributes of a fragment."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes.update(attrs)


def test_nothing_in_a_notebook_is_markup_that_others_wrote():
    texts = [text for text in HOSTILE if text and not is_unrepresentable(snapshot(text))]
    found = oloproof.evaluate(
        lambda asked: calls([asked]) | {"answer": asked},
        [case(text, text, tools=["t"]) | {"metadata": {"kind": text}} for text in texts],
        evaluators=[RIGHT, {"type": "agent_tool_sequence"}, lambda output: oloproof.Verdict(False, output["answer"])],
        rules=[NONE_WRONG | {"id": text} for text in texts[:30]],
        slices=["metadata.kind"],
    )
    assert len(found.cases) == len(texts) > 70
    for part in (found, found.metrics, found.rules, found.cases, *found.cases):
        html = part._repr_html_()
        drawn = Drawn(html)
        assert drawn.tags <= TAGS
        assert drawn.attributes <= ATTRIBUTES
        assert all(character == "\n" or inert(character) == character for character in {*html, *repr(part)})


def test_what_went_wrong_is_drawn_and_told_in_a_line():
    def broken(asked):
        raise RuntimeError("boom\nand more")

    found = oloproof.evaluate(broken, [case("c1")], evaluators=[RIGHT], rules=[NONE_WRONG])
    assert "<li>system_error in 1 case: RuntimeError: boom" in found._repr_html_()
    assert found.cases["c1"].cells[-1] == "system_error: RuntimeError: boom; right: missing: system_error"
    assert repr(found.metrics["right"]) == "<metric right – [0.0%, 100.0%] 0 / 0 observed · 1 missing · 0 excluded>"
    assert repr(found.rules["none-wrong"]).startswith("<rule none-wrong: INSUFFICIENT_EVIDENCE: nothing to decide on")


def test_a_step_of_a_nameless_agent_has_no_name():
    found = oloproof.evaluate(
        lambda asked: calls(["look"]), [case("c1", tools=["look"])], evaluators=[{"type": "agent_tool_sequence"}]
    )
    assert "<li>1 tool_call look" in found.cases["c1"]._repr_html_()


def test_names_that_are_not_there():
    found = oloproof.evaluate(echo, [case("c1")], evaluators=[RIGHT])
    with pytest.raises(KeyError, match="did you mean 'right'"):
        found.metrics["rigth"]
    with pytest.raises(IndexError, match="no position 1 among 1 case, from 0 on"):
        found.cases[1]
    assert len(found.cases[:1]) == len(found.cases.where(lambda each: each.verdict == "pass")) == 1
    assert oloproof.evaluate(echo, [case("c1")], evaluators=[RIGHT]).rules._repr_html_().strip() == "<p>rules: none</p>"


def test_data_frames():
    pandas = pytest.importorskip("pandas")
    found = oloproof.evaluate(echo, [case("c1"), case("c2", "no")], evaluators=[RIGHT])
    assert list(found.to_pandas()["verdict"]) == ["pass", "fail"]
    assert list(found.cases.to_pandas()["right"]) == ["pass", "fail"]
    assert isinstance(found.metrics.to_pandas(), pandas.DataFrame)


def test_without_pandas_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match=re.escape("pip install 'oloproof[pandas]'")):
        frame([])


def test_the_package_stays_light_and_shows_its_names():
    code = (
        "import sys, oloproof; light = set(sys.modules); assert 'evaluate' in dir(oloproof); oloproof.evaluate;"
        "from oloproof import *; assert load_run and evaluate and system;"
        "print(*{'msgspec', 'oloproof.record'} & light, *{'numpy', 'sqlite3', 'asyncio', 'yaml'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
    with pytest.raises(AttributeError, match="has no attribute 'evaluat'"):
        oloproof.evaluat  # noqa: B018
    assert all(getattr(oloproof, name) is not None for name in oloproof.__all__)
    assert issubclass(oloproof.RecordError, RecordError)
    assert Path(oloproof.__file__).name == "__init__.py"


NO_NEW = {"id": "no-new", "metric": "right", "kind": "max_new_failures", "max_new_failures": 0}


def worse(asked):
    return {"answer": "no" if asked == "3" else asked}


def numbered(count=30):
    return [{"id": f"c{n}", "input": str(n), "expected": {"answer": str(n)}} for n in range(count)]


def test_a_result_is_the_baseline_of_the_next(tmp_path):
    was = oloproof.evaluate(echo, numbered(), evaluators=[RIGHT])
    assert oloproof.evaluate(echo, numbered(), evaluators=[RIGHT], rules=[NO_NEW]).exit_code == 3
    same = oloproof.evaluate(echo, numbered(), evaluators=[RIGHT], rules=[NO_NEW], baseline=was)
    assert (same.exit_code, same.verdict) == (0, "ALLOW")
    found = oloproof.evaluate(worse, numbered(), evaluators=[RIGHT], rules=[NO_NEW], baseline=was, store=tmp_path)
    assert (found.exit_code, found.rules["no-new"].reason) == (1, "new_failures_exceed_limit")
    assert found.run.project == "echo"
    asked = [row | {"input": row["input"] + " "} if row["id"] == "c3" else row for row in numbered()]
    changed = oloproof.evaluate(echo, asked, evaluators=[RIGHT], rules=[NO_NEW], baseline=was)
    assert changed.exit_code == 3  # another question, so it is no pair


def test_a_baseline_that_cannot_be_compared_is_refused_before_anything_is_called(tmp_path):
    was = oloproof.evaluate(echo, numbered(), evaluators=[RIGHT])

    def never(asked):
        raise AssertionError("called")

    with pytest.raises(UsageError, match="no case in common"):
        oloproof.evaluate(never, [case("other")], evaluators=[RIGHT], baseline=was)
    with pytest.raises(UsageError, match="No such file"):
        oloproof.evaluate(never, numbered(), evaluators=[RIGHT], baseline=tmp_path / "none.json")
    with pytest.raises(TypeError, match="takes a result or a path as its baseline, not an int"):
        oloproof.evaluate(never, numbered(), evaluators=[RIGHT], baseline=3)
