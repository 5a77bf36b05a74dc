"""Which recording a span belongs to, by where it begins."""

from __future__ import annotations

from contextvars import Context, copy_context

from oloproof.recorders.listener import Listener


def test_what_begins_in_its_context_or_below_it_and_alone_also_elsewhere() -> None:
    listener: Listener[str] = Listener("test")
    with listener.listening("one"):
        assert listener.started("a", "") == "one"
        assert Context().run(listener.started, "b", "a") == "one"
        assert Context().run(listener.started, "c", "") == "one"
        inner = copy_context()
        with listener.listening("two"):
            assert listener.started("d", "") == "two"
            assert inner.run(listener.started, "e", "") == "one"
            assert Context().run(listener.started, "f", "") is None
            assert Context().run(listener.perhaps_of) == ("one", "two")
            assert [listener.recording_of(span) for span in ("a", "d", "f", "")] == ["one", "two", None, "two"]
        assert listener.recording_of("d") is None


def test_what_a_recording_left_running_is_of_no_later_one() -> None:
    listener: Listener[str] = Listener("test")
    with listener.listening("one"):
        left = copy_context()
        listener.started("a", "")
    with listener.listening("two"):
        assert left.run(listener.started, "b", "a") is None
        assert left.run(listener.perhaps_of) == ()
        assert left.run(listener.started, "c", "b") is None
        listener.started("d", "")
        assert left.run(listener.started, "e", "d") == "two"
