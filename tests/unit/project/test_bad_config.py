# ruff: noqa: E501 (a message is on one line)
"""Everything that can be wrong with oloproof.yaml and the policy in it: the exact message, its place, code and hint."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from oloproof.errors import UsageError
from oloproof.evaluators import EVALUATORS
from oloproof.project import load

BASE = """version: 1
project: p
dataset: d.jsonl
system: {callable: "app:run"}
evaluators:
  - {type: contains, criterion: right, field: answer, value: x}
"""
EV = "  - {type: contains, criterion: right, field: answer, value: x}\n"


class Bad(NamedTuple):
    """A configuration, what is said of it (without the file's name) and the hint of the first problem."""

    name: str
    text: str | bytes
    problems: list[str]
    hint: str


def alter(*replacements: tuple[str, str], tail: str = "") -> str:
    """The sound configuration with something replaced or added."""
    text = BASE
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return text + tail


def pol(body: str) -> str:
    """The sound configuration with a metric and a policy."""
    metrics = "metrics:\n  - {id: p95, type: quantile, source: agent_steps, quantile: 0.95}\n"
    return alter(tail=f"{metrics}policy:\n{body}")


def rule(text: str, extra: str = "") -> str:
    """… with a policy of one rule."""
    return pol(f"{extra}  rules:\n    - {text}\n")


TOKEN = "1:10: not valid YAML: found character that cannot start any token (while scanning for the next token) [OLO103]"
COLUMN = "the keys of one mapping, or the items of one list, begin in the same column; a key ends in ': '"
TABLE = [
    Bad("empty", "", ["1:1: the file is empty [OLO103]"], ""),
    Bad("comment", "# x\n", ["1:1: the file is empty [OLO103]"], ""),
    Bad("list", "- 1\n", ["1:1: the configuration must be a mapping, found a list [OLO107]"], ""),
    Bad("scalar", "hello", ["1:1: the configuration must be a mapping, found the string 'hello' [OLO107]"], ""),
    Bad("null", "~", ["1:1: the configuration has no value; it must be a mapping [OLO107]"], ""),
    Bad(
        "syntax",
        "version: 1\nproject: [a\n",
        ["3:1: not valid YAML: did not find expected ',' or ']' (while parsing a flow sequence) [OLO103]"],
        "a bracket is not closed above, or a text that holds a comma, a colon or a bracket stands without quotes",
    ),
    Bad(
        "column",
        "evaluators:\n  - {type: contains}\n - {type: regex}\n",
        ["3:2: not valid YAML: did not find expected key (while parsing a block mapping) [OLO103]"],
        COLUMN,
    ),
    Bad(
        "inset",
        "version: 1\n  project: p\n",
        ["2:10: not valid YAML: mapping values are not allowed in this context [OLO103]"],
        COLUMN,
    ),
    Bad(
        "two-colons",
        "version: 1\nproject: a: b\n",
        ["2:11: not valid YAML: mapping values are not allowed in this context [OLO103]"],
        "a value that holds ': ' is written in quotes",
    ),
    Bad(
        "open-quote",
        'version: 1\nproject: "p\ndataset: d\n',
        ["4:1: not valid YAML: found unexpected end of stream (while scanning a quoted scalar) [OLO103]"],
        "the quotation mark on line 2 is not closed",
    ),
    Bad(
        "at",
        "project: @p\n",
        [TOKEN],
        "a text that begins with @ is written in quotes",
    ),
    Bad(
        "tab",
        "version: 1\nsystem:\n\tcallable: app:run\n",
        [
            "3:1: not valid YAML: found character that cannot start any token (while scanning for the next token) [OLO103]"
        ],
        "indent with spaces: YAML allows no tabs there",
    ),
    Bad(
        "colon",
        "project: a: b\n",
        ["1:11: not valid YAML: mapping values are not allowed in this context [OLO103]"],
        "a value that holds ': ' is written in quotes",
    ),
    Bad(
        "latin1",
        b"version: 1\nproject: caf\xe9\n",
        ["2:13: not UTF-8: byte 0xe9 (invalid continuation byte) [OLO102]"],
        "save the file as UTF-8",
    ),
    Bad(
        "utf16",
        "version: 1".encode("utf-16"),
        ["1:1: not UTF-8: byte 0xff (invalid start byte) [OLO102]"],
        "save the file as UTF-8",
    ),
    Bad("gzip", b"\x1f\x8b\x08\x00", [" the file is compressed (gzip) [OLO102]"], "decompress it first"),
    Bad(
        "control",
        "version: 1\nproject: a\x07b\n",
        ["2:11: not valid YAML: U+0007 is not allowed [OLO103]"],
        "remove the character",
    ),
    Bad(
        "two docs",
        alter(tail="---\nversion: 1\n"),
        ["7:1: a second document starts here [OLO110]"],
        "keep one document in the file",
    ),
    Bad(
        "tag",
        alter(("project: p", "project: !!python/object:os.system p")),
        ["2:10: the tag '!!python/object:os.system' is not read [OLO110]"],
        'remove it; a string is written in quotes: "2"',
    ),
    Bad(
        "strtag",
        alter(("project: p", "project: !!str 2")),
        ["2:10: the tag '!!str' is not read [OLO110]"],
        'remove it; a string is written in quotes: "2"',
    ),
    Bad(
        "dupkey",
        alter(("project: p", "project: p\nproject: q")),
        ["3:1: duplicate key 'project', first on line 2 [OLO109]"],
        "keep one of them",
    ),
    Bad("intkey", alter(tail="1: x\n"), ["7:1: the key '1' is not a string [OLO110]"], 'write it in quotes: "1"'),
    Bad(
        "boolkey",
        alter(tail="true: x\n"),
        ["7:1: the key 'true' is not a string [OLO110]"],
        'write it in quotes: "true"',
    ),
    Bad("listkey", alter(tail="? [a]\n: b\n"), ["7:3: a key must be a string, found a list or a mapping [OLO110]"], ""),
    Bad("nullkey", alter(tail="~: b\n"), ["7:1: the key '~' is not a string [OLO110]"], 'write it in quotes: "~"'),
    Bad(
        "unknown alias",
        alter(("project: p", "project: *p")),
        ["2:10: the alias *p names no anchor above it [OLO110]"],
        "",
    ),
    Bad("self alias", alter(tail="slices: &a [*a]\n"), ["7:13: the alias *a contains itself [OLO110]"], ""),
    Bad(
        "merge",
        alter(tail="<<: {a: 1}\n"),
        ["7:1: unknown key '<<' [OLO105]"],
        "merge keys are not part of YAML 1.2; write the keys out",
    ),
    Bad(
        "bomb",
        "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n",
        ["4:29: aliases expand to more than 10,000 values [OLO110]"],
        "write the values out",
    ),
    Bad("deep", "a: " + "[" * 70 + "]" * 70, ["1:67: nested more than 64 levels deep [OLO110]"], ""),
    Bad(
        "digits",
        alter(("version: 1", "version: " + "1" * 500)),
        [
            "1:10: a number of more than 400 digits [OLO110]",
            "1:10: version must be 1, found the integer … (500 characters) [OLO108]",
        ],
        "",
    ),
    Bad(
        "unknown key",
        alter(tail="min_slice_suport: 3\n"),
        ["7:1: unknown key 'min_slice_suport' [OLO105]"],
        "did you mean 'min_slice_support'?",
    ),
    Bad(
        "unknown key far",
        alter(tail="zzz: 3\n"),
        ["7:1: unknown key 'zzz' [OLO105]"],
        "the keys are: version, project, system, evaluators, dataset, cases, trials, cluster, metrics, executor, ray, interval, slices, min_slice_support, redact, policy",
    ),
    Bad(
        "missing project", alter(("project: p\n", "")), ["1:1: the configuration needs the key 'project' [OLO106]"], ""
    ),
    Bad(
        "missing several",
        "version: 1\n",
        [
            "1:1: the configuration needs the key 'project' [OLO106]",
            "1:1: the configuration needs the key 'system' [OLO106]",
            "1:1: the configuration needs the key 'evaluators' [OLO106]",
        ],
        "",
    ),
    Bad(
        "version str",
        alter(("version: 1", 'version: "1"')),
        ["1:10: version must be 1, found the string '1' [OLO107]"],
        "",
    ),
    Bad("version true", alter(("version: 1", "version: true")), ["1:10: version must be 1, found true [OLO107]"], ""),
    Bad(
        "version float",
        alter(("version: 1", "version: 1.0")),
        ["1:10: version must be 1, found the number 1.0 [OLO107]"],
        "",
    ),
    Bad(
        "version 2", alter(("version: 1", "version: 2")), ["1:10: version must be 1, found the integer 2 [OLO108]"], ""
    ),
    Bad(
        "project int",
        alter(("project: p", "project: 7")),
        ["2:10: project must be a string, found the integer 7 [OLO107]"],
        'write it in quotes: "7"',
    ),
    Bad("project empty", alter(("project: p", 'project: ""')), ["2:10: project must not be empty [OLO108]"], ""),
    Bad(
        "project blank",
        alter(("project: p", "project:")),
        ["2:9: project has no value; it must be a string [OLO107]"],
        "",
    ),
    Bad(
        "project null",
        alter(("project: p", "project: null")),
        ["2:10: project has no value; it must be a string [OLO107]"],
        "",
    ),
    Bad(
        "project map",
        alter(("project: p", "project: {a: b}")),
        ["2:10: project must be a string, found a mapping [OLO107]"],
        "",
    ),
    Bad(
        "support str",
        alter(tail='min_slice_support: "3"\n'),
        ["7:20: min_slice_support must be an integer, found the string '3' [OLO107]"],
        "write it without quotes: 3",
    ),
    Bad(
        "support bool",
        alter(tail="min_slice_support: true\n"),
        ["7:20: min_slice_support must be an integer, found true [OLO107]"],
        "",
    ),
    Bad(
        "support float",
        alter(tail="min_slice_support: 3.0\n"),
        ["7:20: min_slice_support must be an integer, found the number 3.0 [OLO107]"],
        "write 3",
    ),
    Bad(
        "support zero",
        alter(tail="min_slice_support: 0\n"),
        ["7:20: min_slice_support must be at least 1, found 0 [OLO108]"],
        "",
    ),
    Bad(
        "interval method",
        alter(tail="interval: {method: wilsn}\n"),
        ["7:20: method must be exact or wilson, found the string 'wilsn' [OLO108]"],
        "did you mean 'wilson'?",
    ),
    Bad(
        "interval level",
        alter(tail="interval: {level: 95}\n"),
        ["7:19: level must be at least 0.5 and less than 1, found 95 [OLO108]"],
        "",
    ),
    Bad(
        "interval level nan",
        alter(tail="interval: {level: .nan}\n"),
        ["7:19: level must be a finite number, found .nan [OLO108]"],
        "",
    ),
    Bad(
        "interval list",
        alter(tail="interval: [wilson]\n"),
        ["7:11: interval must be a mapping, found a list [OLO107]"],
        "",
    ),
    Bad(
        "dataset missing",
        alter(("d.jsonl", "e.jsonl")),
        ["3:10: the dataset 'e.jsonl' does not exist [OLO116]"],
        "a path is relative to the directory of the configuration",
    ),
    Bad("dataset dir", alter(("d.jsonl", ".")), ["3:10: the dataset '.' is a directory [OLO116]"], "name a file in it"),
    Bad(
        "no dataset",
        alter(("dataset: d.jsonl\n", "")),
        ["1:1: the configuration needs the key 'dataset' [OLO106]"],
        "a system is run on its cases",
    ),
    Bad(
        "cases",
        alter(tail="cases: 4\n"),
        ["7:1: cases is for recordings that are their own dataset, and there is a dataset [OLO115]"],
        "remove one of the two",
    ),
    Bad(
        "cases zero",
        alter(("dataset: d.jsonl", "cases: 0"), ('callable: "app:run"', "recorded: r.jsonl")),
        ["3:8: cases must be at least 1, found 0 [OLO108]"],
        "",
    ),
    Bad(
        "system none",
        alter(('{callable: "app:run"}', "{name: x}")),
        ["4:9: system needs one of callable, command, http and recorded [OLO115]"],
        "callable: module:function runs your code; recorded: traces.jsonl judges what was recorded",
    ),
    Bad(
        "system both",
        alter(('{callable: "app:run"}', '{callable: "app:run", recorded: r.jsonl}')),
        ["4:9: system needs one of callable, command, http and recorded, not callable and recorded [OLO115]"],
        "callable: module:function runs your code; recorded: traces.jsonl judges what was recorded",
    ),
    Bad(
        "system str",
        alter(('{callable: "app:run"}', "app:run")),
        ["4:9: system must be a mapping, found the string 'app:run' [OLO107]"],
        "write {callable: app:run}",
    ),
    Bad(
        "system path",
        alter(('{callable: "app:run"}', "agent.py")),
        ["4:9: system must be a mapping, found the string 'agent.py' [OLO107]"],
        "",
    ),
    Bad(
        "interval str",
        alter(tail="interval: wilson\n"),
        ["7:11: interval must be a mapping, found the string 'wilson' [OLO107]"],
        "write {method: wilson}",
    ),
    Bad(
        "ev words",
        alter((EV, "  - is it right\n")),
        ["6:5: an evaluator must be a mapping, found the string 'is it right' [OLO107]"],
        "",
    ),
    Bad(
        "http str",
        alter(('callable: "app:run"', "http: http://localhost:8000/ask")),
        ["4:16: http must be a mapping, found the string 'http://localhost:8000/ask' [OLO107]"],
        "write {url: http://localhost:8000/ask}",
    ),
    Bad(
        "callable",
        alter(("app:run", "app.run")),
        ["4:20: callable must be module:function, found 'app.run' [OLO108]"],
        "did you mean 'app:run'?",
    ),
    Bad(
        "version num",
        alter(('"app:run"', '"app:run", version: 2026')),
        ["4:40: version must be a string, found the integer 2026 [OLO107]"],
        'write it in quotes: "2026"',
    ),
    Bad(
        "records",
        alter(('"app:run"', '"app:run", records: [agent_trajectory/v2]')),
        ["4:41: an item of records must be agent_trajectory/v1, found the string 'agent_trajectory/v2' [OLO108]"],
        "did you mean 'agent_trajectory/v1'?",
    ),
    Bad(
        "records str",
        alter(('"app:run"', '"app:run", records: agent_trajectory/v1')),
        ["4:40: records must be a list, found the string 'agent_trajectory/v1' [OLO107]"],
        "write [agent_trajectory/v1]",
    ),
    Bad(
        "timeout zero",
        alter(('"app:run"', '"app:run", timeout_s: 0')),
        ["4:42: timeout_s must be more than 0 and at most 604800, found 0 [OLO108]"],
        "",
    ),
    Bad(
        "timeout inf",
        alter(('"app:run"', '"app:run", timeout_s: .inf')),
        ["4:42: timeout_s must be a finite number, found .inf [OLO108]"],
        "",
    ),
    Bad(
        "timeout str",
        alter(('"app:run"', '"app:run", timeout_s: 60s')),
        ["4:42: timeout_s must be a number, found the string '60s' [OLO107]"],
        "",
    ),
    Bad(
        "concurrency",
        alter(('"app:run"', '"app:run", concurrency: 0')),
        ["4:44: concurrency must be at least 1 and at most 1024, found 0 [OLO108]"],
        "",
    ),
    Bad(
        "retry",
        alter(('"app:run"', '"app:run", retry: {attempts: 1, on: [timeout], backoff: {first_s: 0}}')),
        [
            "4:49: attempts must be at least 2 and at most 100, found 1 [OLO108]",
            "4:57: an item of on must be connection, rate_limit or unavailable, found the string 'timeout' [OLO108]",
            "4:86: first_s must be more than 0 and at most 86400, found 0 [OLO108]",
        ],
        "",
    ),
    Bad(
        "backoff",
        alter(('"app:run"', '"app:run", retry: {backoff: {first_s: 61}}')),
        ["4:38: backoff.first_s is longer than backoff.max_s [OLO115]"],
        "raise max_s, or lower first_s",
    ),
    Bad(
        "rate",
        alter(('"app:run"', '"app:run", max_per_minute: 0')),
        ["4:47: max_per_minute must be more than 0 and at most 100000, found 0 [OLO108]"],
        "",
    ),
    Bad(
        "server",
        alter(('callable: "app:run"', "server: localhost")),
        ["4:10: unknown key 'server' [OLO105]"],
        "the keys are: name, version, callable, command, http, recorded, format, records, concurrency, timeout_s, isolation, memory_mb, "
        "max_per_minute, retry, depends_on",
    ),
    Bad(
        "glob",
        alter(('callable: "app:run"', "recorded: traces/*.jsonl")),
        ["4:20: recorded: 'traces/*.jsonl' matches no file [OLO116]"],
        "",
    ),
    Bad(
        "glob list",
        alter(('callable: "app:run"', "recorded: [r.jsonl, nope.jsonl]")),
        ["4:30: recorded: 'nope.jsonl' matches no file [OLO116]"],
        "",
    ),
    Bad(
        "rec dir",
        alter(('callable: "app:run"', "recorded: traces")),
        ["4:20: recorded: 'traces' is a directory [OLO116]"],
        "name the files in it: traces/*.jsonl",
    ),
    Bad(
        "depends on no file",
        alter(('callable: "app:run"', 'callable: "app:run", depends_on: {files: [d.jsonl, "*.md"]}')),
        ["4:61: files: '*.md' matches no file [OLO116]"],
        "",
    ),
    Bad(
        "depends on a directory",
        alter(('callable: "app:run"', 'callable: "app:run", depends_on: {files: traces}')),
        ["4:51: files: 'traces' is a directory [OLO116]"],
        "name the files in it: traces/**",
    ),
    Bad("rec empty", alter(('callable: "app:run"', "recorded: []")), ["4:20: recorded must not be empty [OLO108]"], ""),
    Bad(
        "records none",
        alter(('"app:run"', '"app:run", records: []'), tail="slices: [first_tool]\n"),
        ["4:40: slice first_tool reads trajectories, and records declares none [OLO117]"],
        "record them and write records: [agent_trajectory/v1]",
    ),
    Bad(
        "ev str",
        alter((EV, "  - contains\n")),
        ["6:5: an evaluator must be a mapping, found the string 'contains' [OLO107]"],
        "write {type: contains}",
    ),
    Bad("ev no type", alter(("type: contains, ", "")), ["6:5: an evaluator needs the key 'type' [OLO106]"], ""),
    Bad(
        "ev type int",
        alter(("type: contains", "type: 1")),
        ["6:12: type must be a string, found the integer 1 [OLO107]"],
        "",
    ),
    Bad(
        "ev unknown",
        alter(("type: contains", "type: contain")),
        ["6:12: unknown evaluator type 'contain' [OLO111]"],
        "did you mean 'contains'?",
    ),
    Bad(
        "ev unknown far",
        alter(("type: contains", "type: zzz")),
        ["6:12: unknown evaluator type 'zzz' [OLO111]"],
        f"a function of yours is module:function; the types are: {', '.join(EVALUATORS)}",
    ),
    *(
        Bad(
            f"ev {name}",
            alter(("type: contains", f"type: {name}")),
            [f"6:12: unknown evaluator type '{name}' [OLO111]"],
            hint,
        )
        for name, hint in (
            ("equals", "exact_match asks for an equal value"),
            ("is-json", "json_schema says which form the output must have"),
            ("ToolCorrectnessMetric", "agent_tool_sequence holds the calls against expected.tools"),
            (
                "llm-rubric",
                "no model judges here by itself; a function of yours may ask one: type: module:function",
            ),
        )
    ),
    Bad(
        "ev dotted",
        alter(("type: contains", "type: judges.is_right")),
        ["6:12: unknown evaluator type 'judges.is_right' [OLO111]"],
        "did you mean 'judges:is_right'?",
    ),
    Bad(
        "ev target",
        alter((EV, "  - {type: 'a b:c'}\n")),
        ["6:12: type must be module:function, found 'a b:c' [OLO108]"],
        "a module and what it holds stand on the two sides of a colon: app:run",
    ),
    Bad(
        "ev user key",
        alter((EV, "  - {type: 'a:c', max: 1}\n")),
        ["6:19: unknown key 'max' [OLO105]"],
        "the keys are: type, criterion, options, only, on_system_error",
    ),
    Bad(
        "ev key",
        alter(("field: answer", "feild: answer")),
        ["6:40: unknown key 'feild' [OLO105]"],
        "did you mean 'field'?",
    ),
    Bad(
        "ev param",
        alter(tail="  - {type: agent_no_tool_loop, max_repeats: 1.0}\n"),
        ["7:45: max_repeats must be an integer, found the number 1.0 [OLO107]"],
        "write 1",
    ),
    Bad(
        "ev param2",
        alter(tail="  - {type: agent_no_tool_loop, max_repeats: 0}\n"),
        ["7:45: max_repeats must be at least 1, found 0 [OLO108]"],
        "",
    ),
    Bad(
        "ev req",
        alter(tail="  - {type: agent_constraints_satisfied}\n"),
        ["7:5: agent_constraints_satisfied needs the key 'constraints' [OLO106]"],
        "",
    ),
    Bad(
        "ev empty",
        alter(tail="  - {type: agent_constraints_satisfied, constraints: []}\n"),
        ["7:54: constraints must not be empty [OLO108]"],
        "",
    ),
    Bad(
        "ev mode",
        alter(tail="  - {type: agent_tool_sequence, mode: inorder}\n"),
        ["7:39: mode must be any_order, exact, in_order, subset or superset, found the string 'inorder' [OLO108]"],
        "did you mean 'in_order'?",
    ),
    Bad(
        "ev confl", alter((", value: x", "")), ["6:5: expected_field: give either expected_field or value [OLO113]"], ""
    ),
    Bad(
        "ev only",
        alter((", value: x", ', value: x, only: "metadata.surface = chat"')),
        ["6:71: only: '=' means nothing here [OLO113]"],
        "  metadata.surface = chat\n                   ^",
    ),
    Bad(
        "ev minmax",
        alter(tail="  - {type: agent_tool_called, tool_name: t, min_calls: 3, max_calls: 2}\n"),
        ["7:56: min_calls 3 is more than max_calls 2 [OLO113]"],
        "",
    ),
    Bad(
        "ev counts",
        alter(tail="  - {type: agent_tool_call_counts, bounds: {t: {min: 3, max: 2}}}\n"),
        ["7:44: bounds of 't': min 3 is more than max 2 [OLO113]"],
        "",
    ),
    Bad(
        "ev count key",
        alter(tail="  - {type: agent_tool_call_counts, bounds: {t: {mx: 2}}}\n"),
        ["7:49: unknown key 'mx' [OLO105]"],
        "did you mean 'max'?",
    ),
    Bad(
        "ev errors",
        alter(tail="  - {type: agent_tool_errors, max_error_rate: 1}\n"),
        ["7:47: max_error_rate must be at least 0 and less than 1, found 1 [OLO108]"],
        "",
    ),
    Bad(
        "ev budget",
        alter(tail="  - {type: agent_budget, tool_name: t}\n"),
        ["7:5: max_latency_ms: give at least one of max_latency_ms, max_tokens and max_cost_usd [OLO113]"],
        "",
    ),
    Bad(
        "ev onerr",
        alter((", value: x", ", value: x, on_system_error: pass")),
        ["6:82: on_system_error must be fail or missing, found the string 'pass' [OLO108]"],
        "",
    ),
    Bad(
        "ev perms",
        alter((EV, "  - {type: agent_tool_permissions, permissions: {a: b}}\n")),
        ["6:53: permissions.a must be a list, found the string 'b' [OLO107]"],
        "write [b]",
    ),
    Bad(
        "ev dup",
        alter(tail=EV),
        ["7:33: two metrics are named 'right', the first on line 6 [OLO112]"],
        "give one of them its own `criterion:`",
    ),
    Bad(
        "ev none",
        alter((EV, ""), ("evaluators:\n", "evaluators: []\n")),
        ["5:13: nothing is measured [OLO108]"],
        "add an evaluator or a metric",
    ),
    Bad(
        "ev map",
        alter((EV, ""), ("evaluators:\n", "evaluators: {type: contains}\n")),
        ["5:13: evaluators must be a list, found a mapping [OLO107]"],
        "",
    ),
    Bad(
        "ev nan",
        alter((EV, "  - {type: exact_match, value: .nan}\n")),
        ["6:32: .nan is not a finite number [OLO108]"],
        "JSON has no such value",
    ),
    Bad(
        "metric type",
        alter(tail="metrics: [{id: m, type: quantil, source: tokens, quantile: 0.5}]\n"),
        ["7:25: unknown metric type 'quantil' [OLO111]"],
        "did you mean 'quantile'?",
    ),
    Bad(
        "metric source",
        alter(tail="metrics: [{id: m, type: quantile, source: token, quantile: 0.5}]\n"),
        [
            "7:43: source must be agent_decisions, agent_steps, agent_tool_calls, cost_usd, latency_ms or tokens, found the string 'token' [OLO108]"
        ],
        "did you mean 'tokens'?",
    ),
    Bad(
        "metric q",
        alter(tail="metrics: [{id: m, type: quantile, source: tokens, quantile: 1}]\n"),
        ["7:61: quantile must be more than 0 and less than 1, found 1 [OLO108]"],
        "",
    ),
    Bad(
        "metric q95",
        alter(tail="metrics: [{id: m, type: quantile, source: tokens, quantile: 95}]\n"),
        ["7:61: quantile must be more than 0 and less than 1, found 95 [OLO108]"],
        "",
    ),
    Bad(
        "metric dup",
        alter(tail="metrics: [{id: right, type: quantile, source: tokens, quantile: 0.5}]\n"),
        ["7:16: two metrics are named 'right', the first on line 6 [OLO112]"],
        "give it an id of its own",
    ),
    Bad(
        "metric long",
        alter(tail="metrics: [{id: m, type: quantile, source: tokens, quantile: 5e-999}]\n"),
        ["7:61: quantile must be more than 0 and less than 1, found 5e-999 [OLO108]"],
        "",
    ),
    Bad(
        "slice",
        alter(tail="slices: [first_tol]\n"),
        ["7:10: unknown slice 'first_tol'; did you mean 'first_tool'? [OLO114]"],
        "",
    ),
    Bad(
        "slice bounds",
        alter(tail='slices: ["trajectory_length:8,4"]\n'),
        ["7:10: the bounds of slice 'trajectory_length' must be increasing positive integers, not '8,4' [OLO114]"],
        "",
    ),
    Bad(
        "slice unq",
        alter(tail="slices: [trajectory_length:4,8]\n"),
        ["7:30: a slice must be a string, found the integer 8 [OLO107]"],
        'a slice with bounds is written in quotes: "trajectory_length:4,8"',
    ),
    Bad(
        "slice dup",
        alter(tail="slices: [route, route]\n"),
        ["7:17: two slices are named 'route' [OLO112]"],
        "keep one of them",
    ),
    Bad(
        "slice no bounds",
        alter(tail="slices: [trajectory_length]\n"),
        ["7:10: slice 'trajectory_length' needs upper bounds, as in 'trajectory_length:4,8' [OLO114]"],
        "",
    ),
    Bad(
        "policy missing",
        alter(tail="policy: rel.yaml\n"),
        ["7:9: the policy 'rel.yaml' does not exist [OLO116]"],
        "to gate nothing: policy: none",
    ),
    Bad(
        "policy dir",
        alter(tail="policy: traces\n"),
        ["7:9: the policy 'traces' is a directory [OLO116]"],
        "to gate nothing: policy: none",
    ),
    Bad(
        "policy list",
        alter(tail="policy: [a]\n"),
        ["7:9: policy must be a file, a mapping or none, found a list [OLO107]"],
        "to gate nothing: policy: none",
    ),
    Bad(
        "policy null",
        alter(tail="policy:\n"),
        ["7:8: policy must be a file, a mapping or none, found nothing [OLO107]"],
        "to gate nothing: policy: none",
    ),
    Bad(
        "rule unknown metric",
        rule("{id: floor, metric: righ, min: 0.7}"),
        ["11:27: rule 'floor' names no metric 'righ' [OLO104]"],
        "did you mean 'right'?",
    ),
    Bad(
        "rule far",
        rule("{id: floor, metric: zzz, min: 0.7}"),
        ["11:27: rule 'floor' names no metric 'zzz' [OLO104]"],
        "the metrics are: right, p95",
    ),
    Bad(
        "rule none",
        rule("{id: floor, metric: right}"),
        ["11:7: a rule of kind interval_threshold needs min, max or both [OLO106]"],
        "",
    ),
    Bad(
        "rule pct",
        rule("{id: floor, metric: right, min: 70}"),
        ["11:39: min must be a share between 0 and 1, found 70 [OLO108]"],
        "write 0.7 for 70 %",
    ),
    Bad(
        "rule neg",
        rule("{id: floor, metric: right, max: -0.1}"),
        ["11:39: max must be a share between 0 and 1, found -0.1 [OLO108]"],
        "",
    ),
    Bad(
        "rule str",
        rule('{id: floor, metric: right, min: "0.7"}'),
        ["11:39: min must be a number, found the string '0.7' [OLO107]"],
        "write it without quotes: 0.7",
    ),
    Bad(
        "rule percent",
        rule("{id: floor, metric: right, min: 97.5%}"),
        ["11:39: min must be a number, found the string '97.5%' [OLO107]"],
        "write 0.975 for 97.5 %",
    ),
    Bad(
        "rule above",
        rule("{id: floor, metric: right, min: 0.7, max: 0.6}"),
        ["11:7: min 0.7 is above max 0.6: nothing can pass [OLO118]"],
        "",
    ),
    Bad(
        "rule kind",
        rule("{id: floor, metric: right, kind: best_effort, margin: 0.02}"),
        ["11:40: unknown rule kind 'best_effort' [OLO111]"],
        "the kinds are: interval_threshold, observed_count, superiority, non_inferiority, equivalence, max_new_failures",
    ),
    Bad(
        "rule kind near",
        rule("{id: floor, metric: right, kind: observed_counts, max_failures: 0}"),
        ["11:40: unknown rule kind 'observed_counts' [OLO111]"],
        "did you mean 'observed_count'?",
    ),
    Bad(
        "rule kind int",
        rule("{id: floor, metric: right, kind: 1}"),
        ["11:40: kind must be a string, found the integer 1 [OLO107]"],
        "",
    ),
    Bad(
        "rule count no kind",
        rule("{id: floor, metric: right, max_failures: 0}"),
        ["11:7: a rule with max_failures needs the key 'kind' [OLO106]"],
        "write kind: observed_count",
    ),
    Bad(
        "rule count quantile",
        rule("{id: floor, metric: p95, kind: observed_count, max_failures: 0}"),
        ["11:27: observed_count counts failed cases, and 'p95' is a quantile [OLO118]"],
        "give it min or max, or name a criterion",
    ),
    Bad(
        "rule count neg",
        rule("{id: floor, metric: right, kind: observed_count, max_failures: -1}"),
        ["11:70: max_failures must be at least 0, found -1 [OLO108]"],
        "",
    ),
    Bad(
        "rule count true",
        rule("{id: floor, metric: right, kind: observed_count, max_failures: true}"),
        ["11:70: max_failures must be an integer, found true [OLO107]"],
        "",
    ),
    Bad(
        "rule missing",
        rule("{id: floor, metric: right, min: 0.5, max_missing: 10}"),
        ["11:57: max_missing must be at least 0 and at most 1, found 10 [OLO108]"],
        "",
    ),
    Bad(
        "rule mincases",
        rule("{id: floor, metric: right, min: 0.5, min_cases: 0}"),
        ["11:55: min_cases must be at least 1, found 0 [OLO108]"],
        "",
    ),
    Bad(
        "rule manual",
        rule("{id: floor, metric: right, min: 0.5, requires_manual_review: yes}"),
        ["11:68: requires_manual_review must be true or false, found the string 'yes' [OLO107]"],
        "write true",
    ),
    Bad(
        "rule noid",
        rule("{metric: right, min: 0.5}"),
        ["11:7: a rule of kind interval_threshold needs the key 'id' [OLO106]"],
        "",
    ),
    Bad(
        "rule dup",
        rule("{id: a, metric: right, min: 0.5}\n    - {id: a, metric: right, max: 0.5}"),
        ["12:12: two rules have the id 'a', the first on line 11 [OLO112]"],
        "give each rule an id of its own",
    ),
    Bad(
        "rules empty",
        pol("  rules: []\n"),
        ["10:10: rules must not be empty [OLO108]"],
        "to gate nothing: policy: none",
    ),
    Bad("rules missing", pol("  confidence_level: 0.9\n"), ["10:3: the policy needs the key 'rules' [OLO106]"], ""),
    Bad("rules map", pol("  rules: {a: b}\n"), ["10:10: rules must be a list, found a mapping [OLO107]"], ""),
    Bad("rule list", rule("[a]"), ["11:7: a rule must be a mapping, found a list [OLO107]"], ""),
    Bad(
        "rule huge",
        rule("{id: a, metric: p95, max: 1e999}"),
        ["11:33: max must be a finite number, found 1e999 [OLO108]"],
        "",
    ),
    Bad("rule tiny", rule("{id: a, metric: p95, max: 0e999}"), ["11:33: max has too many digits [OLO108]"], "round it"),
    Bad(
        "rule unknown key",
        rule("{id: a, metric: p95, maximum: 3, max: 3}"),
        ["11:28: unknown key 'maximum' [OLO105]"],
        "did you mean 'max'?",
    ),
    Bad(
        "level",
        rule("{id: a, metric: right, min: 0.5}", "  confidence_level: 0.5\n"),
        ["10:21: confidence_level must be more than 0.5 and less than 1, found 0.5 [OLO108]"],
        "",
    ),
    Bad(
        "level1",
        rule("{id: a, metric: right, min: 0.5}", "  confidence_level: 1\n"),
        ["10:21: confidence_level must be more than 0.5 and less than 1, found 1 [OLO108]"],
        "",
    ),
    Bad(
        "level95",
        rule("{id: a, metric: right, min: 0.5}", "  confidence_level: 95\n"),
        ["10:21: confidence_level must be more than 0.5 and less than 1, found 95 [OLO108]"],
        "",
    ),
    Bad(
        "imethod",
        rule("{id: a, metric: right, min: 0.5}", "  interval_method: bayes\n"),
        ["10:20: interval_method must be exact or wilson, found the string 'bayes' [OLO108]"],
        "",
    ),
    Bad(
        "block",
        rule("{id: a, metric: right, min: 0.5}", "  block_on: [MANUAL_REVIEW]\n"),
        ["10:13: block_on must contain FAIL [OLO118]"],
        "add FAIL to the list",
    ),
    Bad(
        "block unknown",
        rule("{id: a, metric: right, min: 0.5}", "  block_on: [FAIL, PASS]\n"),
        [
            "10:20: an item of block_on must be FAIL, INSUFFICIENT_EVIDENCE or MANUAL_REVIEW, found the string 'PASS' [OLO108]"
        ],
        "",
    ),
    Bad(
        "block both",
        rule("{id: a, metric: right, min: 0.5}", "  warn_on: [FAIL]\n"),
        ["10:12: FAIL is in both block_on and warn_on [OLO118]"],
        "name it in one of them; block_on holds all three states unless it is written",
    ),
    Bad(
        "polver",
        rule("{id: a, metric: right, min: 0.5}", "  version: 2\n"),
        ["10:12: version must be 1, found the integer 2 [OLO108]"],
        "",
    ),
    Bad(
        "broken evaluator and a rule",
        rule("{id: a, metric: agent_tool_sequence, min: 0.5}").replace(
            "metrics:", "  - {type: agent_tool_sequence, mode: x}\nmetrics:"
        ),
        ["7:39: mode must be any_order, exact, in_order, subset or superset, found the string 'x' [OLO108]"],
        "",
    ),
]


TABLE += [
    Bad(
        "a path with a null character",
        alter(('callable: "app:run"', r'recorded: "a\0/*"'), ("dataset: d.jsonl", r'dataset: "a\0"')),
        [
            r"3:10: dataset must be a path, found 'a\x00' [OLO108]",
            r"4:20: recorded must be a path, found 'a\x00/*' [OLO108]",
        ],
        "",
    ),
    Bad(
        "a policy path with a null character",
        alter(tail='policy: "a\\0"\n'),
        [r"7:9: the policy 'a\x00' does not exist [OLO116]"],
        "to gate nothing: policy: none",
    ),
    Bad(
        "a path that is too long",
        alter(("dataset: d.jsonl", f"dataset: {'x' * 5000}")),
        ["3:10: the dataset '…' (5,000 characters) does not exist [OLO116]"],
        "a path is relative to the directory of the configuration",
    ),
]


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "d.jsonl").write_text('{"id": "a"}\n')
    (tmp_path / "r.jsonl").write_text("")
    (tmp_path / "traces").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("bad", TABLE, ids=lambda bad: bad.name)
