"""Every name that a user can write or read is documented: commands, options, keys, evaluators, reasons, codes."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

import click
import pytest

import oloproof
import oloproof.testing
from oloproof.api import Settings
from oloproof.api.cases import CaseResult
from oloproof.api.results import MetricResult, Result, RuleResult
from oloproof.api.rows import Rows
from oloproof.cli.app import app
from oloproof.errors import ExitCode
from oloproof.evaluators import EVALUATORS
from oloproof.importers.registry import FORMATS
from oloproof.model import decision, judgment, project
from oloproof.project import json_schema
from oloproof.runtime import Limits, Policy
from oloproof.testing.assertions import Asked

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def missing(words: Iterable[str], text: str) -> list[str]:
    """The words that stand nowhere in the text."""
    return [word for word in words if not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text)]


def commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(app)
    for name in app.list_commands(context):
        command = app.get_command(context, name)
        assert command is not None
        yield name, command


def property_names(schema: Any) -> Iterator[str]:
    """Every key that a JSON Schema knows, at any depth."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for value in schema.values():
            yield from property_names(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from property_names(value)


@pytest.mark.parametrize(
    ("name", "command"), list(commands()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_command_and_its_options(name: str, command: click.Command) -> None:
    text = page("reference/commands.md")
    sections = dict(re.findall(r"^## `oloproof (\w+).*?`\n(.*?)(?=^## |\Z)", text, re.M | re.S))
    assert name in sections
    shared = text[: text.index("## `oloproof")]
    options = set(options_of(command))
    assert missing(sorted(options), shared + sections[name]) == []
    rows = re.findall(r"^\| (`--?\w.*?) \|", sections[name], re.M)
    told = [option for row in rows for option in re.findall(r"(?<=`)--[\w-]+", row)]
    assert [option for option in told if option not in options] == []
    assert len(set(rows)) == len(rows) or isinstance(command, click.Group)


def options_of(command: click.Command) -> Iterator[str]:
    for parameter in command.params:
        yield from (option for option in (*parameter.opts, *parameter.secondary_opts) if option.startswith("-"))
    for each in command.commands.values() if isinstance(command, click.Group) else ():
        yield from options_of(each)


def test_no_command_that_does_not_exist() -> None:
    documented = re.findall(r"^## `oloproof (\w+)", page("reference/commands.md"), re.M)
    assert documented == [name for name, _ in commands()]


def test_every_option_of_the_pytest_plug_in_and_every_keyword_of_an_assertion() -> None:
    source = (ROOT / "src/oloproof/pytest_plugin/__init__.py").read_text(encoding="utf-8")
    assert missing(re.findall(r'"(--[\w-]+)"', source), page("howto/pytest.md")) == []
    assert missing(Asked.__annotations__, page("howto/unit-test-an-agent.md")) == []


def test_every_public_name_of_python() -> None:
    public = [*oloproof.__all__, *oloproof.testing.__all__, *Settings.__annotations__]
    shown = [name for kind in (Result, Rows, MetricResult, RuleResult, CaseResult) for name in vars(kind)]
    assert missing([*public, *(name for name in shown if not name.startswith("_"))], page("reference/python.md")) == []


@pytest.mark.parametrize("kind", list(EVALUATORS))
def test_an_evaluator_and_its_options(kind: str) -> None:
    text = page("reference/evaluators.md")
    assert missing([kind, *EVALUATORS[kind].__struct_fields__], text) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("reference/metrics-and-slices.md", get_args(project.QuantitySource)),
        ("reference/metrics-and-slices.md", get_args(project.SliceKind)),
        ("reference/policy.md", decision.REASONS),
        ("reference/policy.md", get_args(decision.State)),
        ("reference/policy.md", get_args(decision.IntervalMethod)),
        ("reference/policy.md", ("interval_threshold", "observed_count")),
        ("reference/documents.md", get_args(decision.Outcome)),
        ("reference/exit-codes.md", tuple(code.name for code in ExitCode)),
        ("reference/exit-codes.md", tuple(str(code.value) for code in ExitCode)),
        (
            "reference/glossary.md",
            ("observed", "missing", "excluded", "support", "(unplaced)", "(others)", "(none)", "error at the bound"),
        ),
        ("explanation/missing-data.md", get_args(judgment.Word)),
        ("explanation/missing-data.md", get_args(judgment.MissingReason)),
        ("explanation/missing-data.md", get_args(judgment.ExcludedReason)),
    ],
)
def test_a_closed_list(name: str, words: tuple[str, ...]) -> None:
    assert missing(words, page(name)) == []


def test_every_key_of_the_files() -> None:
    reference = page("reference/configuration.md") + page("reference/metrics-and-slices.md")
    assert missing(sorted(set(property_names(json_schema("release")))), page("reference/policy.md")) == []
    known = reference + page("reference/evaluators.md") + page("reference/references.md") + page("reference/policy.md")
    assert missing(sorted(set(property_names(json_schema("oloproof")))), known) == []
    assert missing(sorted(set(property_names(json_schema("dataset")))), known) == []


def test_every_trace_format() -> None:
    told = re.findall(r"^\| `([\w-]+)` \|", page("reference/formats.md"), re.M)
    assert (sorted(set(told)), told) == (sorted(FORMATS), sorted(told))


def test_every_document_format() -> None:
    assert missing(sorted(set(re.findall(r"oloproof\.\w+/v\d+", sources()))), page("reference/documents.md")) == []


def test_every_error_code_has_its_section_and_every_section_its_code() -> None:
    documented = re.findall(r"^### (OLO\d{3})$", page("errors.md"), re.M)
    assert sorted(set(re.findall(r"OLO\d{3}", sources()))) == documented


def test_an_error_code_is_written_in_one_module_and_so_is_of_one_kind() -> None:
    """Who raises what another module raises imports the code by its name."""
    places: dict[str, set[str]] = {}
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Constant) and re.fullmatch(r"OLO\d{3}", str(node.value)):
                places.setdefault(str(node.value), set()).add(str(path.relative_to(ROOT)))
    assert len(places) > 100
    assert {code: sorted(modules) for code, modules in places.items() if len(modules) > 1} == {}


