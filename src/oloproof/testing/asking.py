"""The keywords of ``assert_trajectory`` as evaluators, and what is told where one of them does not pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from msgspec import ValidationError, convert
from msgspec.structs import replace

from oloproof.errors import Problem, UsageError, did_you_mean, either, with_article
from oloproof.evaluators import EVALUATORS, ConfigError, EvaluatorBase
from oloproof.evaluators.alignment import alignment
from oloproof.evaluators.elsewhere import elsewhere_hint
from oloproof.model.case import Attempt, Case
from oloproof.model.evidence import Evidence
from oloproof.model.judgment import Judgment
from oloproof.model.recording import Recording, to_attempt, to_case
from oloproof.model.run import CaseRecord
from oloproof.model.trajectory import Trajectory, contradiction
from oloproof.model.values import snapshot
from oloproof.reports.case import CaseView, case_view
from oloproof.reports.lists import judgment_line
from oloproof.testing.recorded import RecordedCase

WIDTH = 100
"""Columns of a trajectory in an assertion's message."""


class Question(NamedTuple):
    """One evaluator, and what it compares with."""

    evaluator: EvaluatorBase
    expected: dict[str, Any]


def complaint(trace: object, asked: Mapping[str, Any]) -> str:
    """What an AssertionError says, "" where everything that is asked passes.

    Errors: TypeError where ``trace`` is nothing that has a trajectory; UsageError for a value that is refused.
    """
    case, attempt = _attempted(trace)
    judged: list[tuple[str, Judgment]] = []
    views: list[CaseRecord] = []
    for evaluator, expected in _questions(asked, case, attempt.trajectory):
        asked_case = replace(case, expected=expected)
        for problem in evaluator.case_problems(asked_case):
            raise _refused(evaluator.criterion, str(problem), problem.hint)
        judgment = evaluator.judge(Evidence(asked_case, attempt))
        judged.append((evaluator.criterion, judgment))
        if judgment.verdict != "pass":
            views.append(_record(asked_case, attempt, (evaluator.criterion, judgment)))
    if not judged:
        raise TypeError("assert_trajectory(): evaluators is empty, which asks nothing")
    if not views:
        return ""
    told = "\n".join(judgment_line(*record.judgments[0]) for record in views)
    return f"{told}\n\n{_drawn(case, attempt, views)}"


def _attempted(trace: object) -> tuple[Case, Attempt]:
    """The case that the trace is of, as far as it is known, and the attempt."""
    match trace:
        case None | Trajectory():
            case, attempt = Case(id="case"), Attempt(case_id="case", trajectory=trace)
        case RecordedCase():
            case = Case(id="case", input=trace.input)
            attempt = Attempt(case_id="case", trajectory=trace.trajectory, state=trace.state)
        case Recording():
            case, attempt = to_case(trace), to_attempt(trace)
        case CaseRecord():
            case, attempt = trace.case, trace.attempt
        case Attempt():
            case, attempt = Case(id=trace.case_id), trace
        case _:
            what = with_article(type(trace).__name__)
            hint = "; hand messages to record_openai() or another recorder in a recorded_case()"
            next_step = hint if isinstance(trace, list) else ""
            raise TypeError(f"assert_trajectory() is given {what}, which is no trajectory and has none{next_step}")
    wrong = None if attempt.trajectory is None else contradiction(attempt.trajectory)
    if wrong is not None:
        raise _refused("the trajectory", wrong)
    return case, attempt


def _questions(asked: Mapping[str, Any], case: Case, trajectory: Trajectory | None) -> Iterator[Question]:
    """Every evaluator that is asked for, in the order of the keywords; each under the name of its keyword."""
    options = {name: asked[name] for name in ("mode", "arguments_mode") if name in asked}
    if options and not asked.keys() & {"tools", "any_of"}:
        raise TypeError(f"assert_trajectory(): {' and '.join(options)} say how tools=[…] are compared")
    if "expected" in asked and "evaluators" not in asked:
        raise TypeError("assert_trajectory(): expected is what evaluators=[…] read")
    for keyword, value in asked.items():
        if value is None and keyword != "final":
            raise TypeError(f"assert_trajectory(): {keyword} is None, which asks nothing: leave it out")
        if keyword in ("tools", "any_of"):
            written = {"type": "agent_tool_sequence", **options}
            yield Question(_built(keyword, written), {keyword: _copied(value, keyword)})
        elif keyword in _REFERENCES:
            kind, key = _REFERENCES[keyword]
            yield Question(_built(keyword, {"type": kind}), {key: _copied(value, keyword)})
        elif keyword in _KEYS:
            kind, key = _KEYS[keyword]
            yield Question(_built(keyword, {"type": kind, key: value}), {})
        elif keyword in _EACH:
            kind, key = _EACH[keyword]
            for each in _several(value, keyword):
                yield Question(_built(f"{keyword} {each}", {"type": kind, key: each}, keyword), {})
        elif keyword == "constraints":
            written = {"type": "agent_constraints_satisfied", "constraints": _several(value, keyword)}
            yield Question(_built(keyword, written), {})
        elif keyword == "final":
            written = {"type": "exact_match", "source": "final", "value": snapshot(value)}
            text = {"field": "content"} if isinstance(value, str) and _ends_on_a_message(trajectory) else {}
            yield Question(_built(keyword, written | text), {})
        elif keyword == "evaluators":
            expected = dict(snapshot(asked.get("expected", case.expected)))
            for number, each in enumerate(value, 1):
                yield Question(_written(each, f"evaluators, number {number}"), expected)


