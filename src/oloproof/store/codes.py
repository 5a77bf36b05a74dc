"""The codes of what is not found in a store, and of a store that another process holds; docs/errors.md has an anchor
for each."""

from __future__ import annotations

LOCKED = "OLO505"
NO_STORE = "OLO610"
NO_RUN = "OLO611"
SEVERAL_RUNS = "OLO612"
NO_CASE = "OLO613"
