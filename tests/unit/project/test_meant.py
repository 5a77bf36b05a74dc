"""What nearly has the form that is asked for is named."""

from __future__ import annotations

import pytest

from oloproof.evaluators import EVALUATORS
from oloproof.evaluators.elsewhere import _HINTS, elsewhere_hint
from oloproof.model.redaction import RULE_NAME
from oloproof.project.meant import did_you_mean_form, form_hint
from oloproof.project.spec import CLUSTER, FIELD, FORMS, PATH, TARGET, URL

AN_EXAMPLE = "a module and what it holds stand on the two sides of a colon: app:run"


@pytest.mark.parametrize(
    ("text", "pattern", "meant"),
    [
        ("app.run", TARGET, "app:run"),
        ("pkg.app.run", TARGET, "pkg.app:run"),
        ("./app.py:run", TARGET, "app:run"),
        ("src/app.py::run", TARGET, "src.app:run"),
        ("app/run", TARGET, "app:run"),
        ("app:run()", TARGET, "app:run"),
        (" app: Agent.run ", TARGET, None),
        ("app", TARGET, None),
        ("app.py", TARGET, None),
        ("my-app:run", TARGET, None),
        (":run", TARGET, None),
        ("", TARGET, None),
        ("localhost:8000/ask", URL, "http://localhost:8000/ask"),
        ("agent.example", URL, "https://agent.example"),
        ("ftp://x", URL, None),
        ("kind", CLUSTER, "metadata.kind"),
        ("", CLUSTER, None),
        ("inputs.key", FIELD, "input.key"),
        ("customer.password", FIELD, "**.customer.password"),
        ("a..b", FIELD, None),
        ("My rule!", RULE_NAME, "my-rule"),
        ("7", RULE_NAME, None),
        ("a\0b", PATH, None),
    ],
)
def test_what_is_nearly_right_is_named(text: str, pattern: str, meant: str | None) -> None:
    assert did_you_mean_form(text, pattern) == ("" if meant is None else f"did you mean {meant!r}?")
    assert form_hint(text, pattern) == (did_you_mean_form(text, pattern) or (AN_EXAMPLE if pattern == TARGET else ""))
    assert pattern in FORMS


def test_what_other_tools_call_an_evaluator_leads_to_one_that_is_there() -> None:
    """No type is taken for another tool's word, and every word leads to a type or to a function of the user's."""
    assert not any(elsewhere_hint(name) for name in EVALUATORS)
    for hint in _HINTS.values():
        assert hint.split()[0].rstrip(",") in EVALUATORS or "type: module:function" in hint
    assert elsewhere_hint("Llm_Rubric") == _HINTS["llmrubric"]
    assert elsewhere_hint("zzz") == ""
