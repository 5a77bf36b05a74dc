"""OpenTelemetry: what the spans of a running case tell becomes its trajectory.

Spans of a case are those that begin in its context, those below them, and, while only one case records, those that
begin in threads which know of no context. They are told when the block ends: a process that dies before leaves nothing,
and where an agent, a model or a tool is still at work then, or one may have been missed, the record is cut off.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec.structs import replace

from oloproof.importers.otel.telling import run_of
from oloproof.model.trajectory import Trajectory
from oloproof.record.case import current_case
from oloproof.recorders.listening import listening
from oloproof.recorders.recording import recording
from oloproof.recorders.spans import Spans

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

NOTHING = (
    "record_otel saw no span of an agent, a model or a tool: nothing is recorded of this case. Switch the "
    "instrumentation of your framework on, and let it use the same tracer provider"
)


@contextmanager
def record_otel(*, provider: TracerProvider | None = None) -> Iterator[None]:
    """Record the running case from its spans: ``with record_otel(): return agent(question)``.

    It reads the GenAI conventions, OpenInference and every other dialect that ``oloproof import otel`` knows, and takes
    nothing away from exporters that are there. ``provider`` is the tracer provider that the instrumentation uses; None:
    the global one, which is made where there is none. When the block raises, the trajectory is truncated.

    Errors: RecordError outside a case, where the case has been recorded already, where the OpenTelemetry SDK is not
    installed, and for a provider that takes no processors.
    """
    case, spans = current_case(), Spans()
    with listening(spans, provider), recording(case, lambda: _trajectory(spans), nothing=NOTHING):
        yield


def _trajectory(spans: Spans) -> Trajectory | None:
    traces = spans.close()
    told = run_of(traces).trajectory if traces else None
    return replace(told, truncated=True) if told is not None and spans.is_cut else told
