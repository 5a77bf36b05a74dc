"""An endpoint for OTLP over HTTP: telemetry comes in, trajectories are written as their runs fall quiet.

:mod:`.bodies` decodes a request, :mod:`.gathering` keeps what belongs together until it is complete, within bounds,
and :mod:`.server` is the endpoint.
"""
