"""Secrets are taken out of what agents and datasets say, before it is kept, shown or cut: ``redact:``.

The story, which `docs/howto/redact-secrets.md` tells users:

- *Where.* In the process that CI waits for, between an attempt's end and everything else: its store, evaluators,
  reports and events. A worker runs the agent's code, which could tamper with what happens there. Until then an attempt
  is in memory only; the files that a worker writes have no name. Of texts with a length limit the worker sends more
  than is kept, so that a secret across the limit is seen whole, and the limit is applied afterwards.
- *What.* Everything that is said in an attempt and in its case, through one :class:`Scope`, and errors that quote them.
  Names that people type and files carry (ids of cases, the system's name and version, ``--slice``) are refused where
  they hold a secret.
- *Judging.* A verdict on a redacted record is the one that the whole record would have had, or missing. Evaluators see
  the case as it is, since it is the user's own, and the attempt *veiled*: a text with a secret may be any text. Whoever
  compares parts of one attempt with each other sees the markers, whose equality is exact. A function of the user's
  sees the redacted record, and what it says of one is missing unless its author vouches for it.
- *Recordings* stay as they are in the user's files. The store keeps the redacted text itself in the place of a
  reference to the file.

What is not found: a secret in pieces over two steps or two values, in base64 or any other encoding than JSON's and
URLs' escapes, in pictures.
"""

from oloproof.redaction.finding import Finder, PatternError, own_pattern
from oloproof.redaction.problems import problems_redacted, texts_redacted
from oloproof.redaction.scope import Limits, Redactor, Scope
from oloproof.redaction.shapes import BUILT_IN

__all__ = [
    "BUILT_IN",
    "Finder",
    "Limits",
    "PatternError",
    "Redactor",
    "Scope",
    "own_pattern",
    "problems_redacted",
    "texts_redacted",
]
