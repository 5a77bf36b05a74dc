from __future__ import annotations

import pytest

from oloproof.model.decision import PairFinding, PairReason
from oloproof.model.tally import PairTable
from oloproof.reports.pairs import difference_text, interval_text, pair_reason_in_words


@pytest.mark.parametrize(
    ("kind", "margin", "reason", "bounds", "words"),
    [
        ("superiority", None, "difference_above_zero", (0.0004, 0.0812), "[+0.04%, +8.12%] lies above 0"),
        (
            "non_inferiority",
            0.0195,
            "difference_within_margin",
            (-0.0195, 0.03),
            "[-1.95%, +3.00%] stays within -1.95%",
        ),
        ("non_inferiority", 0.05, "difference_within_margin", (-0.04996, 0.03), "[-5.0%, +3.0%] stays within -5%"),
        ("non_inferiority", 0.05, "difference_beyond_margin", (-0.2, -0.0504), "[-20.00%, -5.04%] lies beyond -5%"),
        ("equivalence", 0.025, "difference_within_margin", (-0.02, 0.02496), "[-2.0%, +2.5%] stays within ±2.5%"),
        ("equivalence", 0.025, "difference_beyond_margin", (0.02504, 0.2), "[+2.504%, +20.000%] lies beyond ±2.5%"),
        ("superiority", None, "difference_overlaps_margin", (-0.0004, 0.0812), "[-0.1%, +8.2%] does not settle"),
    ],
)
def test_a_sentence_about_a_difference_is_true_as_printed(
    kind: str, margin: float | None, reason: PairReason, bounds: tuple[float, float], words: str
) -> None:
    finding = PairFinding(kind=kind, table=PairTable(), lower=bounds[0], upper=bounds[1], margin=margin)
    assert pair_reason_in_words(finding, reason).startswith(f"difference {words}")


def test_bounds_of_a_difference_are_rounded_outward() -> None:
    assert interval_text((-0.0371, 0.0301)) == "[-3.8%, +3.1%]"
    assert interval_text((0.0301, 0.0371)) == "[+3.0%, +3.8%]"
    assert interval_text((-0.0371, -0.0301)) == "[-3.8%, -3.0%]"
    assert interval_text((-1e-14, 1e-14)) == "[-0.1%, +0.1%]"


def test_a_difference_is_0_or_1_only_where_it_is() -> None:
    assert difference_text(PairTable(both_pass=9_999, fixed=1)) == "+0.1%"
    assert difference_text(PairTable(both_pass=9_999, broken=1)) == "-0.1%"
    assert difference_text(PairTable(both_pass=1, broken=9_999)) == "-99.9%"
    assert difference_text(PairTable(both_pass=79, fixed=1)) == "+1.3%"
    assert difference_text(PairTable(fixed=1, broken=1)) == "+0.0%"
    assert difference_text(PairTable(now_pass=3)) == "–"
