"""`redact:` on texts that are built against it, and on recordings, each as a ratio within one run."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from judge import CONFIG, write_project
from measure import OLOPROOF, cost, row

from oloproof.model.redaction import Redaction
from oloproof.redaction import BUILT_IN, Redactor

TEXTS = {
    "clean": "lorem ipsum dolor sit amet, ",
    "addresses": "to bob@example.org, ",
    "digits": "4 ",
    "escapes": "\\u0040a%40",
    "open keys": "-----BEGIN PRIVATE KEY-----",
}
LENGTH = 400_000
CASES = 2_000


def seconds(redactor: Redactor, text: str) -> float:
    times = []
    for _ in range(5):
        begun = time.process_time()
        redactor.scope().text(text)
        times.append(time.process_time() - begun)
    return min(times)


def main() -> None:
    redactor = Redactor(Redaction(built_in=tuple(BUILT_IN)))
    for name, unit in TEXTS.items():
        text = (unit * (2 * LENGTH))[: 2 * LENGTH]
        once, twice = seconds(redactor, text[:LENGTH]), seconds(redactor, text)
        row(f"a text of {name} twice as long ({2 * LENGTH / twice / 1e6:.1f} MB/s)", twice / once, "×", 3)
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary) / "project"
        write_project(root, 6, cases=CASES)
        plain = cost([*OLOPROOF, "judge"], cwd=root, repeats=3, expect=(0, 1, 3)).cpu_s
        for rules, goal in (("{}", 4), ("{fields: [output.ssn]}", 10)):
            (root / "oloproof.yaml").write_text(f"{CONFIG}redact: {rules}\n")
            redacted = cost([*OLOPROOF, "judge"], cwd=root, repeats=3, expect=(0, 1, 3)).cpu_s
            row(
                f"judge {CASES:,} recordings, `redact: {rules}` beside none ({plain:.2f} s)",
                redacted / plain,
                "×",
                goal,
            )


if __name__ == "__main__":
    main()
