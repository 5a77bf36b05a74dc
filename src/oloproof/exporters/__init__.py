"""Recordings written as traces of another format, and word of everything that the format has no place for.

``format`` says what an exporter is; ``jsonl``, ``atif`` and ``otlp`` are one each. An exporter writes what its importer
reads back as it was: whatever would come back otherwise is counted.
"""
