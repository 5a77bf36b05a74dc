"""Evaluators, importers and reports that installed packages bring."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakes.packages import package, with_packages
from fakes.projects import NONE_WRONG, answered, oloproof, project

POLITE = """
import sys

def polite(output, *, words=("please",)):
    print("in", "worker" if "oloproof.runner.worker" in sys.modules["__main__"].__spec__.name else "parent")
    return any(word in output["answer"] for word in words)
"""
OF = "plug-in 'polite' of acme 1.0"
RULE = NONE_WRONG | {"metric": "polite"}


def acme(site: Path, source: str = POLITE, target: str = "acme_rules:polite") -> Path:
    return package(site, "acme", {"evaluators": {"polite": target}}, acme_rules=source)


def test_an_evaluator_of_a_package_judges_in_the_worker(tmp_path: Path) -> None:
    site = acme(tmp_path / "site")
    evaluators = [{"type": "polite", "options": {"words": ["yes"]}}]
    directory = project(tmp_path / "p", evaluators=evaluators, rules=[RULE], cases=answered("yes", "no"))
    done = with_packages(site, directory, "run", "--json")
    assert done.verdict("polite") == (1, 1, 0, 0)
    assert done.code == 1
    assert set(with_packages(site, directory, "inspect", "--log").out.split("\n")) == {"in worker", ""}

    listed = with_packages(site, directory, "evaluators", "polite", "--json").json["evaluators"]
    assert [(entry["type"], entry["package"], entry["example"]) for entry in listed] == [
        ("polite", "acme 1.0", "{type: polite}")
    ]
    schema = with_packages(site, directory, "schema").json
    assert schema["$defs"]["PluginEvaluatorEntry"]["properties"]["type"] == {"enum": ["polite"]}


@pytest.mark.parametrize(
    ("source", "target", "options", "code", "told"),
    [
        (
            "1 / 0",
            "acme_rules:polite",
            {},
            5,
            f"{OF}: importing acme_rules failed: ZeroDivisionError",
        ),
        ("", "acme_rules:polite", {}, 5, f"{OF}: acme_rules has no 'polite'"),
        (
            "",
            "acme rules",
            {},
            2,
            f"oloproof.yaml:1:95: {OF}: 'acme rules' is not module:attribute",
        ),
        (POLITE, "acme_rules:polite", {"wrds": []}, 2, "acme_rules:polite takes no option 'wrds'"),
        (POLITE, "acme_rules:polite", {"output": 1}, 2, "acme_rules:polite is given 'output' of each case"),
    ],
)
def test_a_broken_evaluator_names_its_package(
    tmp_path: Path, source: str, target: str, options: dict[str, object], code: int, told: str
) -> None:
    site = acme(tmp_path / "site", source, target)
    directory = project(tmp_path / "p", evaluators=[{"type": "polite", "options": options}], rules=[RULE])
    done = with_packages(site, directory, "run")
    assert done.code == code
    assert told in done.err


def test_two_of_one_name_and_a_name_of_ours_are_refused(tmp_path: Path) -> None:
    site = acme(tmp_path / "site")
    package(site, "zebra", {"evaluators": {"polite": "zebra:polite", "contains": "zebra:contains"}})
    done = with_packages(site, tmp_path, "evaluators")
    assert done.code == 2
    assert done.err.splitlines() == [
        "plug-in 'contains' of zebra 1.0: oloproof has 'contains' itself [OLO681]",
        "  uninstall the package, or have it choose another name",
        "plug-in 'polite' of acme 1.0 and that of zebra 1.0 have one name [OLO681]",
        "  uninstall one of the two packages",
    ]
    # Who names only evaluators of ours does not ask the packages.
    assert with_packages(site, project(tmp_path / "p"), "check").code == 0


def test_a_name_that_is_neither_ours_nor_a_package_s_is_told(tmp_path: Path) -> None:
    site = acme(tmp_path / "site")
    directory = project(tmp_path / "p", evaluators=[{"type": "polit"}], rules=None)
    done = with_packages(site, directory, "check")
    assert done.code == 2
    assert "unknown evaluator type 'polit' [OLO111]" in done.err
    assert "did you mean 'polite'?" in done.err


IMPORTER = """
from oloproof.importers.format import Importer, Run
from oloproof.model.trajectory import Step, Trajectory

def read(sources):
    for source in sources:
        for number, line in enumerate(source.head().decode().splitlines(), 1):
            step = Step(index=1, kind="tool_call", tool_name=line, arguments={})
            yield Run(file=source.name, line=number, case=line, trajectory=Trajectory(steps=(step,)))
            if line == "boom":
                raise RuntimeError("no such tool")

IMPORTER = Importer(name="acme-log", about="Acme's logs", sniff=lambda head: None, read=read)
"""


def test_an_importer_of_a_package(tmp_path: Path) -> None:
    points = {"importers": {"acme-log": "acme_log:IMPORTER", "wrong": "acme_log:read"}}
    site = package(tmp_path / "site", "acme", points, acme_log=IMPORTER)
    (tmp_path / "good.log").write_text("search\npay\n")
    (tmp_path / "bad.log").write_text("boom\n")

    done = with_packages(site, tmp_path, "import", "acme-log", "good.log", "-o", "traces.jsonl")
    assert done.code == 0, done.err
    recorded = [json.loads(line) for line in (tmp_path / "traces.jsonl").read_text().splitlines()]
    assert [record["case"] for record in recorded] == ["search", "pay"]

    done = with_packages(site, tmp_path, "import", "acme-log", "bad.log", "-o", "bad.jsonl")
    assert done.code == 5
    assert "plug-in 'acme-log' of acme 1.0 failed: RuntimeError: no such tool [OLO683]" in done.err
    assert not (tmp_path / "bad.jsonl").exists()

    done = with_packages(site, tmp_path, "import", "wrong", "good.log", "-o", "wrong.jsonl")
    assert done.code == 2
    assert "plug-in 'wrong' of acme 1.0: acme_log:read is a function, no Importer [OLO680]" in done.err

    done = with_packages(site, tmp_path, "import", "acme-lg", "good.log", "-o", "wrong.jsonl")
    assert done.code == 2
    assert "no package installs 'acme-lg' as one of oloproof.importers [OLO680]" in done.err
    assert "did you mean 'acme-log'?" in done.err


REPORT = """
def short(report):
    return f"{report['run']['cases']} cases: {report['gate']['outcome']}\\n"

def broken(report):
    return 7
"""


def test_a_report_of_a_package(tmp_path: Path) -> None:
    points = {"reports": {"short": "acme_reports:short", "broken": "acme_reports:broken"}}
    site = package(tmp_path / "site", "acme", points, acme_reports=REPORT)
    directory = project(tmp_path / "p")
    assert oloproof(directory, "run").code == 0
    done = with_packages(site, directory, "inspect", "latest", "--report", "short")
    assert (done.code, done.out) == (0, "3 cases: ALLOW\n")
    done = with_packages(site, directory, "inspect", "latest", "--report", "broken")
    assert done.code == 5
    assert "plug-in 'broken' of acme 1.0 failed: TypeError: it returned an int, not text [OLO683]" in done.err
