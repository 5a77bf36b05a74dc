"""How many there are, as far as a record tells: what every evaluator that counts decides with.

A record settles a count only as ``[certain, possible]``: a truncated one may still grow without bound, and what was
not recorded may count or not. Every number in between is the count of some finished run, so a verdict is settled
exactly when the range lies inside the bounds or outside them.
"""

from __future__ import annotations

from msgspec import Struct

from oloproof.model.judgment import Word


class Count(Struct, frozen=True, gc=False):
    """How many there are for certain, and how many there may be (None: no bound)."""

    certain: int
    possible: int | None

    def within(self, least: int, most: int | None) -> Word:
        """Whether the count lies in [least, most] (None: no upper bound), ``missing`` where that is open."""
        certain, possible = self.certain, self.possible
        if (most is not None and certain > most) or (possible is not None and possible < least):
            return "fail"
        if certain >= least and (most is None or (possible is not None and possible <= most)):
            return "pass"
        return "missing"


def bounds_problem(least: int, most: int | None, *, names: tuple[str, str]) -> str | None:
    """What is wrong with two bounds that the configuration calls ``names``: they contradict each other, or every run
    keeps them."""
    if most is not None and least > most:
        return f"{names[0]} {least} is more than {names[1]} {most}"
    if most is None and least == 0:
        return f"{names[0]} 0 without {names[1]} is true of every run"
    return None
