from __future__ import annotations

import pytest

from fakes import at_hand
from oloproof import runner


@pytest.fixture
def in_a_worker() -> None:
    """What a test is about that keeps its worker where the others of its module have none."""


@pytest.fixture
def system_at_hand(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system of a project runs in this process."""
    if "in_a_worker" not in request.fixturenames:
        monkeypatch.setattr(runner, "load", at_hand.load)
