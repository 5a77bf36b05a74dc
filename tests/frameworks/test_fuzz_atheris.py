"""Every importer under a fuzzer that is led by the branches it has seen: bytes are told or refused, never a traceback.

Each format has a process of its own, since the fuzzer ends the process that it runs in. The seed and the number of runs
are fixed; ``OLOPROOF_FUZZ_RUNS`` asks for more.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fakes.formats import SOUND, sound_archive, sound_file
from oloproof.importers.registry import FORMATS

pytest.importorskip("atheris", reason="needs the fuzzer atheris: pip install atheris")

RUNS = int(os.environ.get("OLOPROOF_FUZZ_RUNS", "1000"))
SEED = 1

FUZZ = """
import sys
import atheris

with atheris.instrument_imports(include=["oloproof.importers"], enable_loader_override=False):
    from oloproof.importers import reading, registry
    registry.importer(sys.argv[1])

from fakes.imports import Memory
from oloproof.errors import UsageError

name = sys.argv.pop(1)

def told_or_refused(data):
    for each in ("auto", name):
        try:
            for _ in reading.Import([Memory(data, "f.json")], each).recordings():
                pass
        except UsageError:
            pass

atheris.Setup(sys.argv, told_or_refused)
atheris.Fuzz()
"""


@pytest.mark.parametrize("name", FORMATS)
def test_any_bytes_are_told_or_refused(name: str, tmp_path: Path) -> None:
    seeds = tmp_path / "seeds"
    seeds.mkdir()
    if name in SOUND:
        (seeds / "sound").write_bytes(sound_file(name))
    if name == "inspect":
        (seeds / "archive").write_bytes(sound_archive())
    limits = [f"-runs={RUNS}", f"-seed={SEED}", "-max_len=4096", "-timeout=30", "-rss_limit_mb=2048"]
    done = subprocess.run(
        [sys.executable, "-c", FUZZ, name, *limits, str(seeds)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert f"Done {RUNS} runs" in done.stderr
