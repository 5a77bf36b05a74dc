"""The report as one HTML file that opens offline: it asks nothing of any network, and runs no script but its own.

What is read first (verdict, rules, criteria, slices) is plain markup; the cases lie in it compressed and are shown by a
small script, or are asked for one by one from the server that sent the page. Foreign text is inert before it comes
here, is escaped by the templates, and is set as text, never as markup, by the script; the page's policy lets a browser
run only what bears the hash of that script.
"""

from __future__ import annotations

from oloproof.reports.html.aligned import calls_beside
from oloproof.reports.html.frame import policy
from oloproof.reports.html.page import comparison_page, report_page
from oloproof.reports.html.parts import Entry, case_json, listed
from oloproof.reports.html.served import address, opening_page, problem_page, progress_page, runs_page

__all__ = [
    "Entry",
    "address",
    "calls_beside",
    "case_json",
    "comparison_page",
    "listed",
    "opening_page",
    "policy",
    "problem_page",
    "progress_page",
    "report_page",
    "runs_page",
]
