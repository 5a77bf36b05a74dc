"""What the command line says about which run is made: kept with it, so that whoever resumes it asks for the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self, get_args

import click
from msgspec import Struct

from oloproof.errors import Problem, UsageError
from oloproof.model.project import METADATA_PREFIX, SliceKind
from oloproof.model.run import Run
from oloproof.model.selection import MetadataValue, Selection
from oloproof.pipeline import Baseline, Request
from oloproof.pipeline.world import BASELINE, VALUED

OPTIONS = (*VALUED, "--stop-early", "--no-gate", "--in-process", "--reuse")
"""The options that say which run is made, by their long names."""


class Asked(Struct, frozen=True, kw_only=True):
    """The options of ``run`` that say which run is made; those that say how fast or where it is shown are none."""

    case_ids: tuple[str, ...] = ()
    slice_text: str | None = None
    limit: int | None = None
    trials: int | None = None
    baseline: str | None = None
    stop_early: bool | None = None
    seed: int | None = None
    no_gate: bool = False
    in_process: bool = False
    reuse: bool = False

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Self:
        """Among all the parameters of the command."""
        return cls(**{name: parameters[name] for name in cls.__struct_fields__})

    def request(self) -> Request:
        """Errors: UsageError for a slice that cannot be read."""
        return Request(
            selection=Selection(case_ids=self.case_ids, slice=_parsed_slice(self.slice_text), limit=self.limit),
            gated=not self.no_gate,
            in_process=self.in_process,
            reuse=self.reuse,
            stop_early=self.stop_early,
            seed=self.seed,
        )

    def words(self, baseline: Baseline | None) -> tuple[str, ...]:
        """The same as words of a command line, from wherever it is typed and whatever is ``latest`` then: ``baseline``
        is what the name of one meant."""
        words = [word for case_id in self.case_ids for word in ("--case", case_id)]
        for option, value in (("--slice", self.slice_text), ("--limit", self.limit), ("--trials", self.trials)):
            words += [] if value is None else [option, str(value)]
        if self.baseline is not None:
            words += [BASELINE, baseline.id if isinstance(baseline, Run) else str(Path(self.baseline).absolute())]
        if self.stop_early is not None:
            words.append("--stop-early" if self.stop_early else "--no-stop-early")
        words += [] if self.seed is None else ["--seed", str(self.seed)]
        words += ["--no-gate"] if self.no_gate else []
        words += ["--in-process"] if self.in_process else []
        words += ["--reuse"] if self.reuse else []
        return tuple(words)


def words_again(command: click.Command, words: Sequence[str]) -> dict[str, Any]:
    """All the parameters of the command, as :meth:`Asked.words` of a stored run give them."""
    return command.make_context("run", list(words)).params


def _parsed_slice(text: str | None) -> MetadataValue | None:
    if text is None:
        return None
    name, equals, value = text.partition("=")
    path = tuple(name.removeprefix(METADATA_PREFIX).split("."))
    if not equals or not name.startswith(METADATA_PREFIX) or not all(path):
        hint = "only metadata is known before a case has run"
        if equals and name and not name.startswith((METADATA_PREFIX, *get_args(SliceKind))):
            hint = f"{hint}: did you mean {METADATA_PREFIX}{text}?"
        raise UsageError(Problem("OLO601", f"--slice {text!r} is not metadata.KEY=VALUE", hint))
    return MetadataValue(path, value)
