"""The same work by public tools: cases of an agent that takes 20 steps, each judged by its calls and its answer.

Each tool is installed into a virtual environment of its own, in a temporary directory, and is used as its own pages
say; nobody asks a model. What is compared:

- The work: every program makes the same ten calls with the same arguments and results from `work.py`, and judges each
  case by the names of its calls, in their order, and by its answer. agentevals and deepeval are given trajectories and
  run no agent, which is what `oloproof judge` does, so they are held to that; the others to `oloproof run`.
- The form: a plain function for `oloproof run`; a coroutine function for pydantic-evals, which costs it less. Its own
  evaluators judge the calls that an agent has recorded as OpenTelemetry spans: with the plain SDK here, since Logfire
  costs it more. The same with the steps in the agent's output, where nothing is recorded, is measured beside it.
- What is kept: each leaves on disk, for every case, its steps and how it was judged, as far as it has a way to:
  inspect-ai its log, pydantic-evals its report as JSON, agentevals its scores, deepeval its latest run. `oloproof run`
  stores every case so that a killed run loses none, and notes each step where it outlives the agent's process.
- The measure: CPU seconds, user and system, of all processes (a wait costs nothing, a second core is not free), as
  the difference of a run of many cases and one of ten by the cases between, each the median of three. So what a tool
  costs before the first case is taken off. All is done on one core, where there can be one: two processes on two
  threads of a core slow each other, how much depends on the machine, and tools of one process would be spared it.

`python benchmarks/public_tools.py [NAME…]` runs some of them; `--keep DIRECTORY` keeps the environments for next time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import OLOPROOF, Cost, cost, row

WORK = '''
import sys
CASES = int(sys.argv[1]) if sys.argv[1:2] and sys.argv[1].isdigit() else 0
TOOLS = ("lookup_order", "search", "issue_refund", "get_user", "send_mail")

def calls(number):
    """Ten calls, each with its result: 20 steps."""
    for at in range(10):
        arguments = {"order_id": f"ord-{number}", "page": at}
        yield TOOLS[at % 5], arguments, {"status": "ok", "total": 12.5 + at}

EXPECTED = [TOOLS[at % 5] for at in range(10)]
'''

AGENT = """
from oloproof import current_case, system
from work import calls

@system(name="agent", version="1", records=("agent_trajectory/v1",))
def run(number):
    with current_case().trace() as trace:
        for tool, arguments, result in calls(number):
            trace.tool_call(tool, arguments)
            trace.tool_result(tool, result)
    return {"answer": "refunded"}
"""

TRIVIAL = """
def run(number):
    return {"answer": "refunded"}
"""

AGENTEVALS = """
import json
from agentevals.trajectory.match import create_trajectory_match_evaluator
from work import CASES, calls

def messages(number):
    found = [{"role": "user", "content": str(number)}]
    for at, (tool, arguments, result) in enumerate(calls(number)):
        function = {"name": tool, "arguments": json.dumps(arguments)}
        found.append({"role": "assistant", "content": "", "tool_calls": [{"id": str(at), "function": function}]})
        found.append({"role": "tool", "tool_call_id": str(at), "content": json.dumps(result)})
    return [*found, {"role": "assistant", "content": "refunded"}]

evaluate = create_trajectory_match_evaluator(trajectory_match_mode="strict")
results = [evaluate(outputs=messages(n), reference_outputs=messages(n)) for n in range(CASES)]
open("scores.json", "w").write(json.dumps(results))
assert all(result["score"] for result in results)
"""

PYDANTIC_EVALS = """
import json
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected, TrajectoryMatch
from pydantic_evals.reporting import EvaluationReportAdapter
from work import CASES, EXPECTED, calls

trace.set_tracer_provider(TracerProvider())
tracer = trace.get_tracer("agent")

async def run(number):
    for tool, arguments, result in calls(number):
        told = {"gen_ai.tool.name": tool, "gen_ai.tool.call.arguments": json.dumps(arguments)}
        with tracer.start_as_current_span(f"execute_tool {tool}", attributes=told) as span:
            span.set_attribute("gen_ai.tool.call.result", json.dumps(result))
    return {"answer": "refunded"}

