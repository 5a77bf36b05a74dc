"""A wrong name is the suite's fault, failing code is the code's."""

from __future__ import annotations

import sys

import pytest

from oloproof.runner.loading import Loaded, LoadError, declared_by, load_function, load_system, set_up, tear_down
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
    return caught.value.failed()


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


def test_of_a_misspelt_module_the_one_beside_it_is_named(tmp_path):
    (tmp_path / "loading_near.py").touch()
    with pytest.raises(LoadError) as found:
        load_function("loading_nera:run", str(tmp_path))
    assert found.value.failed().hint == "did you mean 'loading_near'?"


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
        load_system("loading_g:run", "")
    sys.modules.pop("loading_g", None)


@pytest.mark.parametrize("source", ["def run(case): ...", "def run(*a, **k): ...", "def run(a, b=1): ...", "run = abs"])
def test_what_can_be_called_with_one_argument_will_do(module, source):
    module("loading_h.py", source)
    load_system("loading_h:run", "")
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


CLASSES = """
from oloproof import system

class Run:
    def run(self, case): return ("run", case)

class Call(Run):
    async def __call__(self, case): return ("call", case)

@system(name="marked", version="3")
class Marked(Run): ...

class MarkedMethod:
    @system(name="method")
    def __call__(self, case): ...

class Needy(Run):
    def __init__(self, key): ...

class Nothing: ...

class TwoArguments:
    def run(self, case, other): ...

class Meta(type):
    def __call__(cls, *args): return super().__call__(*args)

class NotCalled(metaclass=Meta):
    run = None

class Refuses(Run):
    def __init__(self): raise OSError("no service")

class Lives(Run):
    said = []
    def setup(self): self.said.append("up")
    async def teardown(self): self.said.append("down")

class Fails(Run):
    async def setup(self): raise ValueError("no key")
    def teardown(self): raise SystemExit(3)
"""


@pytest.fixture
def loaded(module):
    module("loading_classes.py", CLASSES)
    return lambda name: load_system(f"loading_classes:{name}", "")


def completed(coroutine):
    with pytest.raises(StopIteration):
        coroutine.send(None)


def test_of_a_class_an_object_is_made_and_called(loaded):
    assert loaded("Run").function(1) == ("run", 1)
    assert (loaded("Run").is_async, loaded("Call").is_async) == (False, True)
    assert isinstance(loaded("Run"), Loaded)
    assert (loaded("Run").setup, loaded("Run").teardown) == (None, None)


@pytest.mark.parametrize(("name", "said"), [("Marked", "marked"), ("MarkedMethod", "method"), ("Run", None)])
def test_a_class_says_who_it_is(loaded, name, said):
    assert declared_by(loaded(name)).name == said


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Needy", "loading_classes:Needy(key) cannot be made without arguments"),
        ("Nothing", "loading_classes:Nothing has neither run nor __call__"),
        ("NotCalled", "loading_classes:NotCalled has neither run nor __call__"),
        ("TwoArguments", "loading_classes:TwoArguments(case, other) cannot be called with one argument"),
    ],
)
def test_a_class_that_cannot_be_a_system_is_a_wrong_name(loaded, name, message):
    with pytest.raises(LoadError) as caught:
        loaded(name)
    failed = caught.value.failed()
    assert (failed.usage, failed.code, failed.message) == (True, "OLO403", message)


def test_a_class_that_cannot_be_made_is_code_that_fails(loaded):
    with pytest.raises(LoadError) as caught:
        loaded("Refuses")
    failed = caught.value.failed()
    assert (failed.usage, failed.code) == (False, "OLO420")
    assert failed.message.startswith("loading_classes:Refuses() failed: OSError: no service\n")
    assert "in __init__" in failed.message


def test_what_is_done_before_and_after_is_done(loaded):
    system = loaded("Lives")
    set_up(system, "t", completed)
    assert system.function.__self__.said == ["up"]
    assert tear_down(system, "t", completed) == ""
    assert system.function.__self__.said == ["up", "down"]
    assert tear_down(loaded("Run"), "t", completed) == ""


def test_what_fails_before_and_after_is_told(loaded):
    with pytest.raises(LoadError) as caught:
        set_up(loaded("Fails"), "app:Fails", lambda coroutine: coroutine.send(None))
    assert caught.value.failed().message.startswith("app:Fails.setup failed: ValueError: no key\n")
    told = tear_down(loaded("Fails"), "app:Fails", completed)
    assert told == "app:Fails.teardown failed: the code called sys.exit(3)"