def test_every_problem_is_told_where_it_is(bad: Bad, directory: Path) -> None:
    config = Path("oloproof.yaml")
    config.write_bytes(bad.text if isinstance(bad.text, bytes) else bad.text.encode())
    with pytest.raises(UsageError) as caught:
        load(config)
    assert [str(problem).removeprefix("oloproof.yaml:") for problem in caught.value.problems] == bad.problems
    assert caught.value.problems[0].hint == bad.hint


def test_all_problems_of_a_file_are_told_at_once(directory: Path) -> None:
    config = Path("oloproof.yaml")
    config.write_text(alter(("version: 1", "version: 2"), ("d.jsonl", "e.jsonl"), tail="min_slice_support: 0\nx: y\n"))
    with pytest.raises(UsageError) as caught:
        load(config)
    assert [problem.line for problem in caught.value.problems] == [1, 3, 7, 8]


def test_problems_of_both_files_are_told_at_once(directory: Path) -> None:
    config = Path("oloproof.yaml")
    config.write_text(alter(tail="min_slice_support: 0\n"))
    Path("release.yaml").write_text("version: 1\nrules:\n  - {id: a, metric: wrong, min: 0.5}\n")
    with pytest.raises(UsageError) as caught:
        load(config)
    assert [(problem.file, problem.line) for problem in caught.value.problems] == [
        ("oloproof.yaml", 7),
        ("release.yaml", 3),
    ]


