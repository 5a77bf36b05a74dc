"""The action at the root of the repository: its shell steps run one by one, with a gh that keeps comments in a file."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from oloproof.cli.app import app

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
SHELL = [step for step in STEPS.values() if "run" in step]
LOOKUP = re.compile(r"\$\{\{ ([\w.-]+) \}\}")

GH = """#!{python}
import json, os, sys
words, state = sys.argv[1:], os.environ["GH_STATE"]
comments = json.load(open(state))
url = next(word for word in words if word.startswith("repos/"))
body = next((open(word[6:]).read() for word in words if word.startswith("body=@")), None)
if body is None:
    assert "--paginate" in words
    print(json.dumps(comments[:1]) + json.dumps(comments[1:]))
    sys.exit()
if os.environ["GH_TOKEN"] != "writes":
    sys.exit("gh: Resource not accessible by integration (HTTP 403)")
if words[words.index("--method") + 1] == "POST":
    comments.append({{"id": 100 + len(comments), "user": {{"login": "github-actions[bot]"}}, "body": body}})
else:
    next(each for each in comments if url.endswith(f"/comments/{{each['id']}}"))["body"] = body
json.dump(comments, open(state, "w"))
"""
RECORDER = """#!{python}
import json, os, sys
json.dump(sys.argv[1:], open(os.environ["SAID"], "w"))
if "--markdown" in sys.argv:
    open(sys.argv[sys.argv.index("--markdown") + 1], "w").write("## BLOCK\\n")
