"""What is measured: the ``evaluators:``, ``metrics:`` and ``slices:`` of a configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

from msgspec import Struct, field

from oloproof.errors import UsageError, did_you_mean, shown
from oloproof.evaluators import EVALUATORS, EvaluatorBase, UserEvaluator
from oloproof.evaluators.base import ConfigError
from oloproof.evaluators.elsewhere import elsewhere_hint
from oloproof.metrics.slices import parse_slice
from oloproof.model.evidence import Evaluator
from oloproof.model.measured import PassKind
from oloproof.model.project import PassKSpec, QuantileSpec, SliceSpec, UserEvaluatorSpec
from oloproof.plugins import Plugin, installed
from oloproof.project import codes, shape
from oloproof.project.meant import did_you_mean_form
from oloproof.project.nodes import Fields, Items, Node, Scalar, describe, inside
from oloproof.project.policy import Measurable, MetricKind, decimal_text
from oloproof.project.problems import Problems
from oloproof.project.spec import (
    TARGET,
    ConfigFile,
    PassKEntry,
    PluginEvaluatorEntry,
    QuantileEntry,
    UserEvaluatorEntry,
)

METRIC_TYPES = ("quantile", *get_args(PassKind))


class Measures(Struct):
    """Evaluators, metrics and slices as they are read, and the names that rules may use.

    ``pass_k`` has each k's place. ``complete`` turns False when something is so wrong that its name is not known.
    """

    evaluators: list[Evaluator] = field(default_factory=list)
    users: list[UserEvaluatorSpec] = field(default_factory=list)
    metrics: list[QuantileSpec] = field(default_factory=list)
    pass_k: list[tuple[PassKSpec, Node]] = field(default_factory=list)
    slices: list[SliceSpec] = field(default_factory=list)
    kinds: dict[str, MetricKind] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    complete: bool = True

    @property
    def measurable(self) -> Measurable:
        """What a rule may be about."""
        return Measurable(self.kinds, self.complete)

    def take(self, name: str, kind: MetricKind, place: Node, problems: Problems) -> None:
        """Take a name; the same name twice is a problem that asks for another."""
        if name in self.lines:
            message = f"two metrics are named {shown(name)}, the first on line {self.lines[name]}"
            hint = "give one of them its own `criterion:`" if kind == "rate" else "give it an id of its own"
            problems.at(place, codes.DUPLICATE_NAME, message, hint=hint)
        self.lines.setdefault(name, place.line)
        self.kinds.setdefault(name, kind)


def read_measures(written: Fields, problems: Problems) -> Measures:
    """Read the three lists of a configuration; what is wrong is noted."""
    measures = Measures()
    readers: dict[str, Callable[[Node, Measures, Problems], None]] = {
        "evaluators": _evaluator,
        "metrics": _metric,
        "slices": _slice,
    }
    measures.complete = _all_names_known(written)
    before = len(problems.found)
    for key, read in readers.items():
        entry = written.entry(key)
        if entry is not None:
            for node in shape.items(entry.value, problems, what=key):
                read(node, measures, problems)
    entry = written.entry("evaluators")
    if entry is not None and not measures.lines and len(problems.found) == before:
        hint = "add an evaluator or a metric"
        problems.at(entry.value, problems.codes.bad_value, "nothing is measured", hint=hint)
    return measures


def _all_names_known(written: Fields) -> bool:
    """Whether the lists that name what is measured are there to be read. A key that means nothing may have been meant
    for one of them."""
    lists = [entry.value for entry in written.entries if entry.key in ("evaluators", "metrics")]
    return (
        written.entry("evaluators") is not None
        and all(isinstance(node, Items) for node in lists)
        and all(entry.key in ConfigFile.__struct_fields__ for entry in written.entries)
    )


def _evaluator(node: Node, measures: Measures, problems: Problems) -> None:
    written = shape.mapping(node, problems, what="an evaluator", text_is="type")
    named = None if written is None else _type(written, problems, what="an evaluator")
    if written is None or named is None:
        measures.complete = False
        return
    evaluator: EvaluatorBase | None
    origin = ""
    if ":" in named:
        evaluator = _user_evaluator(written, problems)
    elif named in EVALUATORS:
        evaluator = _built_in(written, named, problems)
    else:
        plugin = _plugin(written, named, problems)
        evaluator = None if plugin is None else _plugged_in(written, plugin, problems)
        origin = str(plugin)
    if evaluator is not None:
        measures.take(evaluator.criterion, "rate", written.place("criterion"), problems)
        measures.evaluators.append(evaluator)
        if (function := evaluator.worker_function) is not None:
            target, bound = function
            spec = UserEvaluatorSpec(criterion=evaluator.criterion, target=target, bound=bound, origin=origin)
            measures.users.append(spec)
        return
    criterion = written.text("criterion")
    if criterion is None:
        measures.complete = False
    else:
        measures.kinds.setdefault(criterion, "rate")


def _built_in(written: Fields, named: str, problems: Problems) -> EvaluatorBase | None:
    cls = EVALUATORS[named]
    parameters = Fields(tuple(entry for entry in written.entries if entry.key != "type"), written.line, written.column)
    values, valid = shape.keys(parameters, cls, problems, what=named)
    return _build(lambda: cls(**values), written, problems) if valid else None


def _user_evaluator(written: Fields, problems: Problems) -> EvaluatorBase | None:
    entry = shape.struct(written, UserEvaluatorEntry, problems, what="an evaluator")
    return None if entry is None else _function(entry, entry.type, entry.criterion or "", written, problems)


def _plugin(written: Fields, named: str, problems: Problems) -> Plugin | None:
    """The plug-in of that name. Installed packages are looked through only for a name that is not ours."""
    place = written.place("type")
    try:
        plugins = installed("evaluators", EVALUATORS)
    except UsageError as error:
        for problem in error.problems:
            problems.at(place, problem.code, problem.message, hint=problem.hint)
        return None
    if named not in plugins:
        known = (*EVALUATORS, *plugins)
        meant = elsewhere_hint(named) or did_you_mean(named, known) or did_you_mean_form(named, TARGET)
        hint = meant or f"a function of yours is module:function; the types are: {', '.join(known)}"
        problems.at(place, codes.UNKNOWN_TYPE, f"unknown evaluator type {shown(named)}", hint=hint)
    return plugins.get(named)


def _plugged_in(written: Fields, plugin: Plugin, problems: Problems) -> EvaluatorBase | None:
    entry = shape.struct(written, PluginEvaluatorEntry, problems, what="an evaluator")
    return None if entry is None else _function(entry, plugin.target, entry.criterion or plugin.name, written, problems)


def _function(
    entry: UserEvaluatorEntry | PluginEvaluatorEntry, target: str, criterion: str, written: Fields, problems: Problems
) -> EvaluatorBase | None:
    return _build(
        lambda: UserEvaluator(
            target=target,
            criterion=criterion,
            only=entry.only,
            on_system_error=entry.on_system_error,
            options=entry.options,
        ),
        written,
        problems,
    )


def _build(build: Callable[[], EvaluatorBase], written: Fields, problems: Problems) -> EvaluatorBase | None:
    try:
        return build()
    except ConfigError as error:
        message, _, excerpt = error.message.partition("\n")
        if not message.startswith(error.field):
            message = f"{error.field}: {message}"
        place = inside(written.place(error.field), error.path)
        column = place.column
        if error.position is not None and isinstance(place, Scalar) and place.inset is not None:
            column += place.inset + error.position
        problems.on(place.line, column, error.code or codes.BAD_EVALUATOR, message, hint=excerpt)
        return None


def _type(written: Fields, problems: Problems, *, what: str) -> str | None:
    entry = written.entry("type")
    named = written.text("type")
    if entry is None:
        problems.at(written, problems.codes.missing_key, f"{what} needs the key 'type'")
    elif named is None:
        problems.at(entry.value, problems.codes.wrong_type, f"type must be a string, found {describe(entry.value)}")
    return named


def _metric(node: Node, measures: Measures, problems: Problems) -> None:
    written = shape.mapping(node, problems, what="a metric")
    named = None if written is None else _type(written, problems, what="a metric")
    if written is None or named is None:
        measures.complete = False
    elif named not in METRIC_TYPES:
        hint = did_you_mean(named, METRIC_TYPES, otherwise="the types are")
        problems.at(written.place("type"), codes.UNKNOWN_TYPE, f"unknown metric type {shown(named)}", hint=hint)
        measures.complete = False
    else:
        read = _quantile if named == "quantile" else _pass_k
        measures.complete = read(written, measures, problems) and measures.complete


def _quantile(written: Fields, measures: Measures, problems: Problems) -> bool:
    entry = shape.struct(written, QuantileEntry, problems, what="a metric")
    quantile = written.place("quantile")
    if entry is None or not isinstance(quantile, Scalar):
        return False
    measures.take(entry.id, "quantile", written.place("id"), problems)
    text = decimal_text(quantile, problems, what="quantile")
    if text is not None:
        measures.metrics.append(QuantileSpec(id=entry.id, source=entry.source, quantile=text))
    return True


def _pass_k(written: Fields, measures: Measures, problems: Problems) -> bool:
    """Criteria are read before, so that it is known whether this one names one of them."""
    entry = shape.struct(written, PassKEntry, problems, what="a metric")
    if entry is None:
        return False
    criteria = [name for name, kind in measures.kinds.items() if kind == "rate"]
    measures.take(entry.id, "pass_k", written.place("id"), problems)
    if entry.criterion in criteria:
        spec = PassKSpec(id=entry.id, type=entry.type, criterion=entry.criterion, k=entry.k)
        measures.pass_k.append((spec, written.place("k")))
    elif measures.complete:
        hint = did_you_mean(entry.criterion, criteria, otherwise="the criteria are")
        message = f"metric {shown(entry.id)} names no criterion {shown(entry.criterion)}"
        problems.at(written.place("criterion"), codes.UNKNOWN_METRIC, message, hint=hint)
    return True


def _slice(node: Node, measures: Measures, problems: Problems) -> None:
    if not isinstance(node, Scalar) or not isinstance(node.value, str):
        hint = 'a slice with bounds is written in quotes: "trajectory_length:4,8"'
        problems.at(node, problems.codes.wrong_type, f"a slice must be a string, found {describe(node)}", hint=hint)
        return
    try:
        spec = parse_slice(node.value)
    except ValueError as error:
        problems.at(node, codes.BAD_SLICE, str(error))
        return
    if any(spec.name == other.name for other in measures.slices):
        problems.at(node, codes.DUPLICATE_NAME, f"two slices are named {shown(spec.name)}", hint="keep one of them")
    measures.slices.append(spec)
