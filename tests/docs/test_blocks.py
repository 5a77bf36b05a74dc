"""Every fenced block of the README and the documentation runs, or is at least read by the parser of its language.

A comment on the line before a block directs what happens to it:

``<!-- in: support_agent -->``  this and the page's next blocks work in a copy of that example (``, exact`` sets
                                exact intervals), or in an empty directory (``new``)
``<!-- file: app.py -->``       the block is written to that file, for the console blocks after it
``<!-- fragment: why -->``      the block is not looked at
``<!-- needs: node -->``        nor this one, where there is no such program

A console block holds commands (``$ command  # exit 1``; 0 where nothing is said) and, under each, lines that its output
must hold. White space and table rules do not count, and ``…`` stands for anything.

A command goes to a shell, but for two kinds. ``oloproof`` with plain words is run in this process, which is quicker; on
the pages that strangers begin with, and where the command imports their code, it goes to the shell too. And of
``pip install 'oloproof[extra]'`` it is seen that there is such an extra, since a test installs nothing.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import metadata
from pathlib import Path

import pytest
import yaml

from fakes.projects import oloproof

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"(?P<directives>(?:^<!-- .* -->\n)*)^```(?P<language>\w*)\n(?P<text>(?:.*\n)*?)^```$", re.M)
DIRECTIVE = re.compile(r"<!-- (in|file|fragment|needs): (.*) -->")
COLUMNS = 160
FIRST_PAGES = {ROOT / "README.md", ROOT / "docs" / "tutorial" / "first-run.md"}
PLAIN = re.compile(r"oloproof(?P<arguments>(?: [^|&;<>$`\\*?~(){}#]*)?)")
IMPORTING = re.compile(r" --(app|in-process)\b")
EXTRA = re.compile(r"pip install 'oloproof\[(?P<name>[\w-]+)\]'")
NO_PLUGINS = " ".join(f"-p no:{name}" for name in ("anyio", "hypothesispytest", "langsmith_plugin", "schemathesis"))
COMMAND = re.compile(r"\$ (?P<command>.*?)(?:  # exit (?P<status>\d+))?$")


@dataclass
class Page:
    """A page being read from top to bottom: the directory that it works in, and the names its Python has defined."""

    directory: Path
    always_in_a_shell: bool
    names: dict[str, object] = field(default_factory=dict)

    def enter(self, place: str) -> None:
        """Work in the copy of an example or in an empty directory, made when it is first named."""
        name, _, exact = place.partition(", ")
        self.directory = self.directory.parent / place.replace(", ", "-")
        if self.directory.exists():
            return
        if name == "new":
            self.directory.mkdir()
            return
        shutil.copytree(ROOT / "examples" / name, self.directory, ignore=shutil.ignore_patterns(".oloproof", "__*"))
        if exact:
            config = self.directory / "oloproof.yaml"
            config.write_text(config.read_text().replace("method: wilson", "method: exact"))

    def run(self, block: str) -> None:
        """Run the commands of a console block and look for what the block says of their output."""
        output = ""
        for line in block.splitlines():
            if command := COMMAND.fullmatch(line):
                status, output = self.ended(command["command"])
                assert status == int(command["status"] or 0), f"{line}\n{output}"
            elif line:
                wanted = ".*".join(re.escape(squeezed(part)) for part in line.split("…"))
                assert re.search(wanted, squeezed(output)), f"not in the output: {line}\n{output}"

    def ended(self, command: str) -> tuple[int, str]:
        """The exit code of a command, and what it printed."""
        if extra := EXTRA.fullmatch(command):
            return int(extra["name"] not in metadata("oloproof").get_all("Provides-Extra", ())), ""
        plain = PLAIN.fullmatch(command)
        if plain is None or self.always_in_a_shell or IMPORTING.search(command):
            return self.shell(command)
        done = oloproof(self.directory, *shlex.split(plain["arguments"]), columns=COLUMNS)
        return done.code, done.out + done.err

    def shell(self, command: str) -> tuple[int, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            command,
            shell=True,
            cwd=self.directory,
            env=os.environ | {"PATH": path, "COLUMNS": str(COLUMNS), "PYTEST_ADDOPTS": NO_PLUGINS},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout


def squeezed(text: str) -> str:
    """Each line without its table rules, white space reduced to single blanks."""
    return "\n".join(" ".join(re.sub("[│┃|]", " ", line).split()) for line in text.splitlines())


def blocks(page: Path) -> Iterator[tuple[dict[str, str], str, str]]:
    """The directives, the language and the text of each block."""
    for block in FENCE.finditer(page.read_text(encoding="utf-8")):
        yield dict(DIRECTIVE.findall(block["directives"])), block["language"], block["text"]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_block_of_the_page_holds(path: Path, tmp_path: Path) -> None:
    page = Page(tmp_path / "start", always_in_a_shell=path in FIRST_PAGES)
    page.directory.mkdir()
    for directives, language, text in blocks(path):
        if place := directives.get("in"):
            page.enter(place)
        if name := directives.get("file"):
            (page.directory / name).write_text(text, encoding="utf-8")
        if "fragment" in directives or not shutil.which(directives.get("needs", "sh")):
            continue
        match language:
            case "console":
                page.run(text)
            case "python" if name:
                compile(text, name, "exec")
            case "python":
                exec(compile(text, str(path), "exec"), page.names)
            case "yaml":
                assert yaml.safe_load(text) is not None
            case "json":
                read_json(text)
            case _:
                pytest.fail(f"no rule for a {language!r} block; call it a fragment and say why:\n{text}")


def read_json(text: str) -> None:
    """One document, or one a line."""
    try:
        json.loads(text)
    except ValueError:
        for line in text.splitlines():
            json.loads(line)


PLACE = re.compile(r"^\$ .* && cd \S+$", re.M)


@pytest.mark.parametrize(
    "name",
    [
        "tutorial/first-run",
        "howto/approve-a-review",
        "howto/github-actions",
        "howto/judge-recorded-traces",
        "howto/judge-any-language",
        "howto/write-a-rule",
        "howto/write-an-evaluator",
        "agents",
    ],
)
def test_a_page_says_where_to_type_before_the_first_command_to_try(name: str) -> None:
    """In a directory made for it, so that nobody overwrites the examples or files of their own."""
    said = ""
    for directives, language, text in blocks(ROOT / "docs" / f"{name}.md"):
        if language == "console" and "fragment" not in directives:
            break
        said += text
    assert PLACE.search(said)


def test_the_pages_have_blocks() -> None:
    languages = [language for path in PAGES for _, language, _ in blocks(path)]
    assert {"console", "python", "yaml", "json"} <= set(languages)
