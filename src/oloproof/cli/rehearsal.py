"""Everything that a run's end needs is imported before user code runs.

An agent may write files, and a module imported after it ran could be one of them. So the report of a made-up case is
concluded and drawn first, in every form that was asked for, and what that imports is what the real one will use. Where
recordings are judged and no function of the user's judges them, no user code runs.
"""

from __future__ import annotations

from oloproof import pipeline, runner
from oloproof.cli import forget
from oloproof.cli.common import Shown
from oloproof.model.places import Places
from oloproof.model.project import Project, RecordedSystem
from oloproof.project import Cases
from oloproof.reports.document import encode, report_document
from oloproof.reports.view import View, view
from oloproof.stats import level


def rehearse(project: Project, cases: Cases | None, shown: Shown, *, stops_early: bool = False) -> None:
    """Draw a report of one made-up case into nothing, and import nothing from the project's directory from here on.

    ``cases`` None: recordings are their own dataset, and may hold trials and clusters that nobody has seen yet.
    """
    forget(project.directory)
    if isinstance(project.system.kind, RecordedSystem) and not project.user_evaluators:
        return
    runner.prepare()
    level.z(project.interval.level)  # of a comparison, and of what would settle a rule, under whatever method
    related = _may_be_related(project, cases)
    report = pipeline.rehearsal(project, stops_early=stops_early, related=related)
    drawn = view(report)
    encode(report_document(report))
    if not shown.as_json:
        from oloproof.reports import terminal

        terminal.render(drawn, width=200, color=True, encoding="utf-8")
    if shown.markdown is not None:
        from oloproof.reports.markdown import render as render_markdown

        render_markdown(drawn)
    if shown.junit is not None:
        from oloproof.reports.junit import junit as render_junit

        list(render_junit(drawn, ()))
    if shown.tap is not None:
        from oloproof.reports.tap import tap as render_tap

        list(render_tap(drawn, ()))
    if shown.sarif is not None or shown.github:
        _rehearse_places(drawn)
    if shown.html is not None:
        from oloproof.evaluators import alignment  # noqa: F401 -- the page shows the calls beside the declared ones
        from oloproof.reports.html import report_page

        list(report_page(report, ()))


def _rehearse_places(drawn: View) -> None:
    from oloproof.cli.places import run_places  # noqa: F401 -- what it imports is what it will use
    from oloproof.reports.github import workflow_commands
    from oloproof.reports.markdown import render as render_markdown
    from oloproof.reports.remarks import remarks
    from oloproof.reports.sarif import sarif as render_sarif

    list(render_sarif(drawn, (), Places()))
    list(workflow_commands(remarks(drawn, (), Places()), inspect=drawn.inspect))
    render_markdown(drawn)


def _may_be_related(project: Project, cases: Cases | None) -> bool:
    """Whether there are cases that belong together, or recordings, before user functions judge them, whose trials
    nobody has counted yet."""
    unseen = isinstance(project.system.kind, RecordedSystem) and bool(project.user_evaluators)
    return unseen or (cases is not None and cases.related)
