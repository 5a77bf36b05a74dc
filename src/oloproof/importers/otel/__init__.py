"""OpenTelemetry, in three layers that know nothing of the ones after them.

*Containers* (:mod:`.containers`) hold spans and log records: OTLP/JSON, Tempo and Jaeger exports, dumps of SDKs. Out
come :class:`~.spans.Span` and :class:`~.spans.Log`.

*Dialects* (:mod:`.dialects`) say what a span means, each in its own attributes. Out comes :class:`~.seen.Seen`: this
was an agent, a call of a model, a tool, and that was said.

*The story* (:mod:`.traces`, :mod:`.plan`, :mod:`.telling`) puts the spans of one run in order, counts once what was
recorded two or three times, and tells the rest to a :class:`~oloproof.importers.builder.Builder`.
"""
