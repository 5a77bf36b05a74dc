"""The stage that draws: a report in, text out. One view settles order, wording and rounding for every format."""
