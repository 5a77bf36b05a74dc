"""What other programs call our commands and options, so that who asks for one by that name is told ours."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

import click

COMMANDS: Final = {
    "eval": "run",
    "evaluate": "run",
    "test": "run",
    "eval-retry": "run --resume RUN --retry-errors",
    "retry": "run --resume RUN --retry-errors",
    "resume": "run --resume RUN",
    "cache": "run --reuse",
    "validate": "check",
    "lint": "check",
    "doctor": "check",
    "score": "judge",
    "diff": "compare",
    "show": "inspect",
    "debug": "inspect --case ID",
    "results": "inspect",
    "list": "runs",
    "ls": "runs",
    "log": "runs",
    "logs": "runs",
    "history": "runs",
    "share": "report --html FILE",
    "ui": "view",
    "open": "view",
    "convert": "import",
    "new": "init",
    "help": "--help",
    "version": "--version",
}
"""A command of another program, and ours with the option that makes it the same."""

_SOME_CASES = "--case ID, --slice metadata.KEY=VALUE and --limit N run some of the cases"
_FAILED = "--failed RUN runs what failed in a run, as in --failed latest"
_TRIALS = "--trials N tries each case so often"
_AT_ONCE = "--concurrency N has so many cases run at a time"
_STOP = "--stop-early ends the run once its verdict is settled"
_REPORTS = "--html FILE, --markdown FILE, --junit FILE and --json say what came out"
_DETAIL = "`oloproof inspect --case ID` shows a case step by step, with what it printed"
_SYSTEM = "what is run stands in oloproof.yaml under `system:`"
_CASES = "the file with the cases stands in oloproof.yaml under `dataset:`"
_RETRIES = "`retry:` under `system:` in oloproof.yaml says which errors are tried again"
_TIME = "`timeout_s:` under `system:` in oloproof.yaml bounds a case, --max-wall-s SECONDS the run"
_COST = "--max-cost-usd USD launches nothing more once the recorded cost has come to this"
_REUSE = "without --reuse, every case is run"

_REPORTED: Final = {
    **dict.fromkeys(("-o", "--output", "--out", "--share"), _REPORTS),
    **dict.fromkeys(("--junitxml", "--junit-xml"), "--junit FILE writes it"),
}
_OF_A_RUN: Final = {
    **dict.fromkeys(("-k", "-m", "--filter", "--filter-pattern", "--filter-metadata", "--sample-id"), _SOME_CASES),
    **dict.fromkeys(("--filter-first-n", "--first-n"), "--limit N runs the first N cases"),
    **dict.fromkeys(("--lf", "--last-failed", "--ff", "--failed-first", "--filter-failing"), _FAILED),
    "--filter-errors-only": "--resume RUN --retry-errors makes attempts again that ended with an error",
    **dict.fromkeys(("--repeat", "--epochs", "--count"), _TRIALS),
    **dict.fromkeys(("-j", "-n", "--max-concurrency", "--max-samples", "--max-connections", "--workers"), _AT_ONCE),
    **dict.fromkeys(("-x", "--exitfirst", "--maxfail", "--fail-fast"), _STOP),
    **_REPORTED,
    "--format": _REPORTS,
    **dict.fromkeys(("-v", "-vv", "--verbose", "-s", "--trace"), _DETAIL),
    **dict.fromkeys(("--pdb", "--debug"), "--in-process runs the system in this process, for a debugger"),
    **dict.fromkeys(("--co", "--collect-only", "--dry-run"), "`oloproof check` looks at everything and runs nothing"),
    **dict.fromkeys(("--model", "--provider", "--providers", "--solver"), _SYSTEM),
    **dict.fromkeys(("-t", "--tests", "--dataset"), _CASES),
    **dict.fromkeys(("--retries", "--max-retries", "--retry-on-error", "--reruns"), _RETRIES),
    **dict.fromkeys(("--timeout", "--time-limit"), _TIME),
    **dict.fromkeys(("--max-cost", "--cost-limit"), _COST),
    **dict.fromkeys(("--cache", "--no-cache"), _REUSE),
    **dict.fromkeys(("--threshold", "--pass-rate"), "a rule of the policy says with `min:` what share must pass"),
}
"""An option of pytest, promptfoo, DeepEval or Inspect, and what there is in its place for a run."""

_OF_A_REPORT: Final = dict.fromkeys(("-o", "--output", "--out", "--pdf"), "--html FILE is the file to write")
_OF_ANY: Final = {"-c": "--config FILE names the configuration"}
_OF: Final = {"run": _OF_A_RUN, "report": _OF_A_REPORT, **dict.fromkeys(("judge", "gate", "inspect"), _REPORTED)}
_NEAR: Final = 0.7
"""How alike two names are, without their dashes, of which one may be meant for the other."""


def option_meant(command: str, wrong: str, known: Iterable[str]) -> str:
    """A sentence that says which option, or what in its place, is meant by one that ``command`` has not; "" where
    nothing is near."""
    told = _OF.get(command, {}).get(wrong) or _OF_ANY.get(wrong)
    if told:
        return told[:1].upper() + told[1:]
    names = {option.lstrip("-"): option for option in known if option.startswith("--")}
    near = get_close_matches(wrong.lstrip("-").lower(), names, n=1, cutoff=_NEAR)
    return f"Did you mean '{names[near[0]]}'?" if near else ""


def meaning_options(error: click.NoSuchOption) -> click.UsageError:
    """The same error with a better guess: the parser's own takes ``--output`` for ``--tap``."""
    if error.ctx is None:
        return error
    command = error.ctx.command
    known = [name for each in command.params for name in (*each.opts, *each.secondary_opts)]
    hint = option_meant(command.name or "", error.option_name, [*known, "--help"])
    return click.UsageError(f"{error.message} {hint}".strip(), error.ctx)
