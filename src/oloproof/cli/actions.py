"""GitHub Actions, and the logs of other CI servers that read commands in what a job prints.

A log is not only read by people: a line that begins with ``::`` is a command to GitHub's runner, and so is ``##[``
wherever it stands; Azure reads ``##vso[`` and TeamCity ``##teamcity[``. An agent that may choose a case id or an answer
must not so speak to them, and only what is printed knows where a line begins.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any, TextIO, cast

from oloproof.errors import BrokenError

UNWRITABLE = "OLO605"
SERVERS = ("GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION")
"""Environment variables of servers that read commands in logs."""

_ANYWHERE = re.compile(r"##(?=\w*\[)")
_AT_THE_START = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)


def summarize(markdown: str) -> None:
    """Append to the summary of the job; say so where there is none to append to."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        print("--github: this is no job of GitHub Actions, so there is no summary to write", file=sys.stderr)
        return
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(markdown)
    except OSError as error:
        message = f"cannot write the job summary {path}: {error.strerror}"
        raise BrokenError(message, code=UNWRITABLE, hint="is GITHUB_STEP_SUMMARY the runner's own?") from error


def annotate(annotations: Iterable[str], *, as_json: bool) -> None:
    """Print annotations where the runner reads them: on stdout, or on stderr where stdout is one document."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    stream = sys.stderr if as_json else sys.stdout
    raw = stream.commands if isinstance(stream, Defused) else stream
    raw.write("".join(annotations))


def defuse(stream: TextIO, environment: Mapping[str, str]) -> TextIO:
    """The stream with no command in what is written to it, where its reader would obey one."""
    return cast(TextIO, Defused(stream)) if any(map(environment.get, SERVERS)) else stream


class Defused:
    """A text stream in whose lines nothing is a command to a CI server. ``commands`` is the stream beneath, for those
    that are meant."""

    def __init__(self, stream: TextIO) -> None:
        self.commands = stream
        self._starts = True

    def write(self, text: str) -> int:
        """Write with each command's first character spelled out. The spelling is the same value in a JSON document,
        where a ``#`` stands inside of strings alone and no line begins with a colon."""
        if not isinstance(text, str):  # some look by this whether a stream is one of bytes
            raise TypeError(f"a text is written here, not {type(text).__name__}")
        if text:
            self.commands.write(defused(text, starts=self._starts))
            self._starts = not text.rsplit("\n", 1)[-1].strip()
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.commands, name)


def defused(text: str, *, starts: bool = True) -> str:
    """``text`` without commands; ``starts``: it begins a line."""
    text = _ANYWHERE.sub(r"#\\u0023", text)
    if starts:
        return _AT_THE_START.sub(r"\1\\x3a", text)
    first, newline, rest = text.partition("\n")
    return first + newline + _AT_THE_START.sub(r"\1\\x3a", rest)
