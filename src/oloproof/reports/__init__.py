"""STAGE run → text: one view settles order, wording and rounding; each format draws it."""
