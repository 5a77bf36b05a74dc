from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def own_modules() -> Iterator[None]:
    """Each test imports its own ``app``, where it does so in this process."""
    yield
    sys.modules.pop("app", None)
