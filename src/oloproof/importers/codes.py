"""The codes of what can be wrong with a file that is imported; docs/errors.md has an anchor for each."""

from __future__ import annotations

BAD_VALUE = "OLO303"
RECORDED_TWICE = "OLO310"
NOT_JSON = "OLO321"
NOT_OF_THE_FORMAT = "OLO322"
NO_RUN = "OLO323"
