"""A wrong name is the suite's fault, failing code is the code's."""

from __future__ import annotations

import sys

import pytest

from oloproof.runner.loading import LoadError, load_function, require_one_argument
from oloproof.runner.protocol import Failed


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes a module and gives it a name that no other test has imported."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)

    def write(name: str, source: str) -> str:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(source)
        return str(tmp_path)

    yield write
    for name in set(sys.modules) - before:
        del sys.modules[name]


def error(target: str, directory: str = "/here") -> Failed:
    with pytest.raises(LoadError) as caught:
        load_function(target, directory)
    return caught.value.failed


def test_a_function_is_found(module):
    module(
        "loading_a.py", "class Agent:\n    def run(self, case): return 1\nagent = Agent()\nasync def arun(case): ..."
    )
    assert load_function("loading_a:agent.run", "").function(0) == 1
    assert not load_function("loading_a:agent.run", "").is_async
    assert load_function("loading_a:arun", "").is_async


def test_an_object_with_an_async_call_is_async(module):
    module("loading_b.py", "class Agent:\n    async def __call__(self, case): ...\nagent = Agent()")
    assert load_function("loading_b:agent", "").is_async


def test_a_module_that_does_not_exist_is_a_wrong_name():
    wrong = error("loading_absent:run")
    assert (wrong.usage, wrong.code) == (True, "OLO401")
    assert wrong.message == "loading_absent:run: there is no module 'loading_absent'"
    assert wrong.hint == "modules are looked for in /here first"


def test_so_is_a_module_of_a_package_that_exists(module):
    module("loading_pkg/__init__.py", "")
    assert error("loading_pkg.absent:run").message == "loading_pkg.absent:run: there is no module 'loading_pkg.absent'"


def test_a_module_that_imports_a_missing_one_is_failing_code(module):
    module("loading_c.py", "import json\nimport loading_missing\n")
    wrong = error("loading_c:run")
    assert (wrong.usage, wrong.code) == (False, "OLO404")
    assert wrong.message.startswith(
        "importing loading_c failed: ModuleNotFoundError: No module named 'loading_missing'\n"
    )
    assert 'loading_c.py", line 2' in wrong.message
    assert "importlib" not in wrong.message
    assert wrong.hint.endswith(f"installed in, {sys.prefix}: install it there")
    assert "oloproof/runner" not in wrong.message


def test_a_module_that_imports_itself_wrongly_is_failing_code(module):
    module("loading_d.py", "import loading_d.part\n")
    assert not error("loading_d:run").usage


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import sys; sys.exit(0)", "the code called sys.exit(0)"),
        ("raise KeyboardInterrupt", "the code raised KeyboardInterrupt"),
        ("def run(:", "SyntaxError"),
    ],
)
def test_a_module_that_fails_is_told_with_its_frames(module, source, told):
    module("loading_e.py", source)
    wrong = error("loading_e:run")
    assert (wrong.usage, wrong.code) == (False, "OLO404")
    assert told in wrong.message
    assert "loading_e.py" in wrong.message
    sys.modules.pop("loading_e", None)


def test_an_attribute_that_does_not_exist_is_a_wrong_name(module):
    module("loading_f.py", "def run_agent(case): ...\nnumber = 3")
    assert (error("loading_f:run_agnt").code, error("loading_f:run_agnt").hint) == (
        "OLO402",
        "did you mean 'run_agent'?",
    )
    assert error("loading_f:number").message == "loading_f:number is an int, not a function"
    assert error("loading_f:number").code == "OLO403"
    assert error("loading_f:number.real.deep").usage
    assert error("loading_f").message == "'loading_f' is not module:function"
    assert error("loading_f:").usage


@pytest.mark.parametrize("source", ["def run(): ...", "def run(a, b): ...", "def run(*, case): ..."])
def test_a_system_takes_one_argument(module, source):
    module("loading_g.py", source)
    with pytest.raises(LoadError, match="cannot be called with one argument"):
        require_one_argument(load_function("loading_g:run", ""), "loading_g:run")
    sys.modules.pop("loading_g", None)


@pytest.mark.parametrize(
    "source", ["def run(case): ...", "def run(*a, **k): ...", "def run(a, b=1): ...", "run = dict"]
)
def test_what_can_be_called_with_one_argument_will_do(module, source):
    module("loading_h.py", source)
    require_one_argument(load_function("loading_h:run", ""), "loading_h:run")
    sys.modules.pop("loading_h", None)


def test_a_module_that_uses_the_sdk_wrongly_has_one_code_that_says_how(module):
    module("loading_i.py", "from oloproof import system\n@system(records=('x',))\ndef run(case): ...")
    wrong = error("loading_i:run")
    assert (wrong.usage, wrong.code) == (False, "OLO704")
    assert wrong.message.startswith(
        "importing loading_i failed: RecordError: @system names the record 'x'; the one that"
    )
    assert 'loading_i.py", line 2' in wrong.message
    assert "OLO" not in wrong.message
