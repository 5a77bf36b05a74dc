"""The command group and the one place where errors become messages and exit codes."""

from __future__ import annotations

import gc
import importlib
import os
import re
import shlex
import sys
from collections.abc import Sequence
from itertools import pairwise, zip_longest
from typing import NoReturn, TextIO

import click
from msgspec.structs import replace

from oloproof._version import __version__
from oloproof.cli.actions import defuse
from oloproof.errors import ExitCode, OloproofError, Problem, did_you_mean

COMMANDS = {
    "init": "Write a small project that runs and gates out of the box.",
    "check": "Validate the project and say what each rule could decide.",
    "plan": "Say how likely each rule is to be settled, and by how many cases.",
    "run": "Run the system over the dataset, judge, measure and gate.",
    "judge": "Judge trajectories recorded earlier; nothing is run.",
    "gate": "Decide a stored run again, or approve a rule that asks for a person.",
    "compare": "Compare a run with another one or with a baseline file, case by case.",
    "baseline": "Keep a run's verdicts in a small file for version control.",
    "inspect": "Show a run, its failing cases, or one case step by step.",
    "report": "Write a stored run as one HTML file that opens offline.",
    "view": "Show the stored runs in the browser, and follow one that goes on.",
    "runs": "List the stored runs.",
    "import": "Turn traces of another format into traces.jsonl.",
    "export": "Write what a run's cases did as traces of another format.",
    "collect": "Receive OpenTelemetry over HTTP and write traces.jsonl.",
    "agent": "Run an agent for a goal, and print each of its events.",
    "serve": "Serve an agent over HTTP and gRPC.",
    "evaluators": "List the evaluators, their keys and an example of each.",
    "schema": "Print the JSON Schema of oloproof.yaml, release.yaml or a dataset's rows.",
}


_MISPLACED = re.compile(r"Got unexpected extra arguments? \(.*\.ya?ml\b")
"""A configuration where none is looked for."""

_COMMAND = re.compile(r"`(oloproof (?:run|judge|gate|compare|baseline save|inspect|runs|plan|check|export)\b[^`]*)`")
"""A command in a hint, of those that take ``--config``."""


class LazyGroup(click.Group):
    """Knows every command's name and one line; imports a command's module when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"oloproof.cli.{cmd_name}_command")
        # What was imported lives as long as the process. Python would go through all of it in search of cycles when the
        # process ends, which is a tenth of what a short command costs. What is made from now on it still goes through.
        gc.freeze()
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from oloproof.cli import elsewhere  # only where a name is wrong

            ours = elsewhere.COMMANDS.get(args[0])
            hint = did_you_mean(args[0], COMMANDS) if ours is None else f"did you mean '{ours}'?"
            raise click.UsageError(f"{error.message} {hint[:1].upper()}{hint[1:]}".strip(), ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="oloproof", message="%(prog)s %(version)s")
def app() -> None:
    """Decide, from what an AI agent did, whether a change may ship.

    Exit codes: 0 allow, 1 fail, 2 usage, 3 insufficient evidence, 4 manual review, 5 broken, 70 internal error.

    \b
    Example:
      oloproof init && oloproof run
    """


def run_app() -> NoReturn:
    """Parse ``sys.argv``, run the command, print what went wrong, exit."""
    _prepare_streams()
    try:
        code = _ended(sys.argv[1:])
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # nowhere to write, not even what went wrong; the code still says it
        code = ExitCode.BROKEN
        _drop_streams()
    sys.exit(int(code))


def _ended(arguments: list[str]) -> int:
    """Run the command and say what went wrong; the exit code. OSError where that cannot be said."""
    as_json = "--json" in arguments
    try:
        code = _invoke(arguments)
        sys.stdout.flush()
    except click.ClickException as error:
        code = _usage(error, as_json=as_json)
    except (click.Abort, KeyboardInterrupt):
        code = ExitCode.INTERRUPTED
    except OloproofError as error:
        code = error.exit_code
        _report_problems([_naming_config(problem, arguments) for problem in error.problems], as_json=as_json)
    except OSError as error:
        _drop(sys.stdout)
        code = ExitCode.BROKEN
        if not isinstance(error, BrokenPipeError):  # a reader that has seen enough needs no message
            _report_problems((Problem("OLO615", f"reading or writing failed: {error}"),), as_json=False)
    except MemoryError:
        code = ExitCode.BROKEN
        hint = "what had been stored is unharmed; judge fewer cases at a time, or on a larger machine"
        _report_problems((Problem("OLO625", "there is not enough memory to go on", hint),), as_json=as_json)
    except Exception as error:
        _report_bug(error, as_json=as_json)
        code = ExitCode.INTERNAL
    return code


def _report_bug(error: Exception, *, as_json: bool) -> None:
    """Say what went wrong inside, and below it where, in lines that can be sent to us."""
    from oloproof.reports.bugs import REPORT, WHAT, bug_lines, bug_text

    _report_problems((Problem("OLO624", f"{WHAT}: {bug_text(error)}", REPORT),), as_json=as_json)
    for line in bug_lines(error):
        print(f"  {line}", file=sys.stderr)


def _prepare_streams() -> None:
    """Make stdout and stderr such that whatever an agent said can be printed, also where they cannot encode it."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started this process: nobody wants to read it
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 -- for as long as the process lives
        else:
            stream.reconfigure(errors="backslashreplace")
            setattr(sys, name, defuse(stream, os.environ))


