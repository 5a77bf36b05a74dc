"""What other programs call a command or an option is answered with ours, and what is answered exists."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from fakes.projects import oloproof, project
from oloproof.cli import elsewhere
from oloproof.cli.app import COMMANDS, app

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
TYPED = re.compile(r"`oloproof ([a-z]+)([^`]*)`")


def options_of(command: click.Command) -> set[str]:
    return {name for each in command.params for name in (*each.opts, *each.secondary_opts)} | {"--help", "--version"}


def command(name: str) -> click.Command:
    found = app.get_command(click.Context(app), name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["run", "judge", "gate", "inspect", "report"])
def test_a_hint_names_options_that_are_there_for_one_that_is_not(name: str) -> None:
    ours = options_of(command(name))
    hints = elsewhere._OF[name] | elsewhere._OF_ANY
    assert not set(hints) & ours
    for hint in hints.values():
        assert set(OPTION.findall(TYPED.sub("", hint))) <= ours
        for other, rest in TYPED.findall(hint):
            assert set(OPTION.findall(rest)) <= options_of(command(other))


@pytest.mark.parametrize("theirs", elsewhere.COMMANDS)
def test_a_command_of_another_program_leads_to_one_of_ours(theirs: str) -> None:
    first, *rest = elsewhere.COMMANDS[theirs].split()
    assert theirs not in COMMANDS
    assert first in COMMANDS or first in ("--help", "--version")
    if first in COMMANDS:
        assert {word for word in rest if word.startswith("--")} <= options_of(command(first))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", "-k", "c1"], "No such option '-k'. --case ID, --slice metadata.KEY=VALUE and --limit N run some"),
        (["run", "--lf"], "No such option '--lf'. --failed RUN runs what failed in a run"),
        (["run", "--epochs", "3"], "No such option '--epochs'. --trials N tries each case so often"),
        (["run", "-c", "x.yaml"], "No such option '-c'. --config FILE names the configuration"),
        (["check", "-c", "x.yaml"], "No such option '-c'. --config FILE names the configuration"),
        (["report", "-o", "r.html"], "No such option '-o'. --html FILE is the file to write"),
        (["run", "--slcie", "x"], "No such option '--slcie'. Did you mean '--slice'?"),
        (["inspect", "--failed"], "No such option '--failed'. Did you mean '--failures'?"),
        (["eval-retry"], "No such command 'eval-retry'. Did you mean 'run --resume RUN --retry-errors'?"),
        (["share"], "No such command 'share'. Did you mean 'report --html FILE'?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_it_is_told(tmp_path: Path, arguments: list[str], told: str) -> None:
    done = oloproof(project(tmp_path), *arguments)
    assert (done.code, told in done.err) == (2, True)


@pytest.mark.parametrize("option", ["--tag", "--quiet", "--frob", "--tip"])
def test_what_is_near_nothing_is_taken_for_nothing(tmp_path: Path, option: str) -> None:
    done = oloproof(project(tmp_path), "run", option)
    assert done.lines[-1] == f"Error: No such option '{option}'."
