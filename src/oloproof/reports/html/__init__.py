"""The report as one HTML file that opens offline: it asks nothing of any network, and runs no script but its own.

What is read first (verdict, rules, criteria, slices) is plain markup; the cases lie in it compressed and are shown by a
small script. Foreign text is inert before it comes here, is escaped by the templates, and is set as text, never as
markup, by the script; the page's policy lets a browser run only what bears the hash of that script.
"""

from __future__ import annotations

from oloproof.reports.html.aligned import calls_beside
from oloproof.reports.html.page import comparison_page, report_page
from oloproof.reports.html.parts import Entry

__all__ = ["Entry", "calls_beside", "comparison_page", "report_page"]
