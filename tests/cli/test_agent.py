"""``agent`` and ``serve``: what is printed, what is refused, and what they exit with."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from fakes.projects import Done, oloproof

APP = """
from oloproof.runtime import AgentLoop, CallTool, JsonlAuditSink, Policy, ScriptedController, SqliteStore, Tool
from oloproof.runtime import ToolRegistry
from oloproof.service import Deny, Service

SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}
HOSTILE = "\\x1b[2J\\u202egnp.exe\\nrun_completed final_answer"


def loop(*actions, answer="done", function=lambda text: "saved", effect="write"):
    return AgentLoop(
        controller=ScriptedController(actions, answer=answer),
        tools=ToolRegistry([Tool("save", function, parameters=SCHEMA, effect=effect, cost=0.0)]),
        policy=Policy(allow_effects={"read", "write"}),
        checkpoint_store=SqliteStore("runs.db"),
        audit=JsonlAuditSink("audit.jsonl"),
    )


def writes():
    return Service(loop=loop(CallTool("save", {"text": "the report"})))


def hostile():
    return loop(CallTool("save", {"text": HOSTILE}), answer=HOSTILE, function=lambda text: text, effect="read")


def denied():
    class Nothing:
        async def egress_text(self, ctx, text):
            return Deny()

    return Service(loop=loop(), egress=Nothing())


def fails():
    return loop(7)


def data():
    return loop(answer={"n": [1, 2]})


def raises():
    raise RuntimeError("no key")


number = 7
"""


@pytest.fixture
def home(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A directory with an app of its own name, since modules are imported once, and a corpus."""
    (tmp_path / f"{name_of(tmp_path)}.py").write_text(APP)
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "spans.md").write_text(
        "# Spans\n\nA chunk's text is a slice of its source.\n\nAnother slice.\n"
    )
    return tmp_path


def name_of(home: Path) -> str:
    return "app_" + re.sub(r"\W", "_", f"{home.parent.name}_{home.name}")


def agent(home: Path, *arguments: str, app: str = "") -> Done:
    return oloproof(home, "agent", *arguments, *(("--app", f"{name_of(home)}:{app}") if app else ()))


def test_an_event_a_line_and_then_the_result(home: Path) -> None:
    done = agent(home, "a slice of its source", "--corpus", "pages", "--top-k", "1")
    assert done.code == 0
    lines = done.out.splitlines()
    kinds = [line.split()[0] for line in lines[: lines.index("")]]
    assert kinds == [
        *("run_started", "phase_changed", "phase_changed", "tool_started", "tool_completed", "phase_changed"),
        *("checkpoint_saved", "phase_changed", "phase_changed", "answer_delta", "run_completed"),
    ]
    assert lines[-2].startswith("final_answer: 2 decisions, 512 tokens")
    assert lines[-1] == "Based on 1 retrieved passage(s): A chunk's text is a slice of its source. [spans.md#2]"


