"""What a run asks of its surroundings: the world, a listener, and how it departs from what the project says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from msgspec import Struct, field

from oloproof import runner
from oloproof.model.comparison import Sides
from oloproof.model.events import Event
from oloproof.model.run import Run, TakenOver
from oloproof.model.selection import Selection
from oloproof.pipeline.budget import Budget
from oloproof.store import Store


class Ports(Struct, frozen=True, kw_only=True):
    """The world that a run needs: where it is kept, what time it is (``monotonic`` in seconds from any moment, as a
    stopwatch shows it), a random suffix for its name, and where the user's code runs: in workers, unless a program
    brings functions of its own."""

    store: Store
    now: Callable[[], datetime]
    monotonic: Callable[[], float]
    token: Callable[[], str]
    code: runner.UserCode = runner


class Watch:
    """What a run tells the door while it goes on. This one listens to nothing."""

    listens: bool = False
    """Whether :meth:`told` is to be called: it costs some microseconds a case."""

    def started(self, run: Run, stop: Callable[[], None]) -> None:
        """The run has its name; ``stop`` makes it launch no further case."""

    def resuming(self, done: int, of: int) -> None:
        """So many of all attempts are there from before."""

    def reusing(self, counts: Sequence[TakenOver], of: int) -> None:
        """So many of all attempts are taken over from earlier runs."""

    def confirming(self, cases: int, times: int) -> None:
        """So many cases that broke are run so often again."""

    def judged(self, count: int) -> None:
        """``count`` more cases have been judged and stored."""

    def told(self, events: Sequence[Event]) -> None:
        """This has happened, in this order; what finished is stored. Called on any thread, never on two at a time. That
        the run has finished is for whoever asked for it to say."""


Baseline = Run | Sides
"""What a run is compared with: another one in the store, or one that a file holds."""


class Resumption(Struct, frozen=True, kw_only=True):
    """A run that goes on, by its id. ``changed_too``: also where something is no longer as it was; ``retry_errors``:
    what ended with an error is made again."""

    run: str
    changed_too: bool = False
    retry_errors: bool = False


class Request(Struct, frozen=True, kw_only=True):
    """How this run departs from what the project says. ``concurrency`` None leaves it to the project; ``baseline`` None
    compares with nothing. ``stop_early`` None leaves it to the policy; ``seed`` None has the launch order drawn.
    ``asked`` are the words that said so. ``resume`` None begins a run. ``reuse`` takes over what earlier runs of the
    same system did."""

    selection: Selection = field(default_factory=Selection)
    concurrency: int | None = None
    gated: bool = True
    in_process: bool = False
    baseline: Baseline | None = None
    stop_early: bool | None = None
    seed: int | None = None
    asked: tuple[str, ...] = ()
    resume: Resumption | None = None
    reuse: bool = False
    budget: Budget = Budget()


def rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
