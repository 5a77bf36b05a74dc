"""The conformance corpus: small cases with the verdict that each must get, and the reason why.

``python -m oloproof.testing.conformance DIRECTORY`` judges every ``*.json`` file there (``oloproof.conformance/v1``,
see docs/reference/conformance.md) and prints where the verdicts differ. It exits 0 when none does, 1 when some do, and
2 when there is nothing to judge or a file is no such file.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import ValidationError, convert

from oloproof.evaluators import EVALUATORS, ConfigError, EvaluatorBase
from oloproof.model.evidence import Evidence
from oloproof.model.judgment import Judgment, Word
from oloproof.model.recording import Recording, to_attempt, to_case
from oloproof.model.trajectory import contradiction
from oloproof.model.values import snapshot
from oloproof.reports.inert import inert

FORMAT: Final = "oloproof.conformance/v1"
WORDS: Final[dict[str, Word]] = {"passed": "pass", "failed": "fail", "missing": "missing", "excluded": "excluded"}
_RECORD: Final = ("input", "expected", "metadata", "output", "error", "trajectory", "state")
_KEYS: Final = {"name", "why", "evaluator", "verdict", "reason", "records", "counts", *_RECORD}


class NotACorpus(ValueError):
    """A file that is not of the format."""


class _Refused(Exception):
    """An evaluator, a reference or a record that no run is judged with."""


def cases(file: Path) -> Iterator[dict[str, Any]]:
    """The cases of a file, as they are written. Raises NotACorpus."""
    try:
        document = snapshot(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError) as error:
        raise NotACorpus(f"{file}: cannot be read: {error}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise NotACorpus(f"{file}: its format is not {FORMAT}")
    if not isinstance(document.get("cases"), list):
        raise NotACorpus(f"{file}: it has no list of cases")
    for case in document["cases"]:
        if not _is_case(case):
            raise NotACorpus(f"{file}: not a case: {inert(json.dumps(case))}")
        yield case


def difference(case: dict[str, Any]) -> str | None:
    """How the verdict (or, of several records, their counts) differs from the one that the case asks for, in a line;
    None when it does not."""
    if "records" in case:
        try:
            judged = Counter(_judged(case["evaluator"], record).verdict for record in case["records"])
        except _Refused as refused:
            return f"expected {_counts(case['counts'])}, found refused ({inert(str(refused))})"
        counts = {key: judged[word] for key, word in WORDS.items()}
        return None if counts == case["counts"] else f"expected {_counts(case['counts'])}, found {_counts(counts)}"
    asked = case["verdict"], case.get("reason")
    try:
        judgment = _judged(case["evaluator"], {key: case[key] for key in _RECORD if key in case})
        found, detail = (str(judgment.verdict), judgment.reason), judgment.detail
    except _Refused as refused:
        found, detail = ("refused", None), str(refused)
    if found[0] == asked[0] and asked[1] in (None, found[1]):
        return None
    told = f" ({inert(detail)})" if detail else ""
    return f"expected {_phrase(*asked)}, found {_phrase(*found)}{told}"


def main(arguments: Sequence[str]) -> int:
    """Judge the corpora in a directory; the exit code."""
    files = sorted(Path(arguments[0]).glob("*.json")) if len(arguments) == 1 else []
    if not files:
        print("usage: python -m oloproof.testing.conformance DIRECTORY (with *.json files in it)", file=sys.stderr)
        return 2
    count = differing = 0
    try:
        for file in files:
            for case in cases(file):
                count += 1
                told = difference(case)
                if told is not None:
                    differing += 1
                    print(f"{file.name}: {inert(case['name'])}: {told}\n  {inert(case['why'])}")
    except NotACorpus as error:
        print(error, file=sys.stderr)
        return 2
    if not count:
        print(f"{arguments[0]}: there is no case in its files", file=sys.stderr)
        return 2
    print(f"{count - differing} of {count} cases agree")
    return 1 if differing else 0


def _is_case(case: Any) -> bool:
    if not isinstance(case, dict) or not {"name", "why", "evaluator"} <= case.keys() <= _KEYS:
        return False
    if not isinstance(case["evaluator"], dict) or not isinstance(case["evaluator"].get("type"), str):
        return False
    if "records" not in case:
        return isinstance(case.get("verdict"), str)
    records, counts = case["records"], case.get("counts")
    return isinstance(counts, dict) and isinstance(records, list) and all(isinstance(each, dict) for each in records)


def _judged(written: dict[str, Any], record: dict[str, Any]) -> Judgment:
    evaluator = _evaluator(written)
    try:
        recording = convert({"case": "case", **record}, Recording)
    except ValidationError as error:
        raise _Refused(str(error)) from None
    wrong = None if recording.trajectory is None else contradiction(recording.trajectory)
    if wrong is not None:
        raise _Refused(wrong)
    case = to_case(recording)
    for problem in evaluator.case_problems(case):
        raise _Refused(str(problem))
    return evaluator.judge(Evidence(case, to_attempt(recording)))


def _evaluator(written: dict[str, Any]) -> EvaluatorBase:
    if written["type"] not in EVALUATORS:
        raise _Refused(f"unknown evaluator type {written['type']!r}")
    try:
        return convert(written, EVALUATORS[written["type"]])
    except ConfigError as error:
        raise _Refused(str(error)) from None
    except ValidationError as error:
        if isinstance(error.__cause__, ConfigError):
            raise _Refused(str(error.__cause__)) from None
        raise _Refused(str(error)) from None


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {word}" for word, count in counts.items())


def _phrase(word: str, reason: str | None) -> str:
    return word if reason is None else f"{word} ({reason})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
