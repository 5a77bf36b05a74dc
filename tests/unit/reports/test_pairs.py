from __future__ import annotations

import pytest

from oloproof.model.decision import PairFinding, PairReason
from oloproof.model.tally import PairTable
from oloproof.reports.pairs import pair_reason_in_words, table_difference


@pytest.mark.parametrize(
    ("kind", "margin", "reason", "bounds", "words"),
    [
        ("superiority", None, "difference_above_zero", (0.0004, 0.0812), "[+0.04, +8.12] pp lies above 0"),
        (
            "non_inferiority",
            0.0195,
            "difference_within_margin",
            (-0.0195, 0.03),
            "[-1.95, +3.00] pp stays within -1.95 pp",
        ),
        ("non_inferiority", 0.05, "difference_within_margin", (-0.04996, 0.03), "[-5.0, +3.0] pp stays within -5 pp"),
        ("non_inferiority", 0.05, "difference_beyond_margin", (-0.2, -0.0504), "[-20.00, -5.04] pp lies beyond -5 pp"),
        ("equivalence", 0.025, "difference_within_margin", (-0.02, 0.02496), "[-2.0, +2.5] pp stays within ±2.5 pp"),
        ("equivalence", 0.025, "difference_beyond_margin", (0.02504, 0.2), "[+2.504, +20.000] pp lies beyond ±2.5 pp"),
        ("superiority", None, "difference_overlaps_margin", (-0.0004, 0.0812), "[-0.1, +8.2] pp does not settle"),
    ],
)
def test_a_sentence_about_a_difference_is_true_as_printed(
    kind: str, margin: float | None, reason: PairReason, bounds: tuple[float, float], words: str
) -> None:
    finding = PairFinding(kind=kind, table=PairTable(), lower=bounds[0], upper=bounds[1], margin=margin)
    assert pair_reason_in_words(finding, reason).startswith(f"difference {words}")


def test_a_difference_is_0_or_1_only_where_it_is() -> None:
    assert table_difference(PairTable(both_pass=9_999, fixed=1)) == "+0.1 pp"
    assert table_difference(PairTable(both_pass=9_999, broken=1)) == "-0.1 pp"
    assert table_difference(PairTable(both_pass=1, broken=9_999)) == "-99.9 pp"
    assert table_difference(PairTable(both_pass=79, fixed=1)) == "+1.3 pp"
    assert table_difference(PairTable(fixed=1, broken=1)) == "+0.0 pp"
    assert table_difference(PairTable(now_pass=3)) == "–"
