"""A baseline: the verdicts of one run, small enough to be reviewed and to live in version control.

It holds counts and, a line a case, verdicts, slice values, quantities and short digests of what was asked and expected.
It holds no input, no output and no trajectory.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from msgspec import MsgspecError, Struct, to_builtins
from msgspec.json import decode

from oloproof.errors import Problem, UsageError
from oloproof.inputs import each_key_once
from oloproof.model.comparison import QuantileId, Side, Sides, counted_verdicts
from oloproof.model.judgment import WORDS

FORMAT = "oloproof.baseline/v1"


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    format: str
    project: str
    run: str
    system: str
    criteria: tuple[str, ...]
    slices: tuple[str, ...]
    quantiles: tuple[QuantileId, ...]
    counts: dict[str, dict[str, int]]
    cases: tuple[Side, ...]
    trials: int = 1
    judged_by: tuple[str, ...] = ()
    judging_code: str = ""


def encode_baseline(sides: Sides) -> str:
    """The file's text: indented, a line a case, so that a change of one verdict is a change of one line."""
    head: dict[str, Any] = {
        "format": FORMAT,
        "project": sides.project,
        "run": sides.run,
        "system": sides.system,
        "criteria": sides.criteria,
        "slices": sides.slices,
        "quantiles": to_builtins(sides.quantiles),
        "counts": counted_verdicts(sides.criteria, sides.cases),
    }
    if sides.trials > 1:  # a file of one trial a case reads as it always did
        head["trials"] = sides.trials
    if sides.judged_by:
        head["judged_by"] = sides.judged_by
    if sides.judging_code:
        head["judging_code"] = sides.judging_code
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    cases = ",\n".join(f"    {json.dumps(to_builtins(side))}" for side in sides.cases)
    return "\n".join(["{", *lines, '  "cases": [', cases, "  ]", "}", ""])


def read_baseline(path: Path) -> Sides:
    """The run that a baseline file holds. Raises :class:`UsageError` for a file that is none."""
    try:
        text = path.read_bytes()
        json.loads(text, object_pairs_hook=each_key_once)
        file = decode(text, type=_File)
    except OSError as error:
        raise _refused(path, f"cannot be read: {error.strerror or error}", "name a file or a run") from error
    except (MsgspecError, RecursionError, ValueError) as error:
        raise _refused(path, f"is no baseline: {error}", "`oloproof baseline save` writes one") from error
    if file.format != FORMAT:
        hint = "save it again with this version: `oloproof baseline save`"
        raise _refused(path, f"has the format {file.format!r}, and this oloproof reads {FORMAT!r}", hint)
    if not _consistent(file):
        raise _refused(path, "contradicts itself: its cases, counts and names do not go together", "save it again")
    return Sides(
        run=file.run,
        project=file.project,
        system=file.system,
        criteria=file.criteria,
        judged_by=file.judged_by,
        judging_code=file.judging_code,
        slices=file.slices,
        quantiles=file.quantiles,
        cases=file.cases,
        trials=file.trials,
    )


def _consistent(file: _File) -> bool:
    """Whether the file is one that :func:`encode_baseline` can have written, down to each line."""
    names = [file.criteria, file.slices, [metric.id for metric in file.quantiles], [c.case_id for c in file.cases]]
    sizes = (len(file.criteria), len(file.slices), len(file.quantiles))
    return (
        bool(file.criteria)
        and len(file.judged_by) in (0, len(file.criteria))
        and all(len(set(each)) == len(each) for each in names)
        and all((len(c.codes), len(c.places), len(c.amounts)) == sizes for c in file.cases)
        and all(set(case.codes) <= WORDS.keys() for case in file.cases)
        and file.counts == counted_verdicts(file.criteria, file.cases)
    )


def _refused(path: Path, what: str, hint: str) -> UsageError:
    return UsageError(Problem("OLO618", f"the baseline {what}", hint, file=str(path)))
