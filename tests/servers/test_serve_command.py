"""``oloproof serve`` as a process: what it says, how it ends, and what is left where it is killed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import httpx
import pytest

from fakes.service import ACME, OWN, bearer, body, kinds
from fakes.serving import APP, asked, begun, serving, wait_for
from oloproof.runtime import read_audit, verify_audit

pytest.importorskip("sse_starlette")
grpc = pytest.importorskip("grpc")


@pytest.mark.parametrize(("app", "outcome", "times"), [("reading", "executed", 2), ("writing", "interrupted", 1)])
def test_kill_9_during_a_call_and_resume(tmp_path: Path, app: str, outcome: str, times: int) -> None:
    (tmp_path / "my_app.py").write_text(APP)
    with serving(tmp_path, "--app", f"my_app:{app}") as first, begun(first.url) as run_id:
        wait_for(tmp_path / "calls")
        first.process.send_signal(signal.SIGKILL)
        first.process.wait(20)
    (tmp_path / "go").touch()
    with serving(tmp_path, "--app", f"my_app:{app}") as second:
        events = asked(second.url, resume_run_id=run_id)
    result = events[-1].result
    assert (result.status.value, result.final_answer, result.run_id) == ("final_answer", "done", run_id)
    assert result.steps[0].tool_result.ok is (outcome == "executed")
    assert (tmp_path / "calls").read_text() == "x\n" * times
    assert verify_audit(read_audit(tmp_path / "audit.jsonl")) == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_runs_that_are_under_way_and_they_can_be_resumed(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "my_app.py").write_text(APP)
    with serving(tmp_path, "--app", "my_app:reading") as first, begun(first.url) as run_id:
        wait_for(tmp_path / "calls")
        first.process.send_signal(how)
        assert first.process.wait(30) == 0  # although the tool is still at work
    with serving(tmp_path, "--app", "my_app:reading") as second:
        assert asked(second.url, resume_run_id=run_id)[-1].result.status.value == "final_answer"


def test_without_an_app_it_serves_a_corpus_over_both_surfaces(tmp_path: Path) -> None:
    from oloproof.service.messages import event_of
    from oloproof.service.v1 import agent_pb2 as pb
    from oloproof.service.v1 import agent_pb2_grpc as stubs

    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "spans.md").write_text("# Spans\n\nA chunk's text is a slice of its source.\n")
    (tmp_path / "tokens").write_text(f"acme {ACME}\n")
    arguments = ("--corpus", "pages", "--grpc-port", "0", "--tokens", "tokens")
    with serving(tmp_path, *arguments) as running:
        assert running.rpc is not None
        result = asked(running.url, bearer(ACME), goal="slice of a source", top_k=1)[-1].result
        assert result.citations == ("spans.md#2",)
        with grpc.insecure_channel(running.rpc) as channel:
            request = pb.ConverseRequest(**body(goal="slice of a source", top_k=1))
            metadata = (("authorization", f"Bearer {ACME}"),)
            events = [event_of(each) for each in stubs.AgentServiceStub(channel).Converse(request, metadata=metadata)]
        assert kinds(events)[-1] == "run_completed"
        running.process.terminate()
        assert running.process.wait(30) == 0
        told = [json.loads(line) for line in running.rest_of_stderr().splitlines()]
    assert [line["message"] for line in told] == [
        "agent.step_complete",
        "gateway.agent_complete",
        "agent.step_complete",
        "grpc.converse_complete",
    ]
    assert told[1]["run_id"] == result.run_id
    assert (tmp_path / ".oloproof" / "agent" / "runs.db").exists()


def test_two_tenants_have_tokens_from_the_environment(tmp_path: Path) -> None:
    (tmp_path / "my_app.py").write_text(APP)
    (tmp_path / "go").touch()
    with serving(tmp_path, "--app", "my_app:reading", "--tokens-env", "TOKENS", TOKENS=f"acme {ACME}\n") as running:
        unknown = httpx.post(f"{running.url}/v1/agent", json=body(), headers=OWN, timeout=60)
        assert unknown.status_code == 401
        assert kinds(asked(running.url, bearer(ACME)))[-1] == "run_completed"
    assert ACME not in " ".join(running.process.args)  # type: ignore[arg-type]


def test_the_agent_command_asks_a_running_service(tmp_path: Path) -> None:
    (tmp_path / "my_app.py").write_text(APP)
    (tmp_path / "go").touch()
    with serving(tmp_path, "--app", "my_app:reading", "--tokens-env", "TOKENS", TOKENS=f"acme {ACME}\n") as running:

        def agent(token: str, url: str = running.url) -> tuple[int, str, str]:
            command = [sys.executable, "-m", "oloproof", "agent", "go", "--server", url, "--token-env", "TOKEN"]
            command += ["--tenant", "acme"]
            environment = os.environ | {"TOKEN": token}
            done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
            return done.returncode, done.stdout, done.stderr

        code, out, _ = agent(ACME)
        assert (code, out.splitlines()[-1]) == (0, "done")
        code, out, err = agent("wrong")
        assert (code, out, "status 401" in err) == (2, "", True)
    code, _, err = agent(ACME)
    assert (code, "OLO767" in err) == (5, True)


def test_ctrl_c_stops_the_agent_command_and_says_how_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "my_app.py").write_text(APP)
    command = [sys.executable, "-m", "oloproof", "agent", "--app", "my_app:reading"]
    with subprocess.Popen([*command, "go"], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        wait_for(tmp_path / "calls")
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        said = process.stderr.readline()
        (tmp_path / "go").touch()
        assert process.wait(30) == 130
    run = re.fullmatch(r"stopped; go on with it: oloproof agent --app my_app:reading --resume (\w+)\n", said)
    assert run is not None, said
    done = subprocess.run([*command, "--resume", run[1]], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "done")


def certificate(directory: Path) -> None:
    """A certificate of this machine's own for 127.0.0.1, and its key."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = (
        builder.serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    )
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1")), x509.DNSName("localhost")])
    made = builder.add_extension(names, critical=False).sign(key, hashes.SHA256())
    (directory / "tls.crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    formats = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
    (directory / "tls.key").write_bytes(key.private_bytes(*formats, plain))
    secret = serialization.BestAvailableEncryption(b"hunter2")
    (directory / "locked.key").write_bytes(key.private_bytes(*formats, secret))


def test_both_surfaces_speak_tls(tmp_path: Path) -> None:
    from oloproof.service.messages import event_of
    from oloproof.service.v1 import agent_pb2 as pb
    from oloproof.service.v1 import agent_pb2_grpc as stubs

    certificate(tmp_path)
    (tmp_path / "my_app.py").write_text(APP)
    (tmp_path / "go").touch()
    arguments = ("--app", "my_app:reading", "--grpc-port", "0", "--tls-cert", "tls.crt", "--tls-key", "tls.key")
    with serving(tmp_path, *arguments) as running:
        assert running.url.startswith("https://127.0.0.1:")
        command = [sys.executable, "-m", "oloproof", "agent", "go", "--tenant", "acme", "--server", running.url]
        trusting = os.environ | {"SSL_CERT_FILE": str(tmp_path / "tls.crt")}
        for environment, code in ((trusting, 0), (os.environ, 5)):
            done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == code, done
        with pytest.raises(httpx.HTTPError):
            httpx.get(running.url.replace("https:", "http:") + "/healthz", timeout=60)
        assert running.rpc is not None
        trusted = grpc.ssl_channel_credentials((tmp_path / "tls.crt").read_bytes())
        with grpc.secure_channel(running.rpc, trusted) as channel:
            told = [event_of(each) for each in stubs.AgentServiceStub(channel).Converse(pb.ConverseRequest(**body()))]
        assert kinds(told)[-1] == "run_completed"
        with grpc.insecure_channel(running.rpc) as channel, pytest.raises(grpc.RpcError):
            list(stubs.AgentServiceStub(channel).Converse(pb.ConverseRequest(**body())))


def test_a_key_with_a_passphrase_is_refused_and_not_asked_for(tmp_path: Path) -> None:
    certificate(tmp_path)
    command = [sys.executable, "-m", "oloproof", "serve", "--port", "0"]
    command += ["--tls-cert", "tls.crt", "--tls-key", "locked.key"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert (done.returncode, "OLO769" in done.stderr, "passphrase" in done.stderr) == (2, True, True)
