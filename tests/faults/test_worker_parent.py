"""A worker never outlives the process that it works for."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

import pytest

PARENT = """
import sys
from oloproof import runner
from oloproof.model.case import Case
from oloproof.model.project import CallableSystem, Project, SystemSpec
kind = CallableSystem(target="app:run", directory=sys.argv[1], timeout_s=1000.0)
project = Project(name="p", config="c", directory=sys.argv[1], system=SystemSpec(kind=kind), evaluators=())
with runner.load(project) as loaded:
    list(loaded.run([Case(id="c")]))
"""

# The worker holds the write end of a pipe that only it and its parent have, so its end can be waited for.
IMPORTING = "import os, signal\nos.write({fd}, str(os.getpid()).encode())\nsignal.pause()"
RUNNING = (
    "import os, threading\ndef run(case):\n    os.write({fd}, str(os.getpid()).encode())\n    threading.Event().wait()"
)
SPINNING = "import os\ndef run(case):\n    os.write({fd}, str(os.getpid()).encode())\n    while True: pass"
SETTING_UP, TEARING_DOWN = (
    "import os, threading\nclass run:\n    def run(self, case): ...\n    def "
    + method
    + "(self):\n        os.write({fd}, str(os.getpid()).encode())\n        threading.Event().wait()"
    for method in ("setup", "teardown")
)


@pytest.mark.parametrize("source", [IMPORTING, RUNNING, SPINNING, SETTING_UP, TEARING_DOWN])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_the_worker_dies_with_its_parent(tmp_path, source, number):
    fifo = tmp_path / "alive"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    opened = f"__import__('os').open({str(fifo)!r}, 1)"
    (tmp_path / "app.py").write_text(f"fd = {opened}\n" + source.format(fd="fd"))
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)], stderr=subprocess.DEVNULL)
    try:
        assert int(_read(reader))
        parent.send_signal(number)
        parent.wait(timeout=60)
        assert _read(reader) == b""  # nobody holds the other end any more
    finally:
        parent.kill()
        parent.wait()
        os.close(reader)


def _read(fd: int) -> bytes:
    assert select.select([fd], [], [], 60)[0], "nothing happened"
    return os.read(fd, 100)
