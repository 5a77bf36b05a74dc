"""What records an agent by itself, where a framework or its telemetry already tells what the agent does.

Each recorder works inside of a case, and imports the framework that it listens to when it is used.
"""

from __future__ import annotations

from oloproof.recorders.otel import record_otel

__all__ = ["record_otel"]
