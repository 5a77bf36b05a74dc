"""What users import into their own tests: a case to call an agent in."""

from __future__ import annotations

from oloproof.testing.recorded import RecordedCase, recorded_case

__all__ = ["RecordedCase", "recorded_case"]