RULES = "version: 1\nrules:\n  - {id: a, metric: right, min: 0.5}\n  - {id: b, metric: p95, max: 5}\n"
METRICS = "  - {id: p95, type: quantile, source: agent_steps, quantile: 0.95}\n"


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        (
            alter(("evaluators:", "evaluator:"), tail=f"metrics:\n{METRICS}"),
            ["the configuration needs the key 'evaluators'", "unknown key 'evaluator'"],
        ),
        (alter(tail=f"metric:\n{METRICS}"), ["unknown key 'metric'"]),
        (alter((f"evaluators:\n{EV}", "evaluators: x\n")), ["evaluators must be a list, found the string 'x'"]),
        (alter(tail="metrics: x\n"), ["metrics must be a list, found the string 'x'"]),
    ],
)
def test_what_is_measured_is_not_asked_for_where_it_could_not_be_read(
    text: str, problems: list[str], directory: Path
) -> None:
    Path("release.yaml").write_text(RULES)
    Path("oloproof.yaml").write_text(text)
    with pytest.raises(UsageError) as caught:
        load(Path("oloproof.yaml"))
    assert [problem.message for problem in caught.value.problems] == problems


def test_the_configuration_s_problems_come_before_the_policy_s(directory: Path) -> None:
    Path("a.yaml").write_text("version: 2\nrules:\n  - {id: a, metric: wrong, min: 0.5}\n")
    Path("oloproof.yaml").write_text(alter(tail="policy: a.yaml\nmin_slice_support: 0\n"))
    with pytest.raises(UsageError) as caught:
        load(Path("oloproof.yaml"))
    files = [problem.file for problem in caught.value.problems]
    assert files == ["oloproof.yaml", "a.yaml", "a.yaml"]


