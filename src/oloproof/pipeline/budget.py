"""What one run may spend: when it is spent, nothing more is launched, and what was left out is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from oloproof.model.case import Attempt
from oloproof.model.run import RunStatus


class Budget(Struct, frozen=True, kw_only=True):
    """At most so many dollars, as the steps of trajectories record them, and so many seconds; None is no limit."""

    cost_usd: float | None = None
    wall_s: float | None = None


class Spending:
    """Follows the attempts of a run as they come, and stops the system once the budget is spent. What runs in that
    moment is finished, and counts. What stood before the run was resumed costs nothing now."""

    def __init__(self, budget: Budget, monotonic: Callable[[], float]) -> None:
        self._budget = budget
        self._monotonic = monotonic
        self._began = monotonic()
        self._cost_usd = 0.0
        self._spent = ""
        self._unpriced = 0
        self._not_run = 0

    def within(self, attempts: Iterable[Attempt], stop: Callable[[], None]) -> Iterator[Attempt]:
        """The same attempts, each as the last of those that were made; ``stop`` is called when the budget is spent."""
        stopped = False
        for attempt in attempts:
            for each in (*attempt.earlier, attempt):
                self._pay(each)
            if not stopped and not self.may_launch():
                stopped = True
                stop()
            yield attempt

    def told(self, status: RunStatus) -> tuple[str, ...]:
        """What the report says of it, of a run that ended so. What one that stopped early left out would have told it
        nothing more, also where the budget was spent by then."""
        told = []
        if self._spent and self._not_run and status == "interrupted":
            what = "1 attempt was" if self._not_run == 1 else f"{self._not_run} attempts were"
            told.append(f"the budget was spent ({self._spent}): {what} not run; `run --resume` completes the run")
        if self._unpriced:
            what = "1 attempt has" if self._unpriced == 1 else f"{self._unpriced} attempts have"
            told.append(f"{what} steps without a cost, which count as nothing in --max-cost-usd")
        return tuple(told)

    def may_launch(self) -> bool:
        """Whether there is something left. May be asked from any thread."""
        if not self._spent:
            self._spent = self._over()
        return not self._spent

    def _pay(self, attempt: Attempt) -> None:
        if attempt.not_run:
            self._not_run += 1
            return
        if self._budget.cost_usd is None:
            return
        steps = None if attempt.trajectory is None else attempt.trajectory.steps
        costs = [None] if steps is None else [step.cost_usd for step in steps]
        self._cost_usd += sum(cost for cost in costs if cost is not None)
        self._unpriced += None in costs

    def _over(self) -> str:
        """What is spent, "" where there is something left."""
        budget = self._budget
        if budget.cost_usd is not None and self._cost_usd >= budget.cost_usd:
            return f"{self._cost_usd:.4g} USD of {budget.cost_usd:g}"
        if budget.wall_s is not None and (took := self._monotonic() - self._began) >= budget.wall_s:
            return f"{took:.0f} s of {budget.wall_s:g}"
        return ""
