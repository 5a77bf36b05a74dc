"""What is told of a run that goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from threading import Event

from msgspec.structs import replace

from fakes import stored
from oloproof.errors import BrokenError
from oloproof.model.progress import Progress
from oloproof.model.tally import Tally
from oloproof.view.live import told

RUN = replace(stored.run(), criteria=("right",), cases=2)


def at(attempts: int) -> Progress:
    return Progress(run=RUN, attempts=attempts, of=2, tallies=(Tally(passed=attempts),))


def heard(looks: Iterable[Progress | Exception], stop: Event | None = None) -> list[tuple[str, object]]:
    """The events of these looks; the last of them is repeated."""
    coming = iter(looks)
    stop = stop or Event()

    def looking() -> Progress:
        found = next(coming, None)
        if found is None:
            stop.set()
            return at(2)
        if isinstance(found, Exception):
            raise found
        return found

    async def gather() -> list[bytes]:
        return [event async for event in told(looking, stop, config="", every_s=0)]

    lines = [event.decode().strip().split("\n") for event in asyncio.run(gather())]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in lines]


ENDED = replace(at(2), run=replace(RUN, status="complete"))


def test_each_change_is_told_once_and_the_end_last() -> None:
    assert heard([at(0), at(0), at(1), at(1), ENDED, at(2)]) == [
        ("progress", {"told": "0 of 2 cases", "counts": [["right", "0", "0", "0", "0"]]}),
        ("progress", {"told": "1 of 2 cases", "counts": [["right", "1", "0", "0", "0"]]}),
        ("ended", ""),
    ]


def test_a_store_that_cannot_be_read_ends_it() -> None:
    gone = BrokenError("it is\ngone", code="OLO501", hint="move it")
    (_, (kind, text)) = heard([at(0), gone, at(1)])
    assert (kind, text) == ("problem", "it is\\ngone [OLO501]\nmove it")


def test_whoever_ends_the_server_does_not_wait() -> None:
    stop = Event()
    assert [kind for kind, _ in heard([at(0)], stop)] == ["progress", "progress"]
    assert stop.is_set()
    assert heard([at(0)], stop) == []
