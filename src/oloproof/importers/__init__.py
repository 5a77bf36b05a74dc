"""Traces that exist already, read without I/O: bytes in, recordings out, and word of everything that did not fit.

``format`` says what an importer is; each file of ``formats/`` is one, and ``registry`` lists them. ``reading`` turns
what an importer finds into recordings. What importers share: ``documents`` (JSON and JSON Lines), ``builder``
(numbered steps, calls paired with results), ``chat`` (OpenAI-style messages).
"""
