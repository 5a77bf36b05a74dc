"""What was probably meant by a text that has another form than the one that is asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final

from oloproof.errors import shown
from oloproof.model.redaction import RULE_NAME
from oloproof.project.spec import CLUSTER, FIELD, FIELD_ROOTS, TARGET, URL

_AT_HOME = ("localhost", "127.", "[::1]")
_SHORT = 60
_EXAMPLES: Final = {TARGET: "a module and what it holds stand on the two sides of a colon: app:run"}


def form_hint(text: str, pattern: str) -> str:
    """A hint for a text that does not fit one of the patterns of a configuration: what it nearly is, or an example;
    "" where there is neither."""
    return did_you_mean_form(text, pattern) or _EXAMPLES.get(pattern, "")


def reference_hint(text: str, key: str) -> str:
    """A hint for a text in the place of a reference: the same under a key that an evaluator can read; "" for a long
    one."""
    return f'write {{"{key}": {json.dumps(text, ensure_ascii=False)}}}' if len(text) <= _SHORT else ""


def did_you_mean_form(text: str, pattern: str) -> str:
    """The same without the example."""
    guess = _GUESSES.get(pattern)
    found = "" if guess is None else guess(text.strip())
    return f"did you mean {shown(found)}?" if re.search(pattern, found) else ""


def _target(text: str) -> str:
    """Of ``app.run``, ``app.py:run``, ``./app.py::run`` and ``app:run()``: ``app:run``."""
    module, colon, function = text.removeprefix("./").replace("/", ".").replace("::", ":").partition(":")
    if not colon and not module.endswith(".py"):
        module, _, function = module.rpartition(".")
    return f"{module.removesuffix('.py')}:{function.removesuffix('()')}"


def _url(text: str) -> str:
    if "://" in text:
        return ""
    return f"{'http' if text.startswith(_AT_HOME) else 'https'}://{text}"


def _cluster(text: str) -> str:
    return f"metadata.{text}"


def _field(text: str) -> str:
    """Wherever it is, unless the place is only misspelt."""
    from difflib import get_close_matches  # only where a path is wrong

    root, dot, rest = text.partition(".")
    near = get_close_matches(root, FIELD_ROOTS, n=1)
    return f"{near[0]}{dot}{rest}" if near else f"**.{text}"


def _rule_name(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


_GUESSES: Final[dict[str, Callable[[str], str]]] = {
    TARGET: _target,
    URL: _url,
    CLUSTER: _cluster,
    FIELD: _field,
    RULE_NAME: _rule_name,
}