cases = [Case(name=f"c{n}", inputs=n, expected_output={"answer": "refunded"}) for n in range(CASES)]
judged = [EqualsExpected(), TrajectoryMatch(expected_trajectory=EXPECTED, order="exact")]
report = Dataset(name="refunds", cases=cases, evaluators=judged).evaluate_sync(run, progress=False)
open("report.json", "wb").write(EvaluationReportAdapter.dump_json(report))
averages = report.averages()
assert len(report.cases) == CASES and averages.assertions == averages.scores["TrajectoryMatch"] == 1
"""

PYDANTIC_EVALS_IN_OUTPUT = """
from dataclasses import dataclass
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator
from pydantic_evals.reporting import EvaluationReportAdapter
from work import CASES, EXPECTED, calls

async def run(number):
    steps = []
    for tool, arguments, result in calls(number):
        steps.append({"kind": "tool_call", "tool_name": tool, "arguments": arguments})
        steps.append({"kind": "tool_result", "tool_name": tool, "result": result})
    return {"answer": "refunded", "steps": steps}

@dataclass
class Answer(Evaluator):
    def evaluate(self, ctx):
        return ctx.output["answer"] == ctx.expected_output["answer"]

@dataclass
class Tools(Evaluator):
    def evaluate(self, ctx):
        return [s["tool_name"] for s in ctx.output["steps"] if s["kind"] == "tool_call"] == ctx.expected_output["tools"]

expected = {"answer": "refunded", "tools": EXPECTED}
cases = [Case(name=f"c{n}", inputs=n, expected_output=expected) for n in range(CASES)]
report = Dataset(name="refunds", cases=cases, evaluators=[Answer(), Tools()]).evaluate_sync(run, progress=False)
open("report.json", "wb").write(EvaluationReportAdapter.dump_json(report))
assert len(report.cases) == CASES and report.averages().assertions == 1
"""

DEEPEVAL = """
from deepeval import evaluate
from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
from deepeval.metrics import ToolCorrectnessMetric
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import LLMTestCase, ToolCall
from work import CASES, EXPECTED, calls

class Nobody(DeepEvalBaseLLM):
    def __init__(self): pass
    def load_model(self): return self
    def generate(self, *_, **__): raise AssertionError("no model is asked")
    async def a_generate(self, *_, **__): raise AssertionError("no model is asked")
    def get_model_name(self): return "nobody"

def case(number):
    called = [ToolCall(name=t, input_parameters=a, output=r) for t, a, r in calls(number)]
    expected = [ToolCall(name=tool) for tool in EXPECTED]
    return LLMTestCase(input=str(number), actual_output="refunded", tools_called=called, expected_tools=expected)

metric = ToolCorrectnessMetric(model=Nobody(), should_consider_ordering=True, include_reason=False, async_mode=False)
result = evaluate(
    [case(number) for number in range(CASES)], [metric], async_config=AsyncConfig(run_async=False),
    display_config=DisplayConfig(show_indicator=False, print_results=False),
    cache_config=CacheConfig(write_cache=False),
)
assert sum(each.success for each in result.test_results) == CASES
"""

INSPECT = """
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageTool, ModelOutput
from inspect_ai.scorer import CORRECT, INCORRECT, Score, accuracy, scorer
from inspect_ai.solver import solver
from inspect_ai.tool import ToolCall
import json
from work import CASES, EXPECTED, calls

@solver
def agent():
    async def solve(state, generate):
        for at, (tool, arguments, result) in enumerate(calls(state.sample_id)):
            asked = [ToolCall(id=str(at), function=tool, arguments=arguments)]
            state.messages.append(ChatMessageAssistant(content="", tool_calls=asked))
            state.messages.append(ChatMessageTool(content=json.dumps(result), tool_call_id=str(at), function=tool))
        state.output = ModelOutput.from_content("mockllm/model", "refunded")
        return state
    return solve

