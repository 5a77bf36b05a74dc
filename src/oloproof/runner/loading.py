"""Loads the user's functions by name, and tells a wrong name from code that fails."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from oloproof.errors import OloproofError, did_you_mean, with_article
from oloproof.record.marks import system_mark
from oloproof.record.steps import printable
from oloproof.runner.protocol import Declared, Failed
from oloproof.runner.tracebacks import has_users_frames, message_of, users_traceback


class LoadError(Exception):
    """User code could not be loaded; ``failed`` says why. ``usage``: the name is wrong, rather than what it names."""

    def __init__(self, message: str, *, code: str, usage: bool, hint: str = "") -> None:
        super().__init__(message)
        self.failed = Failed(usage, code, printable(message), printable(hint))


class Loaded(Struct, frozen=True):
    """A function of the user's. ``is_async``: calling it makes a coroutine."""

    function: Callable[..., Any]
    is_async: bool


def load_function(target: str, directory: str) -> Loaded:
    """The function that ``module:function`` names. ``directory`` is only for the message; it is on the path already.

    Errors: LoadError.
    """
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
    if not callable(value):
        raise LoadError(f"{target} is {with_article(type(value).__name__)}, not a function", code="OLO403", usage=True)
    return Loaded(value, _is_async(value))


def declared_by(loaded: Loaded) -> Declared:
    """What the decorator of a system declares."""
    mark = system_mark(loaded.function)
    return Declared() if mark is None else Declared(name=mark.name, version=mark.version, records=mark.records)


def parameters_of(loaded: Loaded) -> list[inspect.Parameter] | None:
    """The parameters of a function, None when it does not tell."""
    try:
        return list(inspect.signature(loaded.function).parameters.values())
    except (TypeError, ValueError):
        return None


def require_one_argument(loaded: Loaded, target: str) -> None:
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
            code="OLO403",
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
                    hint=f"modules are looked for in {directory} first",
                ) from None
        told = users_traceback(exc)
        message = f"importing {name} failed: {message_of(exc)}"
        message = message if told is None else f"{message}\n{told}"
        code = exc.problems[0].code if isinstance(exc, OloproofError) else "OLO404"
        hint = ""
        if isinstance(exc, ModuleNotFoundError):
            hint = f"your code runs in the environment that oloproof is installed in, {sys.prefix}: install it there"
        raise LoadError(message.replace(f" [{code}]", ""), code=code, usage=False, hint=hint) from None


def _is_async(value: Any) -> bool:
    call = getattr(type(value), "__call__", None)  # noqa: B004 -- asked of an object whose class may define it async
    return inspect.iscoroutinefunction(value) or inspect.iscoroutinefunction(call)
