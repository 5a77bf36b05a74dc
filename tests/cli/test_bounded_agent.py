"""The example of the bounded agent: it passes, and an agent that asks for more than it may is blocked."""

from __future__ import annotations

import shutil
from pathlib import Path

from fakes.projects import oloproof

EXAMPLE = Path(__file__).parents[2] / "examples/bounded_agent"
CHECK = 'if order["amount"] > DESK_LIMIT:'


def copied(place: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, place / "desk", ignore=shutil.ignore_patterns(".oloproof", "__*")))


def test_a_desk_that_keeps_to_its_bounds_may_ship(tmp_path: Path) -> None:
    done = oloproof(copied(tmp_path), "run")
    assert (done.code, "ALLOW" in done.out) == (0, True)


def test_a_desk_that_asks_for_more_than_it_may_is_blocked_though_no_money_moved(tmp_path: Path) -> None:
    desk = copied(tmp_path)
    text = (desk / "app.py").read_text()
    assert CHECK in text
    (desk / "app.py").write_text(text.replace(CHECK, "if False:"))
    done = oloproof(desk, "run")
    assert (done.code, "BLOCK" in done.out) == (1, True)
    assert "approval_denied" in oloproof(desk, "inspect", "--case", "refund-007").out