sys.exit(int(os.environ.get("CODE_TO_EXIT", "0")))
"""


@dataclass
class Job:
    """A job in a directory, its contexts, and what its steps said so far."""

    home: Path
    inputs: dict[str, str] = field(default_factory=dict)
    github: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)

    def value(self, text: str) -> str:
        """A value of the action with its expressions looked up."""
        return LOOKUP.sub(lambda found: self._looked_up(found[1]), str(text))

    def _looked_up(self, name: str) -> str:
        context, *rest = name.split(".")
        if context == "inputs":
            default = self.value(ACTION["inputs"][rest[0]]["default"])
            return self.inputs.get(rest[0], default)
        if context == "steps":
            return self.outputs.get(rest[0], {}).get(rest[2], "")
        known = {"runner.temp": str(self.home / "temp"), "github.action_path": str(ROOT)}
        return known.get(name) or self.github.get(name.removeprefix("github."), "")

    def run(self, name: str) -> subprocess.CompletedProcess[str]:
        """A step, as the runner runs it."""
        step, written = STEPS[name], self.home / "outputs"
        written.write_text("")
        environment = {key: self.value(value) for key, value in step.get("env", {}).items()}
        paths = [str(self.home / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.home / "repo" / self.value(step.get("working-directory", ".")),
            env={
                "PATH": os.pathsep.join(paths),
                "HOME": str(self.home),
                "GITHUB_OUTPUT": str(written),
                "GH_STATE": str(self.home / "comments"),
                "SAID": str(self.home / "said"),
                **environment,
                **self.environment,
            },
            capture_output=True,
            text=True,
        )
        if "id" in step:
            self.outputs[step["id"]] = dict(line.split("=", 1) for line in written.read_text().splitlines())
        return done

    @property
    def said(self) -> list[str]:
        """The words that the recorder was started with last."""
        words: list[str] = json.loads((self.home / "said").read_text())
        return words

    @property
    def comments(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads((self.home / "comments").read_text())
        return found


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """A job whose repository is on a branch of another, and whose oloproof says how it was called."""
    for name, text in (("gh", GH), ("oloproof", RECORDER)):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(text.format(python=sys.executable))
        program.chmod(0o755)
    (tmp_path / "repo" / "agent").mkdir(parents=True)
    (tmp_path / "comments").write_text("[]")
    made = Job(tmp_path, inputs={"directory": "agent", "token": "writes"})
    made.github = {"event.pull_request.number": "7", "repository": "us/agent", "server_url": "https://github.example"}
    made.github |= {"run_id": "11", "event.pull_request.head.sha": "a1b2c3"}
    assert made.run("Start").returncode == 0
    return made


FOOT = "\nCommit a1b2c3 · [log](https://github.example/us/agent/actions/runs/11)\n"


def git(directory: Path, *words: str) -> None:
    named = ("-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *named, *words], cwd=directory, check=True, capture_output=True)


@pytest.fixture
def branch(job: Job) -> Job:
    """The same, where main has a baseline and the change has another one."""
    base = job.home / "base"
    (base / "agent").mkdir(parents=True)
    (base / "agent" / "baseline.json").write_text("of main")
    git(base, "init", "--quiet")
    git(base, "add", ".")
    git(base, "commit", "--quiet", "-m", "x")
    git(job.home / "repo", "init", "--quiet")
    git(job.home / "repo", "remote", "add", "origin", str(base))
    (job.home / "repo" / "agent" / "baseline.json").write_text("of the change")
    job.github["base_ref"] = "main"
    return job


def test_no_value_is_ever_code() -> None:
    assert len(SHELL) == 6
    assert [step["name"] for step in SHELL if "${{" in step["run"]] == []
    assert {step["shell"] for step in SHELL} == {"bash"}
    assert [step["uses"] for step in STEPS.values() if "uses" in step] == ["actions/upload-artifact@v4"]


def test_only_a_pull_request_is_commented_on_and_always() -> None:
    assert STEPS["Comment"]["if"] == ("always() && inputs.comment == 'true' && github.event_name == 'pull_request'")
    assert STEPS["Verdict"]["if"] == "always()"
    page = (ROOT / "docs/howto/github-actions.md").read_text(encoding="utf-8")
    assert [name for name in (*ACTION["inputs"], *ACTION["outputs"]) if f"`{name}`" not in page] == []
    assert not re.search(r"^on:.*pull_request_target", page, re.M)


@pytest.mark.parametrize("command", ["run", "judge"])
def test_the_options_that_it_gives_are_there(command: str) -> None:
    found = app.get_command(click.Context(app), command)
    assert found is not None
    known = {option for parameter in found.params for option in parameter.opts}
    assert set(re.findall(r"--[a-z]+", STEPS["Run"]["run"])) <= known


@pytest.mark.parametrize(
    ("install", "words"),
    [
        ("", [str(ROOT)]),
        ("-r requirements.txt ./x", ["-r", "requirements.txt", "./x"]),
        ("a;touch$(x)", ["a;touch$(x)"]),
    ],
)
def test_what_is_installed(install: str, words: list[str], job: Job) -> None:
    python = job.home / "bin" / "python"
    python.write_text(RECORDER.format(python=sys.executable))
    python.chmod(0o755)
    job.inputs["install"] = install
    assert job.run("Install").returncode == 0
    assert job.said == ["-m", "pip", "install", "--quiet", *words]


def test_nothing_is_installed_where_that_is_said(job: Job) -> None:
    job.inputs["install"] = "none"
    assert job.run("Install").returncode == 0
    assert not (job.home / "said").exists()


@pytest.mark.parametrize("name", ["", "../x", "a b", "a'$(id)", "x" * 101, ".hidden"])
def test_a_name_that_is_none_is_refused(name: str, job: Job) -> None:
    job.inputs["name"] = name
    assert job.run("Start").returncode == 2


def test_the_baseline_is_that_of_the_branch_that_the_request_goes_to(branch: Job) -> None:
    assert branch.run("Baseline").returncode == 0
    baseline = Path(branch.outputs["start"]["reports"]) / "baseline.json"
    assert baseline.read_text() == "of main"
    branch.run("Run")
    assert branch.said[-2:] == ["--baseline", str(baseline)]


def test_without_a_baseline_nothing_is_compared(branch: Job) -> None:
    branch.inputs["baseline"] = "other.json"
    done = branch.run("Baseline")
    assert (done.returncode, done.stdout) == (
        0,
        "oloproof: the branch main has no other.json, so nothing is compared\n",
    )
    branch.run("Run")
    assert "--baseline" not in branch.said


def test_a_branch_that_cannot_be_fetched_fails_the_job(branch: Job) -> None:
    branch.github["base_ref"] = "gone"
    assert branch.run("Baseline").returncode != 0
    assert branch.run("Verdict").returncode == 5  # nothing was run


@pytest.mark.parametrize("code", [0, 1, 3, 5, 70])
def test_the_job_ends_as_the_run_did(code: int, job: Job) -> None:
    job.environment["CODE_TO_EXIT"] = str(code)
    job.inputs |= {"command": "judge traces.jsonl;x --strict", "config": "my config.yaml"}
    assert job.run("Run").returncode == code
    assert job.said[:5] == ["judge", "traces.jsonl;x", "--strict", "--config", "my config.yaml"]
    assert job.outputs["run"] == {"exit-code": str(code)}
    job.environment.clear()
    assert job.run("Verdict").returncode == code


def test_an_agent_says_nothing_to_the_next_steps(job: Job) -> None:
    # The line that the step itself writes would end what the agent began, and its verdict would stand.
    written = "exit-code=0\\nx<<exit-code=1\\n"
    forging = f'if path := os.environ.get("GITHUB_OUTPUT"): open(path, "a").write("{written}")'
    program = job.home / "bin" / "oloproof"
    program.write_text(program.read_text().replace("import json, os, sys", f"import json, os, sys\n{forging}"))
    job.environment["CODE_TO_EXIT"] = "1"
    assert job.run("Run").returncode == 1  # which fails the job, whatever the outputs say
    assert job.outputs["run"] == {"exit-code": "1"}


def test_a_request_is_commented_on_once_and_that_comment_is_updated(job: Job) -> None:
    marker = "<!-- oloproof: oloproof -->"
    others = [
        {"id": 1, "user": {"login": "mallory"}, "body": f"{marker}\n## ALLOW"},
        {"id": 2, "user": {"login": "github-actions[bot]"}, "body": "<!-- oloproof: other -->\n## ALLOW"},
        {"id": 3, "user": {"login": "github-actions[bot]"}, "body": f"I quote\n{marker}"},
        {"id": 4, "user": None, "body": None},
    ]
    (job.home / "comments").write_text(json.dumps(others))
    job.run("Run")
    assert job.run("Comment").returncode == 0
    assert job.comments == [
        *others,
        {"id": 104, "user": {"login": "github-actions[bot]"}, "body": f"{marker}\n## BLOCK\n{FOOT}"},
    ]
    report = Path(job.outputs["start"]["reports"]) / "report.md"
    report.write_text("## ALLOW `$(id)` @file\n")
    assert job.run("Comment").returncode == 0
    assert [each["id"] for each in job.comments] == [1, 2, 3, 4, 104]
    assert job.comments[-1]["body"] == f"{marker}\n## ALLOW `$(id)` @file\n{FOOT}"


def test_a_token_that_only_reads_costs_the_comment_and_nothing_else(job: Job) -> None:
    job.inputs["token"] = "reads"
    job.environment["CODE_TO_EXIT"] = "1"
    job.run("Run")
    done = job.run("Comment")
    assert done.returncode == 0
    assert done.stdout.startswith("::warning title=oloproof::the comment could not be written")
    assert job.comments == []
    job.environment.clear()
    assert job.run("Verdict").returncode == 1


def test_a_run_that_left_no_report_is_not_commented_on(job: Job) -> None:
    assert job.run("Comment").returncode == 0
    assert job.comments == []


@pytest.mark.parametrize("code", ["2", "5"])
def test_a_run_that_left_no_report_leaves_no_verdict_of_an_earlier_commit_either(code: str, job: Job) -> None:
    job.run("Run")
    job.run("Comment")
    assert "## BLOCK" in job.comments[0]["body"]
    (Path(job.outputs["start"]["reports"]) / "report.md").unlink()
    job.outputs["run"] = {"exit-code": code}
    assert job.run("Comment").returncode == 0
    (comment,) = job.comments
    told = f"## No report\n\nexit {code}, and the log says why\n"
    assert comment["body"] == f"<!-- oloproof: oloproof -->\n{told}{FOOT}"


def test_a_token_that_is_not_there_costs_the_comment_and_nothing_else(job: Job) -> None:
    job.run("Run")
    (job.home / "bin" / "gh").write_text("#!/bin/sh\necho 'gh: set the GH_TOKEN environment variable' >&2\nexit 4\n")
    done = job.run("Comment")
    assert (done.returncode, "the comment could not be read" in done.stdout) == (0, True)


@pytest.mark.parametrize("text", ["$(touch pwned)`touch pwned`; touch pwned && ' \" #", "--upload-pack=touch pwned"])
def test_branches_and_inputs_are_no_code(text: str, branch: Job) -> None:
    branch.github |= {"base_ref": text, "event.pull_request.head.sha": text, "event.pull_request.number": text}
    branch.inputs |= {"command": f"run {text}", "config": text, "baseline": text, "author": text}
    for name in ("Baseline", "Run", "Comment", "Verdict"):
        branch.run(name)
    assert list(branch.home.rglob("pwned*")) == []
    assert branch.said[0] == "run"
    assert branch.said[branch.said.index("--config") + 1] == text
