"""Comparing two runs pays for neither numpy nor scipy, and no module does by being imported."""

from __future__ import annotations

import json
import subprocess
import sys

CHILD = """
import json, sys
from oloproof.stats import (
    chances, cluster, contingency, evidence, multiplicity, paired, planning, sequential, trials,
    without_replacement,
)
heavy = "numpy", "scipy", "statistics"
at_import = [name for name in heavy if name in sys.modules]
paired.intervals([paired.Pairs(80, 40, 20, 20)] * 300)
paired.mcnemar(paired.Pairs(80, 40, 20, 20))
found = contingency.worse_than_rest(contingency.Group(3, 7), contingency.Group(170, 20))
multiplicity.benjamini_hochberg([found.mid_p])
trials.interval([trials.Trials(1, 0)] * 20, metric="pass_hat_k")
sequential.curtailed(100, __import__("fractions").Fraction("0.8")).state(50, 1, 0)
print(json.dumps([at_import, [name for name in heavy if name in sys.modules]]))
"""


def test_what_comparing_imports() -> None:
    child = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, check=True)
    at_import, after_use = json.loads(child.stdout)
    assert at_import == []
    assert after_use == ["statistics"]