def test_the_change_log_says_nothing_twice() -> None:
    entries = re.findall(r"^- (.{40})", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert len(entries) > 30
    assert [entry for entry, times in Counter(entries).items() if times > 1] == []


def test_a_page_stands_once_in_the_navigation_and_in_the_index() -> None:
    pages = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
    assert sorted(re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M)) == pages
    assert sorted({"index.md", *re.findall(r"\(([\w/-]+\.md)", page("index.md"))}) == pages


def test_the_architecture_has_a_row_for_each_package_and_the_layers_of_the_contract() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    inside = (ROOT / "src/oloproof").iterdir()
    packages = [path.stem for path in inside if not path.name.startswith("_") and path.suffix in ("", ".py")]
    assert sorted(re.findall(r"^\| `(\w+)/?` \|", text, re.M)) == sorted(packages)
    told = [re.findall(r"`(\w+)`", line) for line in re.findall(r"^\d+\. (`.*`)$", text, re.M)]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(contract["layers"] for contract in contracts if contract["id"] == "layers")
    assert [sorted(line) for line in told] == [sorted(re.findall(r"\w+", layer)) for layer in layers]


def sources() -> str:
    return "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))


def test_every_promise_of_the_runtime_names_a_test_that_is_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page("reference/runtime.md"))
    assert len(named) > 40
    absent = [
        name
        for path, name in named
        if not re.search(rf"^(def|class) {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.M)
    ]
    assert absent == []


def test_every_name_of_the_runtime_is_documented() -> None:
    text = page("reference/runtime.md") + page("howto/run-a-bounded-agent.md")
    files = [ROOT / "src/oloproof/runtime" / name for name in ("kernel.py", "turn.py", "gates.py")]
    source = "".join(path.read_text(encoding="utf-8") for path in files)
    events = re.findall(r'\.log\(\s*"(\w+)"', source)
    codes = re.findall(r'Denial\(\s*"\w+", "(\w+)"', source) + re.findall(r'\.fail\(\s*"(\w+)"', source)
    assert missing([*Policy.__struct_fields__, *Limits.__struct_fields__, *events, *codes], text) == []
