"""HTML reports taken apart: what is packed inside, and the page without the code that is ours."""

from __future__ import annotations

import base64
import json
import re
import zlib
from html.parser import HTMLParser
from typing import Any

PACKED = re.compile(r'<script type="text/plain" id="(?P<id>[\w-]+)">(?P<text>[A-Za-z0-9+/=]*)</script>')


def unpacked(page: str) -> dict[str, Any]:
    """By the id of its element, the JSON of each packed part."""
    return {part["id"]: _json(part["text"]) for part in PACKED.finditer(page)}


def legible(page: str) -> str:
    """The page with its parts unpacked, and without style, script and their hashes."""
    page = PACKED.sub(lambda part: f"<!-- {part['id']}: {json.dumps(_json(part['text']), indent=1)} -->", page)
    page = re.sub(r"(?s)(<(style|script)>).*?(</\2>)", r"\1…\3", page)
    return re.sub(r"sha256-[\w+/=]+", "sha256-…", page)


def _json(text: str) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(text)))


class Tags(HTMLParser):
    """Every start tag of a page with its attributes, and the text outside of style and script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if not self.tags or self.tags[-1][0] not in ("style", "script"):
            self.text += data
