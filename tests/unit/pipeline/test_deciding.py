"""When a run may come to exit 0: what is asked of it before any rule is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from oloproof.errors import BrokenError, ExitCode, UsageError
from oloproof.model.comparison import Comparison
from oloproof.model.decision import ObservedCount, Policy
from oloproof.model.measured import Measured, Rate
from oloproof.model.project import CallableSystem, Project, SystemSpec
from oloproof.model.run import Report, Run, SystemIdentity
from oloproof.model.stopping import Stopping
from oloproof.model.tally import Tally
from oloproof.pipeline.deciding import gate, report, stored_gate, stored_report
from oloproof.pipeline.world import real_ports
from oloproof.store import Store

NONE_WRONG = Policy(rules=(ObservedCount(id="none-wrong", metric="right", max_failures=0),))
ALL_PASSED = Measured(2, (Rate("right", Tally(2, 0, 0, 0)),), (), 1)


def run(**header: Any) -> Run:
    kept: dict[str, Any] = {
        "id": "20260101T000000-aaaaaa",
        "project": "p",
        "system": SystemIdentity(name="s"),
        "status": "complete",
        "started_at": "",
        "finished_at": "",
        "cases": 2,
        "criteria": ("right",),
        "digest": "d",
    }
    return Run(**(kept | header))


def decided(policy: Policy | None = NONE_WRONG, **header: Any) -> Report:
    return report(run(**header), ALL_PASSED, policy, (), ())


def test_a_whole_run_is_allowed_by_its_policy() -> None:
    assert decided().gate.exit_code == ExitCode.ALLOW
    assert decided(own_dataset=True, expected_cases=2).gate.exit_code == ExitCode.ALLOW
    assert decided(None, ungated_by_choice=True).gate.exit_code == ExitCode.ALLOW


@pytest.mark.parametrize(
    ("header", "code", "why"),
    [
        ({"status": "running"}, ExitCode.BROKEN, "the run is running"),
        ({"status": "interrupted"}, ExitCode.BROKEN, "the run is interrupted"),
        ({"status": "interrupted", "ungated_by_choice": True}, ExitCode.BROKEN, "the run is interrupted"),
        ({"status": "broken", "ungated_by_choice": True}, ExitCode.BROKEN, "the run is broken"),
        ({"cases": 0}, ExitCode.INSUFFICIENT_EVIDENCE, "no case ran"),
        ({"cases": 0, "ungated_by_choice": True}, ExitCode.INSUFFICIENT_EVIDENCE, "no case ran"),
        ({"partial": "--limit 2"}, ExitCode.INSUFFICIENT_EVIDENCE, "a partial run (--limit 2)"),
        ({"changed": ("other code",)}, ExitCode.INSUFFICIENT_EVIDENCE, "something had changed"),
        ({"in_process": True}, ExitCode.INSUFFICIENT_EVIDENCE, "--in-process"),
        ({"own_dataset": True}, ExitCode.INSUFFICIENT_EVIDENCE, "write `cases: N`"),
        ({"own_dataset": True, "expected_cases": 1}, ExitCode.INSUFFICIENT_EVIDENCE, "`cases: 1` must be there"),
        ({"own_dataset": True, "expected_cases": 3}, ExitCode.INSUFFICIENT_EVIDENCE, "`cases: 3` must be there"),
    ],
)
def test_a_run_that_may_not_be_gated_is_allowed_nothing(header: dict[str, Any], code: ExitCode, why: str) -> None:
    found = decided(**header).gate
    assert (found.outcome, found.exit_code) == ("NOT_GATED", code)
    assert why in found.why


def test_without_a_policy_nothing_is_allowed() -> None:
    found = decided(None).gate
    assert (found.outcome, found.exit_code) == ("NOT_GATED", ExitCode.INSUFFICIENT_EVIDENCE)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / ".oloproof") as store:
        yield store


def kept(store: Store, policy: Policy | None, comparison: Comparison | None = None, **header: Any) -> Run:
    """A run in the store, decided under this policy."""
    finished = run(**header)
    store.begin(finished)
    store.finish(finished, ALL_PASSED, policy)
    if comparison is not None:
        store.keep_comparison(finished.id, comparison)
    return finished


def project(policy: Policy | None) -> Project:
    return Project(
        name="p",
        config="oloproof.yaml",
        directory=".",
        system=SystemSpec(kind=CallableSystem(target="app:run", directory=".")),
        evaluators=(),
        policy=policy,
    )


@pytest.mark.parametrize("stopping", [Stopping(seed=1, after=2), Stopping(seed=1, rules=("none-wrong",))])
@pytest.mark.parametrize("asked", [None, Policy(rules=(ObservedCount(id="few", metric="right", max_failures=5),))])
def test_what_a_run_could_stop_for_is_put_to_it_under_no_other_policy(
    store: Store, asked: Policy | None, stopping: Stopping
) -> None:
    stored = kept(store, asked, stopping=stopping)
    with pytest.raises(UsageError, match="was free to stop by its own policy"):
        gate(stored, project(NONE_WRONG), real_ports(store), approve=(), by="")


def test_a_run_that_could_not_stop_is_put_to_any_policy(store: Store) -> None:
    stored = kept(store, None, stopping=Stopping(seed=1))
    assert gate(stored, project(NONE_WRONG), real_ports(store), approve=(), by="").gate.exit_code == ExitCode.ALLOW


@pytest.mark.parametrize(
    ("accepts", "is_shown"), [(("c1",), True), (("c1", "c2"), True), ((), False), (("c2",), False)]
)
def test_a_comparison_is_shown_while_the_policy_accepts_what_it_accepted(
    store: Store, accepts: tuple[str, ...], is_shown: bool
) -> None:
    comparison = Comparison(
        candidate="20260101T000000-aaaaaa",
        baseline="20250101T000000-aaaaaa",
        pairs=1,
        only_in_candidate=(),
        only_in_baseline=(),
        changed=("c1",),
        accepted=("c1",),
        uncompared=(),
        membership="candidate",
        criteria=(),
    )
    stored = kept(store, NONE_WRONG, comparison)
    found = stored_report(store, stored, replace(NONE_WRONG, accept_changed_cases=accepts))
    assert (found.comparison is not None) is is_shown
    assert any("compare again" in line for line in found.warnings) is not is_shown


def test_a_run_that_goes_on_has_no_report_and_no_verdict(store: Store) -> None:
    stored = kept(store, NONE_WRONG, status="running")
    with pytest.raises(BrokenError, match="was started and never finished"):
        stored_report(store, stored, NONE_WRONG)
    assert stored_gate(store, stored) is None
