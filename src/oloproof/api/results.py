"""What a run came to, as values for a program and tables for a notebook, from the view that every report is drawn
from."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec import Struct

from oloproof.api.cases import CaseResult
from oloproof.api.rows import Rows, frame
from oloproof.model.comparison import Sides
from oloproof.model.decision import Gate, Outcome, State
from oloproof.model.run import Report, Run
from oloproof.reports.document import VERDICT_COLUMNS, report_document
from oloproof.reports.view import View, view

if TYPE_CHECKING:
    import pandas


class MetricResult(Struct, frozen=True, kw_only=True):
    """A criterion's rate or another metric over all cases. ``estimate`` and the bounds are None where there is none."""

    id: str
    kind: str
    estimate: float | None
    lower: float | None
    upper: float | None
    cells: tuple[str, ...]
    document: dict[str, Any]

    @property
    def key(self) -> str:
        return self.id

    @property
    def passed(self) -> int | None:
        """How many passed; None of a metric that counts none."""
        return self.document.get("passed")

    @property
    def failed(self) -> int | None:
        return self.document.get("failed")

    @property
    def missing(self) -> int | None:
        return self.document.get("missing")

    @property
    def excluded(self) -> int | None:
        return self.document.get("excluded")

    def __repr__(self) -> str:
        return f"<metric {' '.join(self.cells)}>"

    def to_dict(self) -> dict[str, Any]:
        """As in ``oloproof.report/v1``."""
        return dict(self.document)


class RuleResult(Struct, frozen=True, kw_only=True):
    """A rule decided. ``words`` says what met what."""

    rule: str
    metric: str
    state: State
    reason: str
    blocking: bool
    words: str
    cells: tuple[str, ...]
    document: dict[str, Any]

    @property
    def key(self) -> str:
        return self.rule

    def __repr__(self) -> str:
        rule, _, state, words = self.cells
        return f"<rule {rule}: {state}: {words}>"

    def to_dict(self) -> dict[str, Any]:
        """As in ``oloproof.report/v1``."""
        return dict(self.document)


class Result:
    """A run that has ended. Its values do not change."""

    def __init__(
        self,
        report: Report,
        cases: Callable[[], Rows[CaseResult]],
        sides: Callable[[], Sides],
        *,
        config: str = "",
    ) -> None:
        self._report = report
        self.sides = sides
        """The run as one that another is compared with sees it."""
        self._read = cases
        self._config = config

    def __bool__(self) -> NoReturn:
        """Errors: TypeError. Of a run that was blocked, `assert evaluate(…)` would say that all is well."""
        raise TypeError("a result is neither true nor false: ask whether its verdict is 'ALLOW', or its exit_code 0")

    @property
    def id(self) -> str:
        """Of the run."""
        return self._report.run.id

    @property
    def run(self) -> Run:
        """The run's header: project, system, status, when."""
        return self._report.run

    @property
    def gate(self) -> Gate:
        """The verdict with its reason."""
        return self._report.gate

    @property
    def verdict(self) -> Outcome:
        """ALLOW, BLOCK or NOT_GATED."""
        return self._report.gate.outcome

    @property
    def exit_code(self) -> int:
        """What `oloproof run` would exit with: 0 only where the rules let the run through."""
        return int(self._report.gate.exit_code)

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._report.warnings

    @cached_property
    def cases(self) -> Rows[CaseResult]:
        """Every attempt, by the case's id (a later trial by id and number). Read when it is first asked for."""
        return self._read()

    @cached_property
    def metrics(self) -> Rows[MetricResult]:
        """By id."""
        documents = self.to_document()["metrics"]
        rows = [
            MetricResult(
                id=document["id"],
                kind=document["kind"],
                estimate=document["estimate"],
                lower=document["lower"],
                upper=document["upper"],
                cells=(row.id, row.estimate, row.interval, row.counts),
                document=document,
            )
            for document, row in zip(documents, self.view.metrics, strict=True)
        ]
        return Rows("metrics", ("metric", "estimate", "interval", "cases"), rows)

    @cached_property
    def rules(self) -> Rows[RuleResult]:
        """By the rule's id; none where there is no policy."""
        documents = self.to_document()["decisions"]
        rows = [
            RuleResult(
                rule=decision.rule,
                metric=decision.metric,
                state=decision.state,
                reason=decision.reason,
                blocking=decision.blocking,
                words=row.words,
                cells=(row.rule, row.metric, row.state, row.words),
                document=document,
            )
            for decision, document, row in zip(self._report.decisions, documents, self.view.decisions, strict=True)
        ]
        return Rows("rules", ("rule", "metric", "state", "why"), rows)

    @cached_property
    def view(self) -> View:
        """The whole report as finished texts."""
        return view(self._report, config=self._config)

    def to_document(self) -> dict[str, Any]:
        """``oloproof.report/v1``, as `oloproof run --json` prints it."""
        return report_document(self._report)

    def to_dicts(self) -> list[dict[str, Any]]:
        """A dictionary a verdict: ``case``, ``trial``, ``criterion``, ``verdict``, ``reason``."""
        return [
            dict(zip(VERDICT_COLUMNS, (case.id, case.trial, criterion, judgment.verdict, judgment.reason), strict=True))
            for case in self.cases
            for criterion, judgment in case.judgments.items()
        ]

    def to_pandas(self) -> pandas.DataFrame:
        """The same as a data frame. UsageError where pandas is not installed."""
        return frame(self.to_dicts())

    def __repr__(self) -> str:
        return f"<run {self.view.run_id}: {self.view.gate}>"

    def _repr_html_(self) -> str:
        from oloproof.api.html import result

        return result(self.view)
