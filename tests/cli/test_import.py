"""``import``, and ``judge`` on traces of other formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fakes.projects import NONE_WRONG, oloproof, project


def messages(name: str, *tools: str) -> dict[str, Any]:
    """An OpenAI-style run that calls each tool and answers."""
    said: list[dict[str, Any]] = [{"role": "user", "content": "Refund order 7."}]
    for number, tool in enumerate(tools):
        function = {"name": tool, "arguments": '{"order": 7}'}
        said.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}],
            }
        )
        said.append({"role": "tool", "tool_call_id": f"call_{number}", "content": "ok"})
    said.append({"role": "assistant", "content": "Done."})
    return {"id": name, "messages": said}


def test_message_lists_are_imported_and_judged(tmp_path: Path) -> None:
    evaluators = [{"type": "agent_tool_called", "criterion": "looks", "tool_name": "look"}]
    directory = project(
        tmp_path,
        cases=None,
        evaluators=evaluators,
        rules=[NONE_WRONG | {"metric": "looks"}],
        system={"recorded": "traces.jsonl"},
    )
    exported = [messages("a", "look", "refund"), messages("b", "refund")]
    (directory / "export.json").write_text(json.dumps(exported))
    done = oloproof(directory, "import", "openai", "export.json", "-o", "traces.jsonl")
    assert done.code == 0
    counts = "2 trajectories, 10 steps, 3 calls (0 unanswered), 3 results (0 errors), 0 agents, 0 truncated"
    assert f"export.json: {counts}" in done.lines
    assert "wrote traces.jsonl" in done.lines
    done = oloproof(directory, "judge", "--json")
    assert done.code == 3
    assert done.verdict("looks") == (1, 1, 0, 0)
    config = (directory / "oloproof.yaml").read_text()
    (directory / "oloproof.yaml").write_text(f'{{"cases": 2, {config[1:]}')
    assert oloproof(directory, "judge").code == 1


def test_what_is_no_message_list_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "export.json").write_text('[{"role": "nobody"}, 3]')
    done = oloproof(tmp_path, "import", "openai", "export.json", "-o", "traces.jsonl")
    assert done.code == 2
    assert "export.json" in done.err
    assert not (tmp_path / "traces.jsonl").exists()


LOOKS = {"type": "agent_tool_called", "criterion": "looks", "tool_name": "look"}
REWARDED = {"type": "exact_match", "criterion": "rewarded", "field": "metadata.reward", "value": 1}


def results(*rewards: Any) -> list[dict[str, Any]]:
    """tau-bench results, one a task."""
    return [
        {
            "task_id": number,
            "trial": 0,
            "reward": reward,
            "info": {"team": "a", "task": {}},
            "traj": messages("", "look")["messages"],
        }
        for number, reward in enumerate(rewards)
    ]


def judging(directory: Path, results: list[dict[str, Any]], **config: Any) -> Path:
    """A project that judges what is in results.json, and needs all of it."""
    evaluators = [LOOKS, REWARDED]
    system = {"recorded": "results.json", "records": ["agent_trajectory/v1"], **config.pop("system", {})}
    rules = [NONE_WRONG | {"metric": "looks"}]
    project(directory, cases=None, evaluators=evaluators, rules=rules, system=system, **config)
    written = json.loads((directory / "oloproof.yaml").read_text())
    (directory / "oloproof.yaml").write_text(json.dumps(written | {"cases": len(results)}))
    (directory / "results.json").write_text(json.dumps(results))
    return directory


def test_traces_are_judged_without_a_file_between(tmp_path: Path) -> None:
    directory = judging(tmp_path, results(1.0, 0, None))
    done = oloproof(directory, "judge", "results.json", "--format", "auto", "--json")
    assert done.code == 0, done.err
    assert done.verdict("looks") == (3, 0, 0, 0)
    assert done.verdict("rewarded") == (1, 1, 1, 0)
    assert "recorded results.json (openai)" in oloproof(directory, "inspect").out
    shown = oloproof(directory, "inspect", "--case", "task_1", "--json").json
    assert shown["trajectory"]["steps"][1]["tool_name"] == "look"
    assert [judgment["verdict"] for judgment in shown["judgments"]] == ["pass", "fail"]


def test_the_configuration_may_say_the_format(tmp_path: Path) -> None:
    directory = judging(tmp_path, results(1), system={"format": "openai"}, slices=["first_tool"])
    done = oloproof(directory, "run", "--json")
    assert done.verdict("rewarded") == (1, 0, 0, 0)
    assert [row["value"] for row in done.json["slices"]] == ["look"]


def test_a_system_that_is_run_has_no_format(tmp_path: Path) -> None:
    project(tmp_path, system={"callable": "app:run", "format": "openai"})
    done = oloproof(tmp_path, "check")
    assert done.code == 2
    assert "format says what recorded files are, and the system is run" in done.err


def test_what_is_lost_is_told_beside_the_verdicts_and_refused_by_strict(tmp_path: Path) -> None:
    lost = results(1)
    lost[0]["traj"].append({"role": "tool", "tool_call_id": "9", "content": "?"})
    directory = judging(tmp_path, lost)
    told = "results.json: not carried over: 1 × results that answer no recorded call"
    assert told in oloproof(directory, "judge", "results.json", "--format", "openai", "--json").json["warnings"]
    refused = oloproof(directory, "judge", "results.json", "--format", "openai", "--strict")
    assert refused.code == 2
    assert f"{told} [OLO690]" in refused.err
    refused = oloproof(directory, "import", "openai", "results.json", "-o", "traces.jsonl", "--strict")
    assert refused.code == 2
    assert f"{told} [OLO690]" in refused.err
    assert sorted(path.name for path in directory.iterdir() if "traces" in path.name) == []


def test_more_metadata_is_kept_where_it_is_asked_for(tmp_path: Path) -> None:
    directory = judging(tmp_path, results(1))
    done = oloproof(directory, "import", "openai", "results.json", "-o", "t.jsonl", "--metadata", "team=info.team")
    assert done.code == 0
    assert json.loads((directory / "t.jsonl").read_text())["metadata"]["team"] == "a"
    done = oloproof(directory, "import", "openai", "results.json", "-o", "t.jsonl", "--metadata", "team=info.tame")
    assert (done.code, "OLO694" in done.err) == (2, True)


def test_each_file_says_what_it_was_taken_for(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(results(1)))
    (tmp_path / "b.jsonl").write_text('{"case": "c", "output": 1}\n')
    done = oloproof(tmp_path, "import", "auto", "a.json", "b.jsonl", "-o", "t.jsonl")
    assert "a.json: taken for openai (OpenAI chat messages with tool_calls, and tau-bench result files)" in done.lines
    assert "b.jsonl: taken for jsonl (recordings as `traces.jsonl` holds them)" in done.lines
    document = oloproof(tmp_path, "import", "auto", "a.json", "b.jsonl", "-o", "t.jsonl", "--json").json
    assert [(row["file"], row["format"], row["trajectories"]) for row in document["files"]] == [
        ("a.json", "openai", 1),
        ("b.jsonl", "jsonl", 1),
    ]


def test_options_of_an_import_need_a_format(tmp_path: Path) -> None:
    directory = judging(tmp_path, results(1))
    done = oloproof(directory, "judge", "results.json", "--strict")
    assert (done.code, "--metadata and --strict go with --format" in done.err) == (2, True)


def test_the_formats_are_listed(tmp_path: Path) -> None:
    done = oloproof(tmp_path, "import", "--help")
    assert "openai" in done.out
    assert "tau-bench" in done.out


def test_cases_become_a_dataset_that_another_agent_can_run_on(tmp_path: Path) -> None:
    actions = [{"name": "refund", "kwargs": {"order": 7}}, {"name": "look", "kwargs": {}}]
    info = {"task": {"user_id": "u", "instruction": "Get a refund.", "actions": actions, "outputs": []}}
    runs = [
        {"task_id": 1, "trial": at, "reward": at, "info": info, "traj": messages("", "refund")["messages"]}
        for at in (0, 1)
    ]
    (tmp_path / "tau.json").write_text(json.dumps(runs))
    done = oloproof(tmp_path, "import", "auto", "tau.json", "-o", "traces.jsonl", "--cases", "cases.jsonl")
    assert done.code == 0
    assert "wrote cases.jsonl (1 case)" in done.lines
    (row,) = map(json.loads, (tmp_path / "cases.jsonl").read_text().splitlines())
    assert (row["id"], row["input"]) == ("task_1", {"user_id": "u", "instruction": "Get a refund."})
    assert row["expected"] == {"tools": [{"tool": "refund", "arguments": {"order": 7}}, "look"]}
    assert "reward" not in row["metadata"]
    evaluators, rules = [{"type": "agent_tool_sequence"}], [NONE_WRONG | {"metric": "agent_tool_sequence"}]
    directory = project(tmp_path / "next", cases=None, dataset="../cases.jsonl", evaluators=evaluators, rules=rules)
    assert oloproof(directory, "check").code == 0
    told = oloproof(tmp_path, "import", "auto", "tau.json", "-o", "traces.jsonl", "--cases", "cases.jsonl", "--json")
    assert json.loads(told.out)["cases"] == "cases.jsonl"


def test_runs_that_were_not_asked_the_same_are_told(tmp_path: Path) -> None:
    asked = [{"id": "a", "input": at, "messages": messages("", "look")["messages"]} for at in (1, 2)]
    (tmp_path / "chats.json").write_text(json.dumps(asked))
    done = oloproof(tmp_path, "import", "openai", "chats.json", "-o", "t.jsonl", "--cases", "c.jsonl")
    assert "1 case whose runs were not asked the same: the first was taken" in done.lines


def test_the_dataset_and_the_recordings_are_two_files(tmp_path: Path) -> None:
    (tmp_path / "chats.json").write_text(json.dumps([messages("a", "look")]))
    done = oloproof(tmp_path, "import", "openai", "chats.json", "-o", "t.jsonl", "--cases", "t.jsonl")
    assert (done.code, "OLO697" in done.err) == (2, True)
    assert not (tmp_path / "t.jsonl").exists()