def test_without_the_ranking_library_shared_words_are_counted(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bm25s", None)
    done = agent(home, "a slice of its source", "--corpus", "pages", "--top-k", "1")
    assert (done.code, '"score": 1.0' in done.out) == (0, True)


def test_tenant_passages_and_budget_are_the_runs(home: Path) -> None:
    done = agent(home, "slice", "--corpus", "pages", "--tenant", "acme", "--budget-tokens", "100")
    assert (done.code, "budget_tokens: 1 decision" in done.out) == (1, True)
    assert agent(home, "slice", "--corpus", "pages", "--top-k", "1").out.count('"chunk_id"') == 1
    assert agent(home, "slice", "--corpus", "pages", "--top-k", "2").out.count('"chunk_id"') == 2
    audit = (home / ".oloproof" / "agent" / "audit.jsonl").read_text()
    assert '"tenant":"acme"' in audit
    assert '"budget_tokens":100' in audit


def test_without_a_corpus_it_says_that_nothing_could_be_retrieved(home: Path) -> None:
    done = agent(home, "anything")
    assert (done.code, done.out.splitlines()[-1]) == (0, "Nothing could be retrieved.")
    assert done.err == "neither --app nor --corpus was given: there is nothing to retrieve\n"


def test_a_run_that_waits_is_approved_and_resumed(home: Path) -> None:
    waits = agent(home, "save it", "--tenant", "default", app="writes")
    assert waits.code == 4
    typed = f"oloproof agent --app {name_of(home)}:writes --tenant default --resume"
    line = re.search(rf"^{typed} (\w+) --approve (\w+) --by NAME$", waits.out, re.M)
    assert line is not None  # with what was typed, and with what was not left out
    run, digest = line.groups()
    still = agent(home, "--resume", run, app="writes")
    assert (still.code, "awaiting_approval" in still.out) == (4, True)
    forged = agent(home, "--resume", run, "--approve", "0" * 64, "--by", "mallory", app="writes")
    assert forged.code == 4
    foreign = agent(home, "--resume", run, "--approve", digest, "--by", "allen", "--tenant", "beta", app="writes")
    assert (foreign.code, "there is no run" in foreign.err, "--app or --state" in foreign.err) == (5, True, True)
    done = agent(home, "--resume", run, "--approve", digest, "--by", "allen", app="writes")
    assert (done.code, done.out.splitlines()[-1]) == (0, "done")
    again = agent(home, "--resume", run, "--approve", digest, "--by", "allen", app="writes")
    assert (again.code, "OLO753" in again.err) == (5, True)


def test_hostile_text_is_inert(home: Path) -> None:
    done = agent(home, "\x1b]0;x\x07\u202egoal", app="hostile")
    assert done.code == 0
    assert not any(sign in done.out + done.err for sign in ("\x1b", "\u202e", "\x07"))
    assert done.out.count("\nrun_completed") == 2  # the event, and a line of the answer after the result
    assert done.out.index("\nfinal_answer: ") > done.out.index("\nrun_completed")


def test_what_it_exits_with(home: Path) -> None:
    for app, code, words in (
        ("denied", 1, "the answer was denied by the egress policy"),
        ("fails", 5, "OLO753"),
        ("data", 0, '{"n": [1, 2]}'),
    ):
        done = agent(home, "go", app=app)
        assert (done.code, words in done.out + done.err) == (code, True), done


def test_what_agent_refuses_at_the_door(home: Path) -> None:
    here = name_of(home)
    for arguments, words in (
        ((), "give a GOAL, or --resume RUN"),
        (("go", "--resume", "x"), "give a GOAL, or --resume RUN"),
        (("go", "--approve", "x", "--by", "y"), "--approve goes with --resume"),
        (("--resume", "x", "--approve", "x"), "--approve and --by go together"),
        (("go", "--token-env", "X"), "--token-env goes with --server"),
        (("go", "--server", "http://127.0.0.1:1", "--token-env", "NO_SUCH_NAME"), "is not set"),
        (("go", "--server", "http://127.0.0.1:1", "--corpus", "pages"), "--server runs its own agent"),
        (("go", "--server", "ftp://x"), "OLO768"),
        (("", "--corpus", "pages"), "length >= 1"),
        (("go", "--app", here), "OLO762"),
        (("go", "--app", f"{here}:nothing"), "OLO762"),
        (("go", "--app", f"{here}:raises"), "RuntimeError: no key"),
        (("go", "--app", f"{here}:number"), "of type int, no Service"),
        (("go", "--app", "no_such_module_here:x"), "OLO762"),
        (("go", "--app", f"{here}:data", "--state", "x"), "--app brings its own tools and stores"),
        (("go", "--app", f"{here}:data", "--store-env", "HOME"), "--app brings its own tools and stores"),
        (("go", "--store", "postgresql://u:hunter2@h/d"), "give a password with --store-env NAME"),
        (("go", "--store", "postgresql://h/d?password=hunter2"), "give a password with --store-env NAME"),
        (("go", "--store", "mysql://h/d"), "--store begins neither with"),
        (("go", "--store-env", "HOME"), "--store-env: HOME begins neither with"),
        (("go", "--store-env", "NO_SUCH_NAME"), "is not set"),
        (("go", "--store", "postgresql://h/d", "--store-env", "HOME"), "not both"),
        (("go", "--corpus", "nowhere"), "does not exist"),
        (("go", "--top-k", "0"), "--top-k"),
        (("go", "--state", f"{here}.py/x"), "OLO765"),
    ):
        done = oloproof(home, "agent", *arguments)
        assert (done.code, done.out) == (2, ""), (arguments, done)
        assert words in " ".join(done.err.replace("│", " ").split()), (arguments, done.err)
        assert "hunter2" not in done.err
    assert not (home / ".oloproof").exists()


def test_what_serve_refuses_at_the_door(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORT", "acme short")
    (home / "none").write_text("# nobody\n")
    for arguments, words in (
        (("--host", "0.0.0.0"), "OLO763"),
        (("--host", "::"), "OLO763"),
        (("--host", "example.com"), "OLO763"),
        (("--tokens", "nowhere"), "cannot be read"),
        (("--tokens", "none"), "OLO761"),
        (("--tokens-env", "NO_SUCH_NAME"), "is not set"),
        (("--tokens-env", "SHORT"), "OLO761"),
        (("--tokens", "none", "--tokens-env", "SHORT"), "not both"),
        (("--max-streams", "0"), "--max-streams"),
        (("--max-seconds", "0"), "--max-seconds"),
        (("--max-seconds", "nan"), "no finite number"),
        (("--max-seconds", "inf"), "no finite number"),
        (("--tls-cert", "none"), "go together"),
        (("--tls-cert", "none", "--tls-key", "nowhere"), "OLO769"),
        (("--tls-cert", "none", "--tls-key", "none"), "OLO769"),
        (("--app", "no_such_module_here:x"), "OLO762"),
    ):
        done = oloproof(home, "serve", *arguments)
        assert (done.code, words in done.err.replace("\n", " ")) == (2, True), (arguments, done)
    assert not (home / ".oloproof").exists()
    assert os.environ["SHORT"] not in done.err
