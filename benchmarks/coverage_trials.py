"""How often the interval of repeated trials covers the truth, and how often it calls a system good that is not.

Suites are drawn from systems whose true rate is known, with trials that go missing and with clusters of unequal sizes.
"covers" should be at least 95 %, "false pass" (the lower bound reaches a true rate that a rule has as its minimum) at
most 2.5 %. Pooling counts every trial as a case of its own.

    python benchmarks/coverage_trials.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oloproof.stats import proportion, trials
from oloproof.stats.trials import Trials

SEED = 20261130
Rates = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Rates]


class System(NamedTuple):
    """How a system's cases differ: ``draw`` gives so many of them their chances, ``mean`` is the true rate."""

    name: str
    mean: float
    draw: Draw


class Design(NamedTuple):
    """What is run. ``lost`` are the shares of passing and failing trials that go missing; ``sizes`` of clusters, whose
    cases all have the same chance (None: every case is its own)."""

    name: str
    cases: int
    tried: int
    lost: tuple[float, float] = (0.0, 0.0)
    sizes: tuple[int, ...] | None = None
    suites: int = 2000


def mixture(name: str, *parts: tuple[float, float]) -> System:
    """Shares of cases and their chances."""
    shares, chances = (np.array(column) for column in zip(*parts, strict=True))

    def draw(dice: np.random.Generator, size: int) -> Rates:
        drawn: Rates = dice.choice(chances, size=size, p=shares)
        return drawn

    return System(name, float(shares @ chances), draw)


SYSTEMS = (
    mixture("three in four cases at 98%, the rest at 30%", (0.75, 0.98), (0.25, 0.3)),
    mixture("85% of cases always pass, the rest never", (0.85, 1.0), (0.15, 0.0)),
    mixture("every case at 90%", (1.0, 0.9)),
    mixture("5% of cases at 20%, the rest at 99.5%", (0.05, 0.2), (0.95, 0.995)),
    mixture("2% of cases never, the rest at 99.9%", (0.02, 0.0), (0.98, 0.999)),
    System("chances spread as Beta(4, 1)", 0.8, lambda dice, size: dice.beta(4, 1, size)),
)
UNEQUAL = (1,) * 35 + (20,) * 5
DESIGNS = (
    Design("40 cases, 5 trials", 40, 5),
    Design("100 cases, 5 trials", 100, 5, suites=1000),
    Design("20 cases, 8 trials", 20, 8),
    Design("40 cases, 5 trials, 10% missing at random", 40, 5, lost=(0.1, 0.1)),
    Design("40 cases, 5 trials, 30% of failures missing", 40, 5, lost=(0.0, 0.3)),
    Design("135 cases in 40 unequal clusters, 1 trial", 135, 1, sizes=UNEQUAL, suites=1000),
    Design("135 cases in 40 unequal clusters, 3 trials", 135, 3, sizes=UNEQUAL, suites=500),
)


class Suite(NamedTuple):
    """The trials of each case, and the cluster that it belongs to."""

    cases: list[Trials]
    groups: list[int]


def suites(system: System, design: Design, dice: np.random.Generator) -> Iterator[Suite]:
    sizes = design.sizes or (1,) * design.cases
    groups = np.repeat(np.arange(len(sizes)), sizes)
    for _ in range(design.suites):
        chances = system.draw(dice, len(sizes))[groups]
        passed = dice.binomial(design.tried, chances)
        failed = design.tried - passed
        passed, failed = (dice.binomial(n, 1 - lost) for n, lost in zip((passed, failed), design.lost, strict=True))
        cases = [Trials(p, f, design.tried - p - f) for p, f in zip(passed.tolist(), failed.tolist(), strict=True)]
        yield Suite(cases, groups.tolist())


class Score(NamedTuple):
    """Shares of the suites."""

    covers: float
    false_pass: float


def scored(ends: list[tuple[float, float]], truth: float) -> Score:
    bounds = np.array(ends)
    return Score(
        float(((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])).mean()), float((bounds[:, 0] >= truth).mean())
    )


def scores(system: System, design: Design, dice: np.random.Generator) -> list[Score]:
    """Of pooling, of the rule with Wilson's bounds, and of the rule with exact ones."""
    pooled, wilson, exact = [], [], []
    for suite in suites(system, design, dice):
        passed, failed, missing = (sum(case[word] for case in suite.cases) for word in range(3))
        pooled.append(proportion.interval(passed, failed, missing))
        for method, ends in (("wilson", wilson), ("exact", exact)):
            found = trials.interval(suite.cases, metric="pass_hat_k", groups=suite.groups, method=method)
            ends.append((found.lower, found.upper))
    return [scored(ends, system.mean) for ends in (pooled, wilson, exact)]


def main() -> None:
    dice = np.random.default_rng(SEED)
    print(f"{'':58} {'pooled':>15} {'by case, wilson':>17} {'by case, exact':>17}")
    print(f"{'':58} {'covers  f.pass':>15} {'covers  f.pass':>17} {'covers  f.pass':>17}")
    worst = [Score(1.0, 0.0)] * 3
    for design in DESIGNS:
        print(design.name)
        for system in SYSTEMS:
            found = scores(system, design, dice)
            print(f"  {system.name:56} " + "  ".join(f"{s.covers:7.1%} {s.false_pass:7.1%}" for s in found))
            worst = [
                Score(min(old.covers, new.covers), max(old.false_pass, new.false_pass))
                for old, new in zip(worst, found, strict=True)
            ]
    print(f"{'worst':58} " + "  ".join(f"{s.covers:7.1%} {s.false_pass:7.1%}" for s in worst))


if __name__ == "__main__":
    main()
