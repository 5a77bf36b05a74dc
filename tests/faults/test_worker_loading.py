"""What the user's module does to the worker while it is imported."""

from __future__ import annotations

import pytest

from fakes.workers import project, run
from oloproof.errors import BrokenError, UsageError
from oloproof.runner import seat


@pytest.mark.parametrize(
    ("source", "code", "message"),
    [
        ("raise ValueError('no key')", "OLO404", "importing app failed: ValueError: no key\n"),
        ("sys.exit(0)", "OLO404", "importing app failed: the code called sys.exit(0)\n"),
        ("raise KeyboardInterrupt", "OLO404", "importing app failed: the code raised KeyboardInterrupt\n"),
        (
            "import absent_module",
            "OLO404",
            "importing app failed: ModuleNotFoundError: No module named 'absent_module'\n",
        ),
        ("os._exit(0)", "OLO405", "the worker process ended with exit status 0 while it loaded app:run"),
        ("os.kill(os.getpid(), 9)", "OLO405", "the worker process was killed by SIGKILL while it loaded app:run"),
        ("os.closerange(3, 4096); threading.Event().wait(0)", "OLO405", "the worker process ended with exit status"),
    ],
)
def test_code_that_fails_is_a_broken_run(tmp_path, source, code, message):
    with pytest.raises(BrokenError) as broken:
        run(project(tmp_path, source + "\ndef run(case): return case"), [1])
    assert broken.value.problems[0].code == code
    assert broken.value.problems[0].message.startswith(message)
    assert broken.value.exit_code == 5


def test_the_sdk_used_wrongly_has_one_code(tmp_path):
    with pytest.raises(BrokenError) as broken:
        run(project(tmp_path, "@system(records=('agent_trajectory/v2',))\ndef run(case): return case"), [1])
    text = str(broken.value)
    assert text.startswith("importing app failed: RecordError: @system names the record 'agent_trajectory/v2'; the one")
    assert text.count("[OLO") == 1
    assert text.endswith("[OLO704]")


def test_the_traceback_is_cut_to_the_users_frames(tmp_path):
    with pytest.raises(BrokenError) as broken:
        run(project(tmp_path, "def load():\n    raise ValueError('no key')\nload()"), [1])
    message = broken.value.problems[0].message
    assert "in load" in message
    assert message.count("File ") == 2
    assert message.count("app.py") == 2


def test_a_module_that_never_ends_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(seat, "LOAD_TIMEOUT_S", 0.5)
    with pytest.raises(BrokenError) as broken:
        run(project(tmp_path, "os.write(1, b'connecting')\nthreading.Event().wait()"), [1])
    assert broken.value.problems[0].code == "OLO406"
    assert broken.value.problems[0].message == "loading app:run took more than 0.5 s"


def test_what_it_printed_last_is_told(tmp_path):
    with pytest.raises(BrokenError) as broken:
        run(project(tmp_path, "os.write(2, b'the licence has expired')\nos._exit(1)"), [1])
    assert broken.value.problems[0].hint == "the last that it printed:\nthe licence has expired"


@pytest.mark.parametrize(
    ("target", "code"),
    [("absent:run", "OLO401"), ("app:absent", "OLO402"), ("app:number", "OLO403"), ("app:none", "OLO403")],
)
def test_a_wrong_name_is_a_usage_error(tmp_path, target, code):
    with pytest.raises(UsageError) as refused:
        run(project(tmp_path, "number = 3\ndef none(): return 1", target=target), [1])
    (problem,) = refused.value.problems
    assert (problem.file, problem.code) == ("oloproof.yaml", code)
    assert refused.value.exit_code == 2


def test_a_directory_that_is_not_there_breaks_the_run(tmp_path):
    from msgspec.structs import replace

    the_project = project(tmp_path, "")
    kind = replace(the_project.system.kind, directory=str(tmp_path / "absent"))
    with pytest.raises(BrokenError, match="no worker process could be started"):
        run(replace(the_project, system=replace(the_project.system, kind=kind)), [1])
