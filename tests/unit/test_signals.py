"""Signals that end a process: heard while they are wanted, and what they were before once they are not."""

from __future__ import annotations

import signal
from threading import Thread

import pytest

from oloproof.signals import ENDING, ending


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_is_heard_and_afterwards_what_it_was(number: signal.Signals) -> None:
    heard: list[str] = []
    before = signal.signal(number, lambda *_: heard.append("outside"))
    try:
        with pytest.raises(KeyError), ending(lambda: heard.append("inside")):
            signal.raise_signal(number)
            raise KeyError
        signal.raise_signal(number)
    finally:
        signal.signal(number, before)
    assert heard == ["inside", "outside"]


def test_in_another_thread_nothing_is_changed() -> None:
    told = []

    def elsewhere() -> None:
        with ending(lambda: None):
            told.append([signal.getsignal(each) for each in ENDING])

    thread = Thread(target=elsewhere)
    thread.start()
    thread.join(60)
    assert told == [[signal.getsignal(each) for each in ENDING]]
