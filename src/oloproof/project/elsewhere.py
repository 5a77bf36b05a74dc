"""Keys of other tools, and keys of ours in the wrong place: who writes one is told where it goes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

_CASES = "the file with the cases is named by `dataset:`"
_RUN = "what is run stands under `system:`"
_ASKED = "what is asked stands under `evaluators:`"
_SYSTEM = "how the system is run stands under `system:`"
_CONFIG: Final = {
    **dict.fromkeys(("tests", "tasks", "task", "samples", "scenarios"), _CASES),
    **dict.fromkeys(("providers", "provider", "targets", "solver", "model", "agent"), _RUN),
    **dict.fromkeys(("callable", "command", "http", "recorded", "format", "records", "retry", "retries"), _SYSTEM),
    **dict.fromkeys(("concurrency", "timeout", "timeout_s", "max_per_minute", "isolation", "depends_on"), _SYSTEM),
    **dict.fromkeys(("assert", "asserts", "defaultTest", "judges", "scorer", "scorers"), _ASKED),
    **dict.fromkeys(("rules", "thresholds", "gate", "gates"), "rules stand under `policy:`, or in release.yaml"),
    **dict.fromkeys(("name", "description"), "did you mean 'project'?"),
    **dict.fromkeys(("epochs", "repeat"), "did you mean 'trials'?"),
    "prompts": "a prompt is the agent's own; what it is asked is the `input` of a case",
}
_EXPECTED = 'write it under expected: {"answer": …}'
_BESIDE = "what is nobody's input belongs in `metadata`"
_ROW: Final = {
    **dict.fromkeys(("target", "ideal", "answer", "output", "reference", "assert"), _EXPECTED),
    **dict.fromkeys(("tools", "expected_tools"), 'write it under expected: {"tools": […]}'),
    **dict.fromkeys(("vars", "question", "prompt", "query", "messages"), "what the system is called with is `input`"),
    **dict.fromkeys(("tags", "labels", "description", "category", "split"), _BESIDE),
}
_RULE: Final = {
    **dict.fromkeys(
        ("slice", "slices", "only", "where", "filter"),
        "slices never gate: give the group a criterion of its own, with `only:`, and that criterion a rule",
    ),
    **dict.fromkeys(("severity", "level", "warn"), "`block_on:` and `warn_on:` beside `rules:` say what blocks"),
    **dict.fromkeys(("threshold", "floor", "at_least"), "`min:` is the least that the whole interval must reach"),
    **dict.fromkeys(("ceiling", "at_most"), "`max:` is the most that the whole interval may reach"),
    "criterion": "did you mean 'metric'?",
}
_PLACES: Final = ((("project", "evaluators"), _CONFIG), (("input", "expected"), _ROW), (("metric", "min_cases"), _RULE))
"""By keys that are known in a place alone, what is written there for something else."""


def key_meant(wrong: str, known: Collection[str]) -> str:
    """Where it goes what stands under ``wrong`` in a place with the keys ``known``; "" where nobody is known to write
    that there."""
    return next((keys.get(wrong, "") for marks, keys in _PLACES if all(mark in known for mark in marks)), "")
