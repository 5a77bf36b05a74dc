"""The codes of everything that can be wrong with a project's files; docs/errors.md has an anchor for each."""

from __future__ import annotations

from msgspec import Struct

MORE = "OLO100"


class FileCodes(Struct, frozen=True, kw_only=True):
    """What can be wrong with any file, under the codes of one kind of file."""

    unreadable: str
    encoding: str
    syntax: str
    unknown_key: str
    missing_key: str
    wrong_type: str
    bad_value: str
    duplicate_key: str
    unsupported: str


CONFIG = FileCodes(
    unreadable="OLO101",
    encoding="OLO102",
    syntax="OLO103",
    unknown_key="OLO105",
    missing_key="OLO106",
    wrong_type="OLO107",
    bad_value="OLO108",
    duplicate_key="OLO109",
    unsupported="OLO110",
)
UNKNOWN_METRIC = "OLO104"
UNKNOWN_TYPE = "OLO111"
DUPLICATE_NAME = "OLO112"
BAD_EVALUATOR = "OLO113"
BAD_SLICE = "OLO114"
CONFLICTING_KEYS = "OLO115"
MISSING_FILE = "OLO116"
NO_RECORD = "OLO117"
BAD_RULE = "OLO118"
MISREAD_EXPECTED = "OLO119"
RELAXED = "OLO643"
BAD_REDACTION = "OLO120"

TOO_FEW_TRIALS = "OLO630"
RECORDED_ONCE = "OLO633"
CONFIRMS_NOTHING = "OLO636"
NO_CLUSTER = "OLO637"

DATASET = FileCodes(
    unreadable="OLO201",
    encoding="OLO202",
    syntax="OLO203",
    unknown_key="OLO205",
    missing_key="OLO206",
    wrong_type="OLO207",
    bad_value="OLO208",
    duplicate_key="OLO209",
    unsupported="OLO210",
)
NO_CASES = "OLO204"
DUPLICATE_ID = "OLO211"
MISSPELT_EXPECTED = "OLO212"
BAD_REFERENCE = "OLO213"
BAD_TABLE = "OLO214"
CHANGED = "OLO215"
