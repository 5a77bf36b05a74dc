"""The description as a page to read: no script, and nothing that is fetched from elsewhere."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from jinja2 import Environment

_TEMPLATE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ info.title }}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #1b1b1b; }
h2 { border-bottom: 1px solid #ccc; margin-top: 2.5rem; }
code, pre { font: 14px/1.45 ui-monospace, monospace; }
pre { background: #f5f5f5; overflow-x: auto; padding: .75rem; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid #ddd; padding: .3rem .6rem .3rem 0; text-align: left; vertical-align: top; }
@media (prefers-color-scheme: dark) { body { background: #161616; color: #eaeaea; } pre { background: #242424; } }
</style>
</head>
<body>
<h1>{{ info.title }} {{ info.version }}</h1>
<p>For machines: <a href="openapi.json">openapi.json</a>.</p>
{% for path, methods in paths.items() %}{% for method, operation in methods.items() %}
<h2><code>{{ method | upper }} {{ path }}</code></h2>
<p>{{ operation.summary }}</p>
{% if operation.parameters %}
<table>
<tr><th>parameter</th><th>in</th><th></th></tr>
{% for each in operation.parameters %}
<tr><td><code>{{ each.name }}</code></td><td>{{ each.in }}</td><td>{{ each.description }}</td></tr>
{% endfor %}
</table>
{% endif %}
<table>
<tr><th>status</th><th></th><th>body</th></tr>
{% for status, answer in operation.responses.items() %}
<tr><td>{{ status }}</td><td>{{ answer.description }}</td><td>{{ answer.content | join(", ") }}</td></tr>
{% endfor %}
</table>
{% endfor %}{% endfor %}
<h2>Types</h2>
{% for name, schema in components.schemas.items() %}
<h3 id="{{ name }}"><code>{{ name }}</code></h3>
<p>{{ schema.description }}</p>
<pre>{{ schema | pretty }}</pre>
{% endfor %}
</body>
</html>
"""


def page(description: dict[str, Any]) -> str:
    """The page of a description."""
    text: str = _template().render(description)
    return text


@cache
def _template() -> Any:
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["pretty"] = _pretty
    return environment.from_string(_TEMPLATE)


def _pretty(schema: dict[str, Any]) -> str:
    return json.dumps({key: value for key, value in schema.items() if key not in ("title", "description")}, indent=2)