@scorer(metrics=[accuracy()])
def judged():
    async def score(state, target):
        called = [c.function for m in state.messages for c in getattr(m, "tool_calls", None) or ()]
        is_right = called == EXPECTED and state.output.completion == target.text
        return Score(value=CORRECT if is_right else INCORRECT)
    return score

samples = [Sample(id=number, input=str(number), target="refunded") for number in range(CASES)]
task = Task(dataset=MemoryDataset(samples), solver=agent(), scorer=judged())
(log,) = eval(task, model="mockllm/model", display="none", log_dir="written")
assert log.status == "success" and log.results.scores[0].metrics["accuracy"].value == 1
"""

FEW = 10

QUIET = {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "LANGSMITH_TRACING": "false", "LOGFIRE_SEND_TO_LOGFIRE": "false"}


@dataclass(frozen=True)
class Tool:
    """A public tool: what it is called here, the program that uses it, how many times less a case is to cost here, and
    whether it only judges trajectories that are there, as `oloproof judge` does. ``needs`` are its packages, () where
    that is its name; ``cases`` so many that a few hundredths of a second make little of a difference to one."""

    name: str
    program: str
    times: float | None = None
    is_given_trajectories: bool = False
    cases: int = 500
    keeps_every_run: bool = False
    needs: tuple[str, ...] = ()


TOOLS = (
    Tool("inspect-ai", INSPECT, 40, keeps_every_run=True),
    Tool("agentevals", AGENTEVALS, 10, is_given_trajectories=True, cases=1_000),
    Tool("pydantic-evals", PYDANTIC_EVALS, 3, cases=4_000, needs=("pydantic-evals", "opentelemetry-sdk")),
    Tool("pydantic-evals, steps in the output", PYDANTIC_EVALS_IN_OUTPUT, cases=4_000, needs=("pydantic-evals",)),
    Tool("deepeval", DEEPEVAL, is_given_trajectories=True),
)


@dataclass(frozen=True)
class Spent:
    """By each case: microseconds of CPU and bytes on disk; and the peak memory of the largest process."""

    us: float
    disk: float
    peak_mib: float


def oloproof(root: Path, name: str, app: str, *, cases: tuple[int, int], evaluators: str, system: str) -> Spent:
    """What a case costs us, worker processes included; recordings are made before."""
    command = "judge" if "recorded" in system else "run"
    costs = []
    for count in cases:
        place = root / f"{name}-{count}"
        place.mkdir()
        (place / "work.py").write_text(WORK)
        (place / "app.py").write_text(app)
        (place / "oloproof.yaml").write_text(
            "{version: 1, project: refunds, dataset: cases.jsonl, policy: none,"
            f" system: {{{system}}}, evaluators: {evaluators}}}"
        )
        calls, tools = _work()
        expected = {"answer": "refunded", "tools": tools}
        rows = ({"id": f"c{number}", "input": number, "expected": expected} for number in range(count))
        _write_lines(place / "cases.jsonl", rows)
        if command == "judge":
            _write_lines(place / "traces.jsonl", (_recording(number, calls(number)) for number in range(count)))
        costs.append((cost([*OLOPROOF, command], cwd=place, repeats=3), _bytes_in(place / ".oloproof") / 3))
    return _each(costs, cases)


def _recording(number: int, calls: Iterable[tuple[str, object, object]]) -> dict[str, object]:
    steps: list[dict[str, object]] = []
    for tool, arguments, result in calls:
        steps.append({"index": len(steps) + 1, "kind": "tool_call", "tool_name": tool, "arguments": arguments})
        steps.append({"index": len(steps) + 1, "kind": "tool_result", "tool_name": tool, "result": result})
    trajectory = {"steps": steps, "terminal_status": "success"}
    return {"case": f"c{number}", "output": {"answer": "refunded"}, "trajectory": trajectory}


def _write_lines(path: Path, rows: Iterable[object]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def measured(tool: Tool, root: Path, environments: Path) -> Spent:
    """What a case costs another tool. CalledProcessError where it cannot be installed or used."""
    python = _installed(tool.needs or (tool.name,), environments)
    cases, costs = (FEW, FEW + tool.cases), []
    for count in cases:
        place = root / f"{tool.name}-{count}"
        place.mkdir()
        (place / "work.py").write_text(WORK)
        (place / "program.py").write_text(tool.program)
        before = _bytes_in(place)
        spent = cost([str(python), "program.py", str(count)], cwd=place, repeats=3)
        written = _bytes_in(place, but="__pycache__") - before
        costs.append((spent, max(0, written) / (3 if tool.keeps_every_run else 1)))
    return _each(costs, cases)


def _each(costs: list[tuple[Cost, float]], cases: tuple[int, int]) -> Spent:
    (few, few_bytes), (many, many_bytes) = costs
    more = cases[1] - cases[0]
    return Spent((many.cpu_s - few.cpu_s) / more * 1e6, (many_bytes - few_bytes) / more, many.peak_mib)


def _installed(packages: tuple[str, ...], environments: Path) -> Path:
    place = environments / "-".join(packages)
    python = place / "bin" / "python"
    if not python.exists():
        venv.create(place, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True, stderr=subprocess.PIPE)
    return python


def _work() -> tuple[Callable[[int], Iterable[tuple[str, object, object]]], list[str]]:
    """The calls of a case, and the tools that it is to call, as every program here has them."""
    namespace: dict[str, Any] = {}
    exec(WORK, namespace)
    return namespace["calls"], namespace["EXPECTED"]


def _bytes_in(place: Path, *, but: str = "") -> int:
    return sum(path.stat().st_size for path in place.rglob("*") if path.is_file() and not (but and but in path.parts))


def _told(name: str, spent: Spent) -> None:
    print(f"{name:<40} {spent.us:>10,.0f} µs a case {spent.disk:>9,.0f} bytes on disk {spent.peak_mib:>8,.0f} MiB")


def _compare(tool: Tool, spent: Spent, *, run: Spent, judge: Spent) -> None:
    """Both commands beside a tool; the goal is for the one that does the same."""
    times = {"run": spent.us / run.us, "judge": spent.us / judge.us}
    like = "judge" if tool.is_given_trajectories else "run"
    goal = "" if tool.times is None else f"; goal for {like} ≥ {tool.times:g} ×"
    met = "" if tool.times is None or times[like] >= tool.times else "   MISSED"
    print(f"{tool.name} costs {times['run']:.1f} × run, {times['judge']:.1f} × judge{goal}{met}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="tools to compare with; default: all")
    parser.add_argument("--keep", type=Path, metavar="DIRECTORY", help="where environments are kept for next time")
    asked = parser.parse_args()
    os.environ.update(QUIET)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        right = "{type: contains, criterion: right, field: answer, expected_field: answer}"
        judged, answers = f"[{right}, {{type: agent_tool_sequence}}]", f"[{right}]"
        few, many = FEW, FEW + 4_000
        live, recorded = "callable: 'app:run'", "recorded: traces.jsonl"
        ours = oloproof(root, "agent", AGENT, cases=(few, many), evaluators=judged, system=live)
        judging = oloproof(root, "recorded", "", cases=(few, many), evaluators=judged, system=recorded)
        trivial = oloproof(root, "trivial", TRIVIAL, cases=(few, many), evaluators=answers, system=live)
        isolated = f"{live}, isolation: process"
        process = oloproof(root, "process", TRIVIAL, cases=(few, 1_010), evaluators=answers, system=isolated)
        _told("oloproof run", ours)
        _told("oloproof judge, of recordings", judging)
        others: dict[str, Spent] = {}
        for tool in TOOLS:
            if asked.names and tool.name not in asked.names:
                continue
            try:
                others[tool.name] = measured(tool, root, asked.keep or root)
            except (subprocess.CalledProcessError, SystemExit) as error:
                print(f"{tool.name}: not measured: {str(error).strip()[-300:]}", file=sys.stderr)
                continue
            _told(tool.name, others[tool.name])
        row("oloproof, a trivial callable", trivial.us, "µs a case", 150)
        row("the same with isolation: process", process.us, "µs a case", 2_000)
        for tool in TOOLS:
            if tool.name in others:
                _compare(tool, others[tool.name], run=ours, judge=judging)


if __name__ == "__main__":
    main()
