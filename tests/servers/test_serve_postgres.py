"""``oloproof serve`` over Postgres: many servers, one store; what a crash of either side leaves; nobody else's runs."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from fakes.postgres import Server, postgres
from fakes.service import ACME, BETA, OWN, TOKENS, bearer, body
from fakes.serving import APP, asked, begun, serving, wait_for
from oloproof.runtime import PostgresStore, read_audit, verify_audit

psycopg = pytest.importorskip("psycopg")
pytest.importorskip("sse_starlette")

THEIRS = {"x-tenant-id": "beta", "x-principal-id": "alice", "authorization": f"Bearer {BETA}"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgres() as running:
        yield running


def test_two_servers_keep_their_runs_in_one_database(tmp_path: Path, server: Server) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "spans.md").write_text("A chunk's text is a slice of its source.")
    (tmp_path / "tokens").write_text(TOKENS)
    arguments = ("--corpus", "pages", "--tokens", "tokens", "--store-env", "RUNS")
    with (
        serving(tmp_path, *arguments, RUNS=server.address) as first,
        serving(tmp_path, *arguments[:-2], "--store", server.address) as second,
    ):
        done = asked(first.url, bearer(ACME), goal="slice of a source")[-1].result
        assert done.citations == ("spans.md#1",)
        told = asked(second.url, bearer(ACME), resume_run_id=done.run_id)[-1]
        assert (told.error_code, "is over" in told.message) == ("not_resumable", True)
        other = asked(second.url, THEIRS, tenant_id="beta", resume_run_id=done.run_id)[-1]
        assert (other.error_code, "no run" in other.message) == ("not_resumable", True)
    state = PostgresStore(server.address).load("acme", done.run_id)
    assert state is not None
    assert state.status.value == "completed"
    assert verify_audit(read_audit(tmp_path / ".oloproof" / "agent" / "audit.jsonl"), heads=[state]) == []
    assert not (tmp_path / ".oloproof" / "agent" / "runs.db").exists()


@pytest.mark.parametrize(("app", "times"), [("reading", 2), ("writing", 1)])
def test_what_one_server_began_another_ends(tmp_path: Path, server: Server, app: str, times: int) -> None:
    (tmp_path / "my_app.py").write_text(APP)
    arguments = ("--app", f"my_app:{app}")
    with serving(tmp_path, *arguments, RUNS=server.address) as first, begun(first.url) as run_id:
        wait_for(tmp_path / "calls")
        first.process.send_signal(signal.SIGKILL)
        first.process.wait(20)
    (tmp_path / "go").touch()
    with serving(tmp_path, *arguments, RUNS=server.address) as second:
        result = asked(second.url, resume_run_id=run_id)[-1].result
    assert (result.status.value, result.final_answer) == ("final_answer", "done")
    assert (tmp_path / "calls").read_text() == "x\n" * times


def test_a_database_that_is_away_is_told_to_nobody_and_waited_for(tmp_path: Path, server: Server) -> None:
    (tmp_path / "my_app.py").write_text(APP)
    with serving(tmp_path, "--app", "my_app:reading", RUNS=server.address) as running:
        with begun(running.url) as run_id:
            wait_for(tmp_path / "calls")
            server.stop()
        try:  # that the run was stopped cannot be kept; the service goes on
            answer = httpx.post(f"{running.url}/v1/agent", json=body(), headers=OWN, timeout=60)
            assert httpx.get(f"{running.url}/healthz", timeout=60).status_code == 200
        finally:
            server.start()
        assert '"internal_error"' in answer.text
        assert str(server.place) not in answer.text
        (tmp_path / "go").touch()
        assert asked(running.url, resume_run_id=run_id)[-1].result.status.value == "final_answer"
