"""Which code a system is made of, so that what was run by other code is not taken for its doing.

Of a callable these are the source files of the user's own modules: those that are imported once it is loaded, and what
their import statements name, also inside of functions (``import_module("name")`` is one). Of a command they are the
files that it names. Packages that are installed are not looked at, nor is what the code reads: ``dependencies`` looks
at what the configuration names of that.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from importlib.util import find_spec
from types import ModuleType

_INSTALLED = frozenset({"site-packages", "dist-packages", "lib-dynload"})
_NOT_OURS = (os.path.dirname(os.__file__) + os.sep, os.path.dirname(os.path.dirname(__file__)) + os.sep)
_IMPORT = re.compile(
    rb"(?:^|[:;])[ \t\f]*"
    rb"(?:from(?P<of>[ \t.][\w. \t\x80-\xff]*?)\bimport\b[ \t]*"
    rb"(?:\((?P<many>(?:[^)#]|#[^\n]*\n)*)\)|(?P<names>[^#;\n]+))"
    rb"|import[ \t]+(?P<modules>[^#;\n]+))"
    rb"|\b(?:import_module|__import__)\([ \t\n]*[\"'](?P<quoted>[\w.\x80-\xff]+)[\"']",
    re.MULTILINE,
)
"""What may be one, also behind a colon or within a string: of a file too many only the digest is made. Python's
own parser takes more than ten times as long, which each start of a worker would pay."""

_LINE_END = re.compile(rb"\r\n?")
_COMMENT = re.compile(rb"#[^\n]*")
_MOST_BYTES = 64 * 1024 * 1024


def imported_code() -> str:
    """Identifies the user's modules of this process, "" where there are none."""
    files = {name: file for name, module in list(sys.modules.items()) if (file := _own_file(module))}
    texts: dict[str, bytes] = {}
    found = list(files)
    for name in found:  # which grows
        text = _read(files[name])
        if text is None:
            continue
        texts[name] = text
        is_package = os.path.basename(files[name]).startswith("__init__.")
        for other in _named(text, name if is_package else name.rpartition(".")[0]):
            file = None if other in files else _found(other, files)
            if file is not None:
                files[other] = file
                found.append(other)
    return _digest(texts.items())


def named_code(command: Sequence[str], directory: str) -> str:
    """Identifies the files beneath ``directory`` that a command names, "" where it names none. A link counts as what it
    leads to, wherever that lies."""
    places = {word: os.path.join(directory, word) for word in command if word}
    named = {word: place for word, place in places.items() if _is_beneath(place, directory) and os.path.isfile(place)}
    texts = {word: _read(place) for word, place in named.items()}
    return _digest((word, text) for word, text in texts.items() if text is not None)


def _is_beneath(place: str, directory: str) -> bool:
    """As it is written, or as it is once links are followed."""
    ways = (os.path.abspath, os.path.realpath)
    return any(way(place).startswith(os.path.join(way(directory), "")) for way in ways)


def _own_file(module: ModuleType) -> str | None:
    """The file that a module of the user's own was read from; None of any other."""
    try:
        file = object.__getattribute__(module, "__dict__").get("__file__")
    except Exception:  # what stands there need not be a module
        return None
    return file if isinstance(file, str) and _is_own(file) else None


def _is_own(file: str) -> bool:
    return not file.startswith(_NOT_OURS) and _INSTALLED.isdisjoint(file.split(os.sep))


def _named(text: bytes, package: str) -> Iterator[str]:
    """The modules that a module's import statements name or may name, those around them first."""
    for found in _IMPORT.finditer(_LINE_END.sub(b"\n", text).replace(b"\\\n", b" ")):
        if found["of"]:
            base = _absolute(b"".join(found["of"].split()).decode(errors="replace"), package)
            if base:
                yield from _with_parents(base)
                yield from (f"{base}.{name}" for name in _words(found["many"] or found["names"]))
        elif found["quoted"]:
            yield from _with_parents(_absolute(found["quoted"].decode(errors="replace"), package))
        else:
            for name in _words(found["modules"]):
                yield from _with_parents(name)


def _words(listed: bytes) -> list[str]:
    """The names in ``a.b as c, d``."""
    parts = (part.split() for part in _COMMENT.sub(b"", listed).decode(errors="replace").split(","))
    return [words[0] for words in parts if words and words[0] != "*"]


def _absolute(name: str, package: str) -> str:
    dots = len(name) - len(name.lstrip("."))
    if not dots:
        return name
    around = package.split(".")
    return ".".join(filter(None, [*around[: len(around) - dots + 1], name[dots:]]))


def _with_parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (".".join(parts[:end]) for end in range(1, len(parts) + 1))


def _found(name: str, files: dict[str, str]) -> str | None:
    """The file of a module of the user's own, or the directory of a package without one, as it would be imported; None
    where there is none."""
    parent, _, last = name.rpartition(".")
    if parent:
        around = files.get(parent)
        return None if around is None else _beside(os.path.join(os.path.dirname(around), last))
    if name in sys.stdlib_module_names:
        return None
    with suppress(Exception):  # finders are other people's code
        spec = find_spec(name)
        if spec is not None:
            inside = [os.path.join(place, "") for place in spec.submodule_search_locations or ()]
            place = spec.origin if spec.has_location else next(iter(inside), None)
            return place if place is not None and _is_own(place) else None
    return None


def _beside(path: str) -> str | None:
    places = (os.path.join(path, "__init__.py"), f"{path}.py")
    is_package = os.path.isdir(path)
    return next(filter(os.path.isfile, places), os.path.join(path, "") if is_package else None)


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return None


def _digest(texts: Iterable[tuple[str, bytes]]) -> str:
    each = sorted((name, sha256(text).hexdigest()) for name, text in texts)
    return sha256(repr(each).encode()).hexdigest() if each else ""
