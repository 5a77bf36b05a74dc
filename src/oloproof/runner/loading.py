"""Loads the user's functions by name, and tells a wrong name from code that fails."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from oloproof.errors import OloproofError, did_you_mean, with_article
from oloproof.record.marks import system_mark
from oloproof.record.steps import printable
from oloproof.runner.protocol import Declared, Failed
from oloproof.runner.tracebacks import has_users_frames, message_of, raised_text

NOT_CALLABLE = "OLO403"


class LoadError(Exception):
    """User code could not be loaded. ``usage``: the name is wrong, rather than what it names. ``raised`` is what user
    code raised, None where it did not come to that."""

    def __init__(
        self, what: str, *, code: str, usage: bool, hint: str = "", raised: BaseException | None = None
    ) -> None:
        super().__init__(what)
        self.what = what
        self.raised = raised
        self._failed = Failed(usage, code, printable(what), printable(hint))

    def failed(self, spare: int = 0) -> Failed:
        """Why it could not be loaded; what user code says of that is cut so many characters later."""
        if self.raised is None:
            return self._failed
        said = raised_text(self.raised, spare)
        if isinstance(self.raised, OloproofError):  # one code is enough
            said = said.replace(f" [{self.raised.problems[0].code}]", "")
        return replace(self._failed, message=printable(f"{self.what}: {said}"))


class Loaded(Struct, frozen=True):
    """A function of the user's. ``is_async``: calling it makes a coroutine. ``setup`` and ``teardown`` are what an
    object does before the first call and after the last, None where it does nothing; either may make a coroutine."""

    function: Callable[..., Any]
    is_async: bool
    setup: Callable[[], Any] | None = None
    teardown: Callable[[], Any] | None = None


def load_system(target: str, directory: str) -> Loaded:
    """The system that ``module:function`` names: a function, or an object of the class that is named.

    Errors: LoadError, also where it cannot be called with a case's input.
    """
    return system_of(_named(target, directory), target)


def system_of(value: Any, target: str) -> Loaded:
    """The same of what is named, once it is there."""
    loaded = _of_class(value, target) if inspect.isclass(value) else function_of(value, target)
    _require_one_argument(loaded, target)
    return loaded


def load_function(target: str, directory: str) -> Loaded:
    """The function that ``module:function`` names. ``directory`` is only for the message; it is on the path already.

    Errors: LoadError.
    """
    return function_of(_named(target, directory), target)


def set_up(loaded: Loaded, target: str, complete: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
    """What an object does before its first case; ``complete`` runs a coroutine to its end.

    Errors: LoadError when that raises.
    """
    if loaded.setup is not None:
        try:
            _perform(loaded.setup, complete)
        except BaseException as exc:
            raise _raised(f"{target}.setup", exc) from None


def tear_down(loaded: Loaded, target: str, complete: Callable[[Coroutine[Any, Any, Any]], Any], spare: int = 0) -> str:
    """What an object does after its last case: "", or what went wrong with that, cut so many characters later."""
    if loaded.teardown is None:
        return ""
    try:
        _perform(loaded.teardown, complete)
    except BaseException as exc:
        return printable(f"{target}.teardown failed: {message_of(exc, spare)}")
    return ""


def _perform(step: Callable[[], Any], complete: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
    result = step()
    if inspect.iscoroutine(result):
        complete(result)


def function_of(value: Any, target: str) -> Loaded:
    """What is named, once it is there. Errors: LoadError where it cannot be called."""
    if not callable(value):
        raise LoadError(
            f"{target} is {with_article(type(value).__name__)}, not a function", code=NOT_CALLABLE, usage=True
        )
    return Loaded(value, _is_async(value))


def _of_class(kind: type[Any], target: str) -> Loaded:
    """An object of a class, which is called itself or by its method ``run``."""
    is_called = any("__call__" in vars(base) for base in kind.__mro__)  # its objects are, as any class is itself
    if not is_called and not callable(getattr(kind, "run", None)):
        hint = "the method that takes the case's input is `run` or `__call__`"
        raise LoadError(f"{target} has neither run nor __call__", code=NOT_CALLABLE, usage=True, hint=hint)
    try:
        signature = inspect.signature(kind)
        signature.bind()
    except TypeError:
        hint = "what it needs is read from the environment, or made in its method `setup`"
        message = f"{target}{signature} cannot be made without arguments"
        raise LoadError(message, code=NOT_CALLABLE, usage=True, hint=hint) from None
    except ValueError:  # it does not tell
        pass
    try:
        made = kind()
    except BaseException as exc:
        raise _raised(f"{target}()", exc) from None
    function = made if is_called else made.run
    return Loaded(function, _is_async(function), _method(made, "setup"), _method(made, "teardown"))


def _method(made: object, name: str) -> Callable[[], Any] | None:
    method = getattr(made, name, None)
    return method if callable(method) else None


def _raised(what: str, exc: BaseException) -> LoadError:
    return LoadError(f"{what} failed", code="OLO420", usage=False, raised=exc)


def _named(target: str, directory: str) -> Any:
    module_name, _, path = target.partition(":")
    if not module_name or not path:
        raise LoadError(f"{target!r} is not module:function", code="OLO402", usage=True)
    value: Any = _module(module_name, target, directory)
    for name in path.split("."):
        try:
            value = getattr(value, name)
        except AttributeError:
            names = vars(value) if hasattr(value, "__dict__") else {}
            hint = did_you_mean(name, (known for known in names if not known.startswith("_")))
            raise LoadError(f"{module_name} has no {path!r}", code="OLO402", usage=True, hint=hint) from None
    return value


def declared_by(loaded: Loaded) -> Declared:
    """What the decorator of a system declares; of a class it stands at the class, or at the method that is called."""
    function = loaded.function
    mark = system_mark(function) or system_mark(getattr(function, "__self__", None))
    mark = mark or system_mark(getattr(type(function), "__call__", None))  # noqa: B004 -- where the mark may be
    return Declared() if mark is None else Declared(name=mark.name, version=mark.version, records=mark.records)


def parameters_of(loaded: Loaded) -> list[inspect.Parameter] | None:
    """The parameters of a function, None when it does not tell."""
    try:
        return list(inspect.signature(loaded.function).parameters.values())
    except (TypeError, ValueError):
        return None


def _require_one_argument(loaded: Loaded, target: str) -> None:
    """A system is called with the case's input. Errors: LoadError when it cannot be."""
    try:
        signature = inspect.signature(loaded.function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(None)
    except TypeError:
        raise LoadError(
            f"{target}{signature} cannot be called with one argument",
            code=NOT_CALLABLE,
            usage=True,
            hint="the system is called with the case's input: def run(case): …",
        ) from None


def _module(name: str, target: str, directory: str) -> Any:
    try:
        return importlib.import_module(name)
    except BaseException as exc:
        if isinstance(exc, ModuleNotFoundError) and exc.name is not None and not has_users_frames(exc.__traceback__):
            missing = exc.name
            if name == missing or name.startswith(f"{missing}."):
                raise LoadError(
                    f"{target}: there is no module {missing!r}",
                    code="OLO401",
                    usage=True,
                    hint=did_you_mean(missing, _modules(directory)) or f"modules are looked for in {directory} first",
                ) from None
        code = exc.problems[0].code if isinstance(exc, OloproofError) else "OLO404"
        hint = ""
        if isinstance(exc, ModuleNotFoundError):
            hint = f"your code runs in the environment that oloproof is installed in, {sys.prefix}: install it there"
        raise LoadError(f"importing {name} failed", code=code, usage=False, hint=hint, raised=exc) from None


def _modules(directory: str) -> list[str]:
    """What may be imported from there by a name of one part."""
    with suppress(OSError):
        names = {name.removesuffix(".py") for name in os.listdir(directory)}
        return sorted(filter(str.isidentifier, names))
    return []


def _is_async(value: Any) -> bool:
    call = getattr(type(value), "__call__", None)  # noqa: B004 -- asked of an object whose class may define it async
    return inspect.iscoroutinefunction(value) or inspect.iscoroutinefunction(call)
