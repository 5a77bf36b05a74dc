"""What a system is made of: the user's own modules, those included that it imports only as it runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from oloproof.runner.code import named_code

FILES = {
    "app.py": """
import json, package.deep as d
from package import (first,
    second as s,
)
import plain
def k():
    import installed, not_there
""",
    "package/__init__.py": "",
    "package/deep.py": "def f():\n    from . import beside\n    from ..nowhere import x\n    from .inner.core import y",
    "package/first.py": "",
    "package/second.py": "",
    "package/beside.py": "def g():\n    import names.space.leaf; import os",
    "package/inner/__init__.py": "",
    "package/inner/core.py": "if 0: import \xe4",
    "names/space/leaf.py": "",
    "plain.py": "",
    "stranger.py": "",
    "package/stranger.py": "",
    "site-packages/installed.py": "",
}


LATE = {
    "if 1: import late{n}": "",
    "x = '#'; import late{n}": "",
    "import os, \\\n  late{n}": "",
    "import os, \\\r\n  late{n}\r\n": "",
    "from late{n} import(x)": "",
    "from pack import (  # one (of\n  other,  # many)\n  late{n},\n)": "pack/",
    "from pack import os,late{n}": "pack/",
    "try: from pack import late{n}\n    except ImportError: pass": "pack/",
    "from.import late{n}": "pack/",
    "from . import late{n}": "pack/",
    "from .import late{n}": "pack/",
    "from.größe import late{n}": "pack/größe/",
    "return importlib.import_module('late{n}')": "",
    "import importlib; importlib.import_module( '.late{n}', __package__)": "pack/",
    '__import__("pack.late{n}")': "pack/",
}
"""Statements in a function, and where the file lies that they name."""


def write(directory: Path) -> None:
    for name, text in FILES.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)


def digests(directory: Path, *changed: str) -> list[str]:
    """In a process that imports ``app``: as the files are, and after each of these has changed."""
    program = f"""
import sys
sys.path[:0] = [{str(directory)!r}, {str(directory / "site-packages")!r}]
import app
from oloproof.runner.code import imported_code
print(imported_code())
for name in {list(changed)!r}:
    with open({str(directory)!r} + "/" + name, "a") as file:
        print("#", file=file)
    print(imported_code())
"""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()


def test_every_file_that_is_or_may_be_imported_counts_and_no_other(tmp_path: Path) -> None:
    write(tmp_path)
    strangers = [name for name in FILES if "stranger" in name or "site-packages" in name]
    own = [name for name in FILES if name not in strangers]
    found = digests(tmp_path, *strangers, *own)
    assert len(found) == 1 + len(FILES)
    assert len({*found[: 1 + len(strangers)]}) == 1
    assert len({*found}) == 1 + len(own)


def test_an_import_may_be_written_in_any_way(tmp_path: Path) -> None:
    for name in ("other.py", "größe/__init__.py"):
        (tmp_path / "pack" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "pack" / name).write_text("")
    files = [f"{place}late{n}.py" for n, place in enumerate(LATE.values())]
    for name in files:
        (tmp_path / name).write_text("")
    text = "".join(f"def f{n}():\n    {statement}\n".replace("{n}", str(n)) for n, statement in enumerate(LATE))
    (tmp_path / "pack" / "__init__.py").write_text(text, encoding="utf-8", newline="")
    (tmp_path / "app.py").write_text("import pack")
    assert len({*digests(tmp_path, *files)}) == 1 + len(LATE)


def test_where_the_files_lie_makes_no_difference(tmp_path: Path) -> None:
    for name in ("here", "there"):
        write(tmp_path / name)
    assert digests(tmp_path / "here") == digests(tmp_path / "there") != [""]


@pytest.mark.parametrize(
    ("command", "is_known"),
    [(["node", "agent.js"], True), (["./agent.js", "-v"], True), (["node", "-e", "1"], False), (["/bin/sh"], False)],
)
def test_the_code_of_a_command_are_the_files_that_it_names(
    tmp_path: Path, command: list[str], *, is_known: bool
) -> None:
    (tmp_path / "agent.js").write_text("1")
    before = named_code(command, str(tmp_path))
    (tmp_path / "agent.js").write_text("2")
    after = named_code(command, str(tmp_path))
    assert (before != "", before != after) == (is_known, is_known)


def test_a_link_counts_as_the_file_that_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "agent.sh").write_text("1")
    (tmp_path / "project" / "agent.sh").symlink_to("../agent.sh")
    before = named_code(["./agent.sh"], str(tmp_path / "project"))
    (tmp_path / "agent.sh").write_text("2")
    assert named_code(["./agent.sh"], str(tmp_path / "project")) not in ("", before)


def test_a_project_that_is_reached_by_a_link_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "agent.js").write_text("1")
    (tmp_path / "linked").symlink_to("project")
    for word in ("agent.js", str(tmp_path / "project" / "agent.js")):
        code = named_code(["node", word], str(tmp_path / "project"))
        assert named_code(["node", word], str(tmp_path / "linked")) == code != ""
