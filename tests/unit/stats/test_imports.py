"""The default path, quantiles included, pays for neither numpy nor scipy."""

from __future__ import annotations

import json
import subprocess
import sys

CHILD = """
import json, sys
from fractions import Fraction
from oloproof.stats import binomial, boundaries, counts, level, proportion, quantile, rounding
heavy = "numpy", "scipy", "statistics"
at_import = [name for name in heavy if name in sys.modules]
proportion.interval(33, 7, 0)
boundaries.turns(40, Fraction("0.8"))
binomial.between(37, 40, n=40, p=Fraction("0.8"))
quantile.interval([1.0, 2.0], [0.0], q=Fraction("0.95"))
print(json.dumps([at_import, [name for name in heavy if name in sys.modules]]))
"""


def test_what_the_default_path_imports() -> None:
    child = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, check=True)
    at_import, after_use = json.loads(child.stdout)
    assert at_import == []
    assert after_use == ["statistics"]