def _invoke(arguments: list[str]) -> int:
    """Run the command; its exit code. (``app.main`` would make a broken pipe exit 1, which means FAIL here.)"""
    try:
        with app.make_context("oloproof", arguments) as context:
            app.invoke(context)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def _drop(stream: TextIO) -> None:
    """Forget what could not be written, so that the interpreter does not try again on its way out."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def _drop_streams() -> None:
    for stream in (sys.stdout, sys.stderr):
        _drop(stream)


def _usage(error: click.ClickException, *, as_json: bool) -> ExitCode:
    if isinstance(error, click.NoSuchOption):
        from oloproof.cli import elsewhere

        error = elsewhere.meaning_options(error)
    elif isinstance(error, click.UsageError) and _MISPLACED.match(error.message):
        error = click.UsageError(f"{error.message}. The configuration is named with --config FILE", error.ctx)
    if as_json:
        _report_problems((Problem("OLO600", error.format_message()),), as_json=True)
    else:
        error.show(sys.stderr)
    return ExitCode.USAGE


def _naming_config(problem: Problem, arguments: list[str]) -> Problem:
    """The problem with the ``--config`` that was given repeated in the commands of its hint, so that they can be
    pasted."""
    given = [value for option, value in pairwise(arguments) if option == "--config"]
    given += [each.removeprefix("--config=") for each in arguments if each.startswith("--config=")]
    if not given:
        return problem
    named = f"--config {shlex.quote(given[-1])}"
    return replace(problem, hint=_COMMAND.sub(lambda found: f"`{found[1]} {named}`", problem.hint))


def _report_problems(problems: Sequence[Problem], *, as_json: bool) -> None:
    """Print problems: as a document on stdout under --json, otherwise as lines on stderr. A hint that several have, one
    behind the other, stands below the last of them."""
    if as_json:
        from oloproof.reports.document import encode, problems_document

        sys.stdout.write(encode(problems_document(problems)))
        return
    from oloproof.reports.inert import TEXT_LIMIT, inert

    for problem, following in zip_longest(problems, problems[1:]):
        what, *more = problem.message.split("\n")
        print(inert(str(replace(problem, message=what)), TEXT_LIMIT), file=sys.stderr)
        hint = "" if following is not None and following.hint == problem.hint else problem.hint
        for line in (*more, *hint.splitlines()):
            print(f"  {inert(line, TEXT_LIMIT)}", file=sys.stderr)
