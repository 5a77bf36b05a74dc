"""What a program or a notebook calls: ``evaluate`` a function over cases, and ``load_run`` what a project has stored.

Importing this imports next to nothing; what the functions need they import when they are called.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

if TYPE_CHECKING:
    from oloproof.api.results import Result
    from oloproof.model.case import Case

Written = Mapping[str, Any]


class Settings(TypedDict, total=False):
    """Further keys of ``oloproof.yaml``, in its words."""

    project: str
    metrics: Sequence[Written]
    slices: Sequence[str]
    trials: int
    cluster: str
    interval: Written
    min_slice_support: int
    redact: Written


def evaluate(
    system: Callable[[Any], Any],
    cases: Iterable[Written | Case] | str | os.PathLike[str],
    *,
    evaluators: Sequence[Written | Callable[..., Any]],
    rules: Sequence[Written] | None = None,
    policy: Written | str | None = None,
    store: str | os.PathLike[str] | None = None,
    baseline: Result | str | os.PathLike[str] | None = None,
    **settings: Unpack[Settings],
) -> Result:
    """Call ``system``, plain or async, with the input of each case, here and one after the other; judge and decide.

    ``cases`` have the keys of a dataset's row, or are the path of a dataset. ``evaluators`` are mappings in the words
    of ``oloproof.yaml``, in which ``type`` may be a function, or functions, which are called here too. ``rules`` are
    those of a policy at its defaults; ``policy`` is a whole one, or its file. With neither, nothing is decided.
    ``store`` is the directory in whose ``.oloproof/`` the run is kept; with None nothing is written. ``baseline`` is
    what the run is compared with, for the rules that compare: an earlier result, or the path of a baseline file.

    Errors: TypeError for a system that is no function, and for rules beside a policy; UsageError, with all that is
    wrong, before anything is called; KeyboardInterrupt once the first interruption has ended the case that it met.
    """
    from oloproof.api.evaluating import Asked, baseline_of, evaluated

    was = baseline_of(baseline)
    asked = Asked(evaluators=evaluators, rules=rules, policy=policy, settings=settings, baseline=was)
    return evaluated(system, cases, asked, store=store)


def load_run(run_id: str = "latest", *, path: str | os.PathLike[str] = ".") -> Result:
    """A stored run: an id, a unique part of one, ``latest`` or ``latest~2``. ``path`` is the project's directory, or
    its configuration, where that is called otherwise than ``oloproof.yaml``.

    Errors: UsageError for a name that means no run, BrokenError for a run that concluded nothing.
    """
    from oloproof.api.loading import loaded

    return loaded(run_id, path)
