"""What can be said of a run on a cluster without Ray: what a machine answers, and who is asked after losses."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from threading import Event
from typing import Any, cast

import pytest
from msgspec.structs import replace

from fakes.projects import oloproof, project
from oloproof import __version__
from oloproof.errors import UsageError
from oloproof.runner.protocol import Declared, LoadSystem, RunCase, encode
from oloproof.runner.ray import cluster
from oloproof.runner.ray.hands import FRUITLESS, Hand, Hands, Lost, hired
from oloproof.runner.ray.node import Assignment, Node, decode_answer, decode_end, decode_start

APP = """
print("loaded")

def run(case):
    print("asked", case)
    return {"answer": case, "large": 2**60, "share": 0.1}
"""


def assigned(directory: Path, version: str = __version__) -> Assignment:
    load = LoadSystem("app:run", os.fsencode(directory), 5.0)
    return Assignment(version=version, load=load, config="oloproof.yaml", uploaded=False, env={})


def test_a_machine_answers_in_bytes_what_a_worker_would(tmp_path: Path) -> None:
    project(tmp_path, app=APP)
    node = Node(encode(assigned(tmp_path)))
    assert replace(decode_start(node.start()).declared, code="") == Declared()  # type: ignore[union-attr]
    answered = [decode_answer(node.run(encode(RunCase(n, f"c{n}", "yes", 7)))) for n in (4, 5)]
    assert answered[0].ran.output == {"answer": "yes", "large": 2**60, "share": 0.1}
    assert answered[0].ran.log == "asked yes\n"
    assert [each.log for each in answered] == ["loaded\n", None]
    assert decode_end(node.close()).log == "loaded\n"


def test_a_machine_that_is_not_fit_for_the_run_is_told(tmp_path: Path) -> None:
    other = decode_start(Node(encode(assigned(tmp_path, "0.0.0"))).start())
    without = decode_start(Node(encode(assigned(tmp_path / "elsewhere"))).start())
    nobody = decode_start(Node(encode(assigned(tmp_path))).start())
    assert [each.code for each in (other, without, nobody)] == ["OLO435", "OLO433", "OLO401"]  # type: ignore[union-attr]


def test_without_ray_the_way_to_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    done = oloproof(project(tmp_path, executor="ray"), "run")
    assert (done.code, done.out) == (2, "")
    assert "OLO430" in done.err
    assert "pip install 'oloproof[ray]'" in done.err


def test_a_variable_that_is_to_be_taken_along_must_be_set(tmp_path: Path) -> None:
    done = oloproof(project(tmp_path, executor="ray", ray={"env": ["NOT_SET_ANYWHERE"]}), "run")
    assert done.code == 2
    assert "ray.env names NOT_SET_ANYWHERE, which is not set here [OLO434]" in done.err


NOTHING = Declared()


class Worker:
    """A hand that starts or does not."""

    def __init__(self, slots: int, *, starts: bool = True, declares: Declared = NOTHING) -> None:
        self.slots, self.log, self.machine = slots, f"{slots} ", "m1"
        self.placed = object()
        self.killed = Event()
        self.declared = declares
        self._starts = starts

    def comes(self, _is_over: object) -> bool:
        return True

    def started(self, _config: str) -> Declared:
        if not self._starts:
            raise Lost("it ended")
        return self.declared

    def kill(self) -> None:
        self.killed.set()


def hands(*, starts: bool = True, declares: Declared = NOTHING) -> tuple[Hands, list[Worker]]:
    """Those at work, none so far, and those that were hired in the place of lost ones."""
    new: list[Worker] = []

    def hire(slots: int) -> Hand:
        new.append(Worker(slots, starts=starts, declares=declares))
        return cast(Hand, new[-1])

    return Hands(hire, "oloproof.yaml"), new


def test_a_lost_worker_is_replaced_and_told_once_with_all_its_cases() -> None:
    at_work, new = hands()
    lost: Any = Worker(2)
    at_work.add(lost)
    assert [at_work.take(), at_work.take()] == [lost, lost]
    for name in ("c1", "c2"):
        at_work.lose(lost, "the node died", name)
    taken = at_work.take()  # waits for the other
    assert [taken] == new
    assert lost.killed.is_set()
    at_work.give_back(lost)
    assert at_work.slots == 2
    told = "a Ray worker was lost on m1: the node died; cases run again: 2 (c1, c2)"
    assert at_work.losses.told() == (told,)
    assert at_work.log == "2 2 "


def test_nobody_comes_who_has_another_system() -> None:
    at_work, new = hands(declares=Declared(code="other"))
    at_work.declared = Declared(code="first")
    lost: Any = Worker(1)
    at_work.add(lost)
    assert at_work.take() is lost
    at_work.lose(lost, "the node died", "c1")
    assert at_work.take() is None
    assert [each.killed.is_set() for each in new] == [True] * FRUITLESS


class Ray:
    """Finds room for everybody, and has no files sent along."""

    class exceptions:
        class RuntimeEnvSetupError(Exception): ...

    def __init__(self, why: str = "") -> None:
        self._why = why

    def wait(self, references: list[object], **_: Any) -> tuple[list[object], list[object]]:
        return references, []

    def init(self, **_: Any) -> None:
        raise self.exceptions.RuntimeEnvSetupError(self._why)


@pytest.mark.parametrize(("code", "is_refused"), [("first", False), ("second", True)])
def test_machines_with_other_files_of_the_system_are_refused(code: str, *, is_refused: bool) -> None:
    placed: list[Any] = [Worker(1, declares=Declared(code="first")), Worker(1, declares=Declared(code=code))]
    placed[1].machine = "m2"
    if not is_refused:
        assert hired(Ray(), placed, "oloproof.yaml") == (placed, Declared(code="first"), ())
        return
    with pytest.raises(UsageError, match=r"other files or another version on m2 than on m1 \[OLO438\]"):
        hired(Ray(), placed, "oloproof.yaml")


def test_files_that_cannot_be_sent_are_no_cluster_that_is_not_there() -> None:
    ray = Ray("Failed to set up.\nFailed to upload it: Package size exceeds 512.00MiB. To exclude large files, …")
    with pytest.raises(UsageError, match=r"sent along: Failed to .*exceeds 512\.00MiB \[OLO437\]"):
        cluster._init(ray, "10.0.0.1:6379", {})


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            "[C] Failed to connect to socket at address:/raylet\n/libc.so [0x7f34] _start",
            "this machine does not",
        ),
        ("Traceback\nRuntimeError: Version mismatch\n  on the head\n", "RuntimeError: Version mismatch"),
        ("it was long\n/x.so(+0x1) [0x55] f()\n", "it was long"),
        ("", ""),
    ],
)
def test_of_all_that_ray_says_the_reason_is_told(said: str, reason: str) -> None:
    assert cluster._reason(said).startswith(reason)
    assert bool(cluster._reason(said)) == bool(reason)


def test_nobody_is_waited_for_once_the_run_is_over() -> None:
    class Nothing(Ray):
        def wait(self, references: list[object], **_: Any) -> tuple[list[object], list[object]]:
            return [], references

    hand = object.__new__(Hand)
    hand._ray, hand.placed, hand.starting = Nothing(), "placed", "starting"
    assert not hand.comes(lambda: True)


def test_nobody_waits_for_workers_that_do_not_come() -> None:
    at_work, new = hands(starts=False)
    lost: Any = Worker(1)
    at_work.add(lost)
    assert at_work.take() is lost
    at_work.lose(lost, "the node died", "c1")
    assert at_work.take() is None
    assert len(new) == FRUITLESS
