"""``pytest tests/golden --rewrite-golden`` writes the golden files anew; the diff is then reviewed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

FILES = Path(__file__).parent / "files"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-golden", action="store_true", help="write tests/golden/files anew")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Asserts that a text is what the golden file of that name holds."""
    rewrite = request.config.getoption("--rewrite-golden", default=False)

    def check(name: str, text: str) -> None:
        file = FILES / name
        if rewrite:
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(text.encode())
        assert file.read_bytes().decode() == text

    return check
