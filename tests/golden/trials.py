"""A report over repeated trials, made by hand: five of each case, one lost, and names as an agent might choose them."""

from __future__ import annotations

from msgspec.structs import replace

from oloproof.metrics import Repeated
from oloproof.model.alignment import Move
from oloproof.model.comparison import Side
from oloproof.model.decision import IntervalThreshold, ObservedCount, Policy
from oloproof.model.measured import Measured
from oloproof.model.project import PassKSpec, QuantileSpec, SliceSpec
from oloproof.model.run import Report, Run, SystemIdentity
from oloproof.model.tally import AtLeast
from oloproof.pipeline import report

NASTY = "<b>\x1b[31m|case`"
TRIALS = {"c1": "ppppp", "c2": "ppppp", "c3": "ppfpp", "c4": "fffff", NASTY: "pfpfm", "c6": "xxxxx"}


def tried() -> Report:
    policy = Policy(
        rules=(
            IntervalThreshold(id="floor", metric="right", min="0.30"),
            IntervalThreshold(id="reliable", metric="always", min="0.50"),
            ObservedCount(id="steady", metric="right", max_failures=2),
        )
    )
    run = Run(
        id="20261130-120000-5ea1",
        project="tried",
        system=SystemIdentity(name="tried", source="callable app:run"),
        status="complete",
        started_at="2026-11-30T12:00:00Z",
        finished_at="2026-11-30T12:01:10Z",
        cases=6,
        trials=5,
        criteria=("right",),
        digest="d2",
    )
    return report(run, _measured(), policy, (), ())


def _measured() -> Measured:
    attempts = [
        (
            trial,
            Side(
                name,
                letter,
                ("search" if letter == "f" else "look",),
                (AtLeast(2) if letter == "m" else 4.0 if letter == "f" else 2.0,),
            ),
        )
        for name, letters in TRIALS.items()
        for trial, letter in enumerate(letters, 1)
    ]
    repeated = Repeated(
        criteria=("right",),
        quantiles=(QuantileSpec(id="steps_p50", source="agent_steps", quantile="0.5"),),
        pass_k=(
            PassKSpec(id="always", type="pass_hat_k", criterion="right", k=3),
            PassKSpec(id="ever", type="pass_at_k", criterion="right", k=3),
        ),
        slices=(SliceSpec(kind="first_tool", name="first_tool"),),
        min_slice_support=2,
        clusters={"c1": "ann", "c2": "ann"},
    )
    measured = repeated.measured(attempts)
    parting = Move("inserted", NASTY, 2, None)
    return replace(measured, flaky=(replace(measured.flaky[0], parting=parting), *measured.flaky[1:]))
