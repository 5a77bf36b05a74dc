"""What all pages share: how templates are read, style and script, and the policy that lets nothing else run."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

_FROM_DISK = "form-action 'none'"
_FROM_SERVER = "connect-src 'self'; form-action 'self'"
_POLICY = (
    "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; img-src data:; base-uri 'none'; "
    "{reach}; require-trusted-types-for 'script'; trusted-types 'none'"
)


@cache
def environment() -> Environment:
    """The templates; whatever is put into one is escaped."""
    found = Environment(
        loader=PackageLoader("oloproof.reports.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.filters["percent"] = _percent
    return found


def framed(*, source: str | None) -> dict[str, Any]:
    """What every template needs: policy, style and script. ``source`` is the address of the run on the server that
    sends the page, "" for a page without a run, None for a file that asks nobody."""
    style, script, policy = _own_code(source is not None)
    return {"policy": policy, "style": style, "script": script, "served": source is not None, "source": source or ""}


def policy(*, served: bool) -> str:
    """The Content Security Policy of a page as it stands in it."""
    return _own_code(served)[2]


@cache
def _own_code(served: bool) -> tuple[Markup, Markup, str]:
    style = _text("page.css")
    script = "".join(map(_text, ("case.js", "live.js", "page.js") if served else ("case.js", "page.js")))
    reach = _FROM_SERVER if served else _FROM_DISK
    return Markup(style), Markup(script), _POLICY.format(script=_hash(script), style=_hash(style), reach=reach)


def _text(name: str) -> str:
    loader = environment().loader
    assert loader is not None
    return loader.get_source(environment(), name)[0]


def _hash(text: str) -> str:
    """The source of an inline element as a Content Security Policy names it (CSP Level 3, §2.3.1)."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _percent(place: float) -> str:
    """A place on an axis as an SVG length; what lies off the axis is at its end."""
    return f"{min(1.0, max(0.0, place)) * 100:.2f}%"