@pytest.mark.parametrize(
    ("parameters", "column"), [("type: regex, pattern: '('", 28), ("type: json_schema, schema: {type: strin}", 33)]
)
def test_what_an_evaluator_refuses_is_located_at_its_key(parameters: str, column: int, directory: Path) -> None:
    config = Path("oloproof.yaml")
    config.write_text(alter((EV, f"  - {{{parameters}}}\n")))
    with pytest.raises(UsageError) as caught:
        load(config)
    assert [(problem.line, problem.column, problem.code) for problem in caught.value.problems] == [
        (6, column, "OLO113")
    ]


@pytest.mark.parametrize(
    ("written", "place", "code"),
    [
        ("'never never'", (6, 37), "OLO670"),
        ("'never a(q = 1, q = 2)'", (6, 37), "OLO671"),
        ("every call is any", (6, 30), "OLO671"),
        ("a at most 99 times and b at most 99 times", (6, 30), "OLO672"),
        ('"never \\x61 b"', (6, 30), "OLO670"),
    ],
)
def test_what_is_wrong_with_a_rule_is_located_in_it(
    written: str, place: tuple[int, int], code: str, directory: Path
) -> None:
    config = Path("oloproof.yaml")
    config.write_text(alter((EV, f"  - {{type: agent_rule, rule: {written}}}\n")))
    with pytest.raises(UsageError) as caught:
        load(config)
    assert [((problem.line, problem.column), problem.code) for problem in caught.value.problems] == [(place, code)]


def test_no_depth_is_too_much(directory: Path) -> None:
    config = Path("oloproof.yaml")
    config.write_text("a: " + "[" * 5000)
    with pytest.raises(UsageError) as caught:  # some releases of PyYAML refuse it before we do
        load(config)
    assert [problem.code for problem in caught.value.problems] in (["OLO103"], ["OLO110"])