def _ends_on_a_message(trajectory: Trajectory | None) -> bool:
    """Whether the answer is a message with a text, as recorders and importers keep what a model said."""
    steps = () if trajectory is None else trajectory.steps
    said = next((step.arguments for step in reversed(steps) if step.kind == "final"), None)
    return isinstance(said, Mapping) and "role" in said and isinstance(said.get("content"), str)


_REFERENCES: Mapping[str, tuple[str, str]] = {
    "allowed_tools": ("agent_no_undeclared_tool", "tools"),
    "route": ("agent_route", "route"),
}
"""Keywords that are what a case would expect: the evaluator's type, and the key of ``expected``."""

_KEYS: Mapping[str, tuple[str, str]] = {
    "no_loop": ("agent_no_tool_loop", "max_repeats"),
    "max_steps": ("agent_max_steps", "max_steps"),
    "max_tool_calls": ("agent_max_tool_calls", "max_calls"),
    "max_handoffs": ("agent_max_handoffs", "max_handoffs"),
    "max_errors": ("agent_tool_errors", "max_errors"),
    "max_latency_ms": ("agent_budget", "max_latency_ms"),
    "max_tokens": ("agent_budget", "max_tokens"),
    "max_cost_usd": ("agent_budget", "max_cost_usd"),
    "status": ("agent_terminal_status", "status"),
}
"""Keywords that are one key of an evaluator: its type, and the key."""

_EACH: Mapping[str, tuple[str, str]] = {
    "called": ("agent_tool_called", "tool_name"),
    "not_called": ("agent_tool_not_called", "tool_name"),
    "rule": ("agent_rule", "rule"),
}
"""The same for keywords that take one value or several, each of which is asked by itself."""


def _several(value: Any, keyword: str) -> list[str]:
    texts = [value] if isinstance(value, str) else list(value)
    if not texts or not all(isinstance(each, str) for each in texts):
        raise _refused(keyword, "must be a text or a list of texts, and name something")
    return texts


def _copied(value: Any, keyword: str) -> Any:
    """A reference as JSON, in which a tuple is a list. A text is none: its letters would be tools."""
    if isinstance(value, str):
        raise _refused(keyword, "must be a list", f"write [{value!r}]")
    return snapshot(value)


def _built(criterion: str, written: dict[str, Any], keyword: str = "") -> EvaluatorBase:
    return _converted({**written, "criterion": criterion}, keyword or criterion)


def _written(written: object, where: str) -> EvaluatorBase:
    """An evaluator in the words of ``oloproof.yaml``. Functions of one's own are called in a test directly."""
    if not isinstance(written, Mapping) or not isinstance(written.get("type"), str):
        raise _refused(where, "must be a mapping with a type", "such as {'type': 'agent_max_steps', 'max_steps': 12}")
    if written["type"] not in EVALUATORS:
        hint = elsewhere_hint(written["type"]) or did_you_mean(written["type"], EVALUATORS, otherwise="the types are")
        raise _refused(where, f"unknown evaluator type {written['type']!r}", hint)
    evaluator = _converted(dict(written), where)
    if evaluator.worker_function is not None:
        raise _refused(where, "is judged in a worker, and an assertion has none", "ask it with `oloproof run`")
    return evaluator


def _converted(written: dict[str, Any], where: str) -> EvaluatorBase:
    try:
        return convert(written, EVALUATORS[written["type"]])
    except (ConfigError, ValidationError) as error:
        cause = error if isinstance(error, ConfigError) else error.__cause__
        if isinstance(cause, ConfigError):
            message, _, excerpt = cause.message.partition("\n")
            raise _refused(where, message, excerpt, code=cause.code or "OLO731") from None
        raise _refused(where, *_no_such_word(written) or (str(error).removesuffix(f" - at `$.{where}`"),)) from None


def _no_such_word(written: Mapping[str, Any]) -> tuple[str, str] | None:
    """Of the first key that knows certain words alone and has another: what may stand there, and what was meant."""
    from msgspec import inspect as shapes  # only where something is wrong

    shape = shapes.type_info(EVALUATORS[written["type"]])
    assert isinstance(shape, shapes.StructType)
    for field in shape.fields:
        found, kind = written.get(field.encode_name), field.type
        while isinstance(kind, shapes.Metadata):
            kind = kind.type
        if isinstance(kind, shapes.LiteralType) and isinstance(found, str) and found not in kind.values:
            words = list(map(str, kind.values))
            return f"{field.encode_name} must be {either(words)}, found {found!r}", did_you_mean(found, words)
    return None


def _refused(where: str, message: str, hint: str = "", *, code: str = "OLO731") -> UsageError:
    told = f"assert_trajectory(): {where}: {message}"
    return UsageError(Problem(code, f"{told}\n{hint}" if hint else told, hint))


# --- what is told ----------------------------------------------------------------------------------------------------


def _record(case: Case, attempt: Attempt, judged: tuple[str, Judgment]) -> CaseRecord:
    return CaseRecord(run_id="", case=case, attempt=attempt, judgments=(judged,))


def _drawn(case: Case, attempt: Attempt, views: list[CaseRecord]) -> str:
    """The trajectory with its steps marked, and calls beside those that were declared, as ``inspect --case`` prints
    them."""
    from oloproof.reports import terminal

    judgments = tuple(judged for record in views for judged in record.judgments)
    alignments = {
        criterion: aligned
        for record in views
        for criterion, judgment in record.judgments
        if (aligned := alignment(record.case, attempt.trajectory, judgment)) is not None
    }
    whole = CaseRecord(run_id="", case=case, attempt=attempt, judgments=judgments)
    view: CaseView = case_view(whole, alignments=alignments)
    text = terminal.render_case(replace(view, facts=(), judgments=()), width=WIDTH, color=False)
    return text.partition("\n")[2].strip("\n")
