"""How deep the laws go."""

from __future__ import annotations

import os

IS_DEEP = "OLOPROOF_DEEP" in os.environ
"""``make test-world`` asks for it."""


def examples(deep: int) -> int:
    """So many examples where the laws go deep, and a third of them else: for laws whose other side is brute force."""
    return deep if IS_DEEP else max(deep // 3, 10)
