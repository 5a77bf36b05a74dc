"""What evaluators are called in other tools: whoever brings a suite from one writes its words first."""

from __future__ import annotations

import re
from typing import Final

_FUNCTION = "a function of yours decides that: type: module:function"
_MODEL = "no model judges here by itself; a function of yours may ask one: type: module:function"
_SCHEMA = "json_schema says which form the output must have"
_BUDGET = "agent_budget bounds time, tokens and cost"
_TOOLS = "agent_tool_sequence holds the calls against expected.tools"

_HINTS: Final = {
    **dict.fromkeys(("equals", "equal", "equality", "match", "exact"), "exact_match asks for an equal value"),
    "icontains": 'regex asks for a part of the text, without regard to case where the pattern begins with "(?i)"',
    **dict.fromkeys(("includes", "substring"), "contains asks for a part of the text"),
    **dict.fromkeys(("pattern", "matches"), "regex asks for a pattern"),
    **dict.fromkeys(("isjson", "containsjson", "jsoncorrectness"), _SCHEMA),
    **dict.fromkeys(("latency", "cost", "tokens", "tokencount"), _BUDGET),
    **dict.fromkeys(("toolcorrectness", "argumentcorrectness", "toolcalls", "tools", "trajectorymatch"), _TOOLS),
    **dict.fromkeys(("python", "javascript", "function", "custom", "assert"), _FUNCTION),
    **dict.fromkeys(
        (
            "llmrubric",
            "llmjudge",
            "llmasajudge",
            "geval",
            "modelgraded",
            "modelgradedqa",
            "modelgradedfact",
            "factuality",
            "similar",
            "answerrelevance",
            "answerrelevancy",
            "faithfulness",
            "taskcompletion",
        ),
        _MODEL,
    ),
}


def elsewhere_hint(name: str) -> str:
    """What asks here what an evaluator of that name asks in another tool, "" where no tool is known to have it."""
    return _HINTS.get(re.sub(r"[^a-z]", "", name.lower().removesuffix("metric")), "")
