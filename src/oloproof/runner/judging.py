"""The user's evaluators, called one after the other on one attempt; whatever they do becomes a judgment."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Any

from msgspec import UNSET
from msgspec.json import Decoder

from oloproof.errors import counted, did_you_mean, with_article
from oloproof.model.case import Attempt, Case
from oloproof.model.judgment import PASS, Judgment, missing
from oloproof.model.project import UserEvaluatorSpec
from oloproof.model.values import snapshot
from oloproof.record.context import Context, unsettled_by
from oloproof.record.marks import Verdict, evaluator_mark
from oloproof.record.steps import printable
from oloproof.runner.loading import NOT_CALLABLE, Loaded, LoadError, load_function, parameters_of
from oloproof.runner.protocol import JudgeCase, Judged, Reached, encode, encoded
from oloproof.runner.tracebacks import excerpt, raised_text

_GIVEN = ("context", "case", "output", "trajectory", "state", "expected")


class UserFunction:
    """One evaluator function under the criterion that it judges.

    It takes, by name, a ``context``, or any of ``case``, ``output``, ``trajectory``, ``state`` and ``expected``.

    Errors: LoadError when it cannot be loaded or called so.
    """

    def __init__(self, spec: UserEvaluatorSpec, directory: str, *, given: Loaded | None = None, spare: int = 0) -> None:
        """``given`` is the function itself, where a program has it; it is imported by its name otherwise. What it
        raises is told ``spare`` characters longer than it is kept."""
        criterion, target = spec.criterion, spec.target
        loaded = _loaded(spec, directory) if given is None else given
        self.criterion = criterion
        self._function = loaded.function
        self._bound = spec.bound
        self._spare = spare
        parameters = parameters_of(loaded)
        if parameters is not None:
            _refuse_unknown(spec, parameters)
        self._names = _names_given([each for each in parameters or () if each.name not in self._bound], target)
        if loaded.is_async:
            raise LoadError(f"{target} is async; an evaluator is a plain function", code=NOT_CALLABLE, usage=True)
        mark = evaluator_mark(loaded.function)
        if mark is not None and mark.criterion is not None and mark.criterion != criterion:
            raise LoadError(
                f"the criterion of {target} is {criterion!r} here and {mark.criterion!r} in the decorator",
                code="OLO407",
                usage=True,
                hint=f"write `criterion: {mark.criterion}`, or leave it out of the decorator",
            )

    def judge(self, case: Case, attempt: Attempt) -> Judgment:
        """The verdict, total. A record that cannot settle what the function asks about is missing, unasked."""
        for name in self._names:
            if (unsettled := unsettled_by(name, attempt)) is not None:
                return unsettled
        context = Context(case, attempt)
        given = {
            "context": context,
            "case": case,
            "output": attempt.output,
            "trajectory": attempt.trajectory,
            "state": attempt.state,
            "expected": case.expected,
        }
        try:
            judgment = _judgment(self._function(**{name: given[name] for name in self._names}, **self._bound))
        except BaseException as exc:
            judgment = missing("evaluator_error", detail=raised_text(exc, self._spare))
        return context.unsettled or judgment


def apart(
    functions: Sequence[UserFunction], case: Case, attempt: Attempt
) -> Iterator[tuple[UserFunction, Case, Attempt]]:
    """Each function with values of its own: what one does to them, no other sees."""
    line = encode((case, attempt))
    for function in functions:
        yield function, *_decode_pair(line)


_decode_pair = Decoder(tuple[Case, Attempt]).decode


class JudgingJob:
    """One attempt before the user's evaluators that had no turn yet. ``sink`` keeps each verdict, should the worker not
    live to send them."""

    def __init__(
        self,
        order: JudgeCase,
        functions: tuple[UserFunction, ...],
        *,
        timeout_s: float,
        sink: Callable[[Reached], None],
    ) -> None:
        self.n = order.n
        self._order = order
        self._functions = tuple([each for each in functions if each.criterion not in order.had])
        self._timeout_s = timeout_s
        self._sink = sink
        self._lock = Lock()
        self._given_up = False
        self._judgments: dict[str, Judgment] = {}

    def run(self) -> Judged:
        for function, case, attempt in apart(self._functions, self._order.case, self._order.attempt):
            judgment = function.judge(case, attempt)
            with self._lock:  # who was given up has no slot any more: it is another attempt's
                if self._given_up:
                    break
                self._judgments[function.criterion] = judgment
                self._sink(Reached(function.criterion, self._as_sent(judgment)))
        return Judged(self.n, self._judgments)

    def give_up(self) -> Judged:
        """What was judged in time, and that the function whose turn it is was not. Of those behind it nothing is said:
        they had none."""
        with self._lock:
            self._given_up = True
            judgments = dict(self._judgments)
        late = next((each.criterion for each in self._functions if each.criterion not in judgments), None)
        if late is not None:
            shared = f", which {counted(len(judgments), 'function')} before it shared" if judgments else ""
            judgments[late] = _broken(f"no verdict within {self._timeout_s:g} s{shared}")
        return Judged(self.n, judgments)

    def line(self, result: Judged) -> bytes:
        """The verdicts as they are sent, without what cannot be."""
        line = encoded(result)
        if isinstance(line, bytes):
            return line
        return encode(Judged(self.n, {name: self._as_sent(judgment) for name, judgment in result.judgments.items()}))

    def _as_sent(self, judgment: Judgment) -> Judgment:
        line = encoded(judgment, shared_by=len(self._functions))
        return judgment if isinstance(line, bytes) else _broken(f"the verdict cannot be sent: {line}")


def _loaded(spec: UserEvaluatorSpec, directory: str) -> Loaded:
    """The function; an error names the plug-in that it comes from."""
    try:
        return load_function(spec.target, directory)
    except LoadError as error:
        if not spec.origin:
            raise
        from oloproof.plugins import PLUGIN_FAILED, WHOSE_FAULT  # only where one failed

        what = f"{spec.origin}: {error.what}"
        raise LoadError(what, code=PLUGIN_FAILED, usage=False, hint=WHOSE_FAULT, raised=error.raised) from None


def _refuse_unknown(spec: UserEvaluatorSpec, parameters: list[inspect.Parameter]) -> None:
    """Errors: LoadError for an option that the function does not take, or that it is given by us."""
    known = [each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    if not any(each.kind is each.VAR_KEYWORD for each in parameters):
        for name in spec.bound.keys() - known:
            options = [each for each in known if each not in _GIVEN]
            hint = did_you_mean(name, options, otherwise="its options are") or "it takes none"
            raise LoadError(f"{spec.target} takes no option {name!r}", code="OLO682", usage=True, hint=hint)
    for name in spec.bound.keys() & set(_GIVEN):
        raise LoadError(f"{spec.target} is given {name!r} of each case, which is no option", code="OLO682", usage=True)


def _names_given(parameters: list[inspect.Parameter], target: str) -> tuple[str, ...]:
    """Which of what an evaluator is given the function takes, by their names."""
    names = []
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.name in _GIVEN and parameter.kind is not parameter.POSITIONAL_ONLY:
            names.append(parameter.name)
        elif parameter.default is parameter.empty:
            raise LoadError(
                f"{target} takes {parameter.name!r}, which an evaluator is not given",
                code=NOT_CALLABLE,
                usage=True,
                hint=f"an evaluator takes any of {', '.join(_GIVEN)}, by these names",
            )
    return tuple(names)


def _other_than_a_verdict(returned: Any) -> str:
    """What a function returned in the place of a verdict, with what to write where that is plain."""
    if returned is None:
        return "None: does every way through it end in a return?"
    told = with_article(type(returned).__name__)
    return f"{told}: compare it, as in `return score >= 0.5`" if isinstance(returned, (int, float)) else told


def _judgment(returned: Any) -> Judgment:
    if returned is True:
        return PASS
    if returned is False:
        return Judgment("fail")
    if not isinstance(returned, Verdict):
        if inspect.iscoroutine(returned):
            returned.close()
        return _broken(f"an evaluator returns a bool or a Verdict, not {_other_than_a_verdict(returned)}")
    wrong = _wrong_in(returned)
    if wrong is not None:
        return _broken(f"Verdict.{wrong}")
    reason = None if returned.reason is None else printable(returned.reason)
    return Judgment(
        "pass" if returned.passed else "fail",
        reason=None if returned.passed else reason,
        steps=tuple(returned.steps),
        expected=returned.expected if returned.expected is UNSET else snapshot(returned.expected),
        found=returned.found if returned.found is UNSET else snapshot(returned.found),
        detail=reason if returned.passed else None,
    )


def _wrong_in(verdict: Verdict) -> str | None:
    if type(verdict.passed) is not bool:
        return f"passed is {with_article(type(verdict.passed).__name__)}, not exactly a bool"
    if verdict.reason is not None and not isinstance(verdict.reason, str):
        return f"reason is {with_article(type(verdict.reason).__name__)}, not text"
    steps = verdict.steps
    if not isinstance(steps, tuple | list) or any(type(step) is not int for step in steps):
        return "steps are not step indexes"
    return None


def _broken(detail: str) -> Judgment:
    return missing("evaluator_error", detail=excerpt(detail))
