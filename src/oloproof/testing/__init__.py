"""What users import into their own tests: a case to call an agent in, and what must hold of what it did."""

from __future__ import annotations

from oloproof.testing.assertions import assert_trajectory
from oloproof.testing.recorded import RecordedCase, recorded_case

__all__ = ["RecordedCase", "assert_trajectory", "recorded_case"]
