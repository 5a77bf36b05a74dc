"""``--base-policy``: the policy that a change started from, for the commands that look at policies."""

from __future__ import annotations

from pathlib import Path

import click

from oloproof.cli.common import F
from oloproof.errors import Problem, UsageError
from oloproof.model.decision import Policy
from oloproof.project.base_policy import relaxed


def base_policy_options(command: F) -> F:
    """``--base-policy FILE`` and ``--fail-on-relaxed``."""
    for option in (
        click.option(
            "--fail-on-relaxed", is_flag=True, help="Exit 4 where something was relaxed: a person must look at it."
        ),
        click.option(
            "--base-policy",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="List every way in which the policy asks for less than this one.",
        ),
    ):
        command = option(command)
    return command


def relaxed_from(
    base: Path | None, policy: Policy | None, *, config: Path | None, fail: bool
) -> tuple[Problem, ...] | None:
    """What was relaxed, None where no base was named. ``config`` None: the policy stands in no file any more."""
    if base is None:
        if fail:
            raise UsageError(Problem("OLO644", "--fail-on-relaxed needs --base-policy FILE to compare with"))
        return None
    return relaxed(policy, base, config=None if config is None else str(config))
