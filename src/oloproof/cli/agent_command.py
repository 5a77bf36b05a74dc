"""``oloproof agent``."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import click
from click.core import ParameterSource

from oloproof.cli.agents import service_options
from oloproof.cli.common import COUNT, TEXT, from_environment
from oloproof.errors import BrokenError, ExitCode, counted
from oloproof.reports.inert import TEXT_LIMIT, inert, inert_json, inert_lines
from oloproof.runtime import AgentEvent, AgentEventKind, AgentLoopError, AgentRunResult, Egress, StopReason
from oloproof.service import Call, Service, Surface, converse
from oloproof.service.asking import Ask, ask_from
from oloproof.service.client import STREAM_ENDED, events_from, is_in_clear
from oloproof.service.errors import Refused

_WHERE_RUNS_ARE = "a run is found by the options that it was begun with: --app or --state, --tenant, --principal"
_KIND_WIDTH = max(len(kind.value) for kind in AgentEventKind)


@click.command("agent")
@click.argument("goal", required=False, type=TEXT)
@service_options
@click.option("--tenant", type=TEXT, default="default", show_default=True, help="For whom: runs are kept by tenant.")
@click.option("--principal", type=TEXT, default="local", show_default=True, help="On whose behalf.")
@click.option("--top-k", type=click.IntRange(1, 100), default=8, show_default=True, help="How many passages.")
@click.option("--max-steps", type=click.IntRange(1, 50), default=6, show_default=True, help="The most decisions.")
@click.option("--budget-tokens", type=COUNT, help="The most tokens; no cap unless given.")
@click.option("--resume", metavar="RUN", type=TEXT, help="Go on with a run that was stopped, or waits for an approval.")
@click.option("--approve", metavar="DIGEST", type=TEXT, help="Approve the action that the run waits for.")
@click.option("--by", metavar="WHO", type=TEXT, help="Who approves.")
@click.option("--server", metavar="URL", help="Ask a running service instead of running the agent here.")
@click.option("--token-env", metavar="NAME", help="The environment variable with the server's bearer token.")
def command(opened: Callable[[], Service], **given: Any) -> None:
    """Run an agent for a GOAL and print each of its events, one a line, and its answer.

    Without --app it needs no model and no credentials: it retrieves once from --corpus and answers with what it found.

    \b
    Example:
      oloproof agent "What is a vacuous rule?" --corpus docs --top-k 3
    """
    ask = _ask(given)
    events = _events(ask, opened, given)
    raise click.exceptions.Exit(_ended(asyncio.run(_printed(events))))


def _ask(given: dict[str, Any]) -> Ask:
    goal, resume, approve, by = (given[name] for name in ("goal", "resume", "approve", "by"))
    if (goal is None) == (resume is None):
        raise click.UsageError("give a GOAL, or --resume RUN, which has one")
    if (approve is None) != (by is None):
        raise click.UsageError("--approve and --by go together: say who approves")
    if approve is not None and resume is None:
        raise click.UsageError("--approve goes with --resume")
    if given["token_env"] is not None and given["server"] is None:
        raise click.UsageError("--token-env goes with --server")
    fields = {
        "tenant_id": given["tenant"],
        "principal_id": given["principal"],
        "goal": "resume" if goal is None else goal,
        "top_k": given["top_k"],
        "max_steps": given["max_steps"],
        "budget_tokens": given["budget_tokens"],
        "resume_run_id": resume,
        "approvals": [] if approve is None else [{"digest": approve, "granted": True, "approver": by}],
    }
    try:
        return ask_from({name: value for name, value in fields.items() if value is not None})
    except Refused as refused:
        raise click.UsageError(str(refused)) from None


def _events(ask: Ask, opened: Callable[[], Service], given: dict[str, Any]) -> Any:
    server = given["server"]
    if server is None:
        call = Call(request=ask.request, surface=Surface.CLI, approvals=ask.approvals)
        return converse(opened(), call)
    name = given["token_env"]
    token = None if name is None else from_environment("--token-env", name)
    if token is not None and is_in_clear(server):
        print("the token is sent without TLS: whoever is on the way can read it", file=sys.stderr)
    return events_from(server, ask, token=token)


async def _printed(events: Any) -> AgentEvent | None:
    """Print each event as it comes; the last one."""
    last: AgentEvent | None = None
    try:
        async with aclosing(events):
            async for event in events:
                print(_line(event), flush=True)
                last = event
    except asyncio.CancelledError:  # Ctrl-C; said at once, since a function that hangs in a thread is waited for
        if last is not None:
            print(f"stopped; go on with it: {_again(last.run_id)}", file=sys.stderr, flush=True)
        raise
    return last


def _again(run_id: str) -> str:
    """The command line that goes on with a run: as it was typed, with ``--resume`` in the place of the goal."""
    context = click.get_current_context()
    words = ["oloproof", "agent"]
    for option in context.command.params:
        name = option.name or ""
        if not isinstance(option, click.Option) or name in ("resume", "approve", "by"):
            continue
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            value = context.params[name]
            for each in value if option.multiple else (value,):
                words += [max(option.opts, key=len), _pasted(str(each))]
    return " ".join([*words, "--resume", _pasted(run_id)])


def _pasted(word: str) -> str:
    """A word that may have come from a server, as it may be pasted into a shell."""
    return shlex.quote(inert(word))


def _line(event: AgentEvent) -> str:
    """An event on one line; whatever an agent or a tool said in it is inert."""
    parts = [f"{event.kind.value:<{_KIND_WIDTH}}"]
    match event.kind:
        case AgentEventKind.RUN_STARTED:
            parts.append(inert(event.run_id))
        case AgentEventKind.PHASE_CHANGED:
            parts.append("" if event.phase is None else event.phase.value)
        case AgentEventKind.TOOL_STARTED if event.tool_call is not None:
            parts += [inert(event.tool_call.tool), inert_json(event.tool_call.arguments)]
        case AgentEventKind.TOOL_COMPLETED if event.tool_result is not None:
            given = event.tool_result
            parts += ["ok", inert_json(given.value)] if given.ok else ["failed", inert(given.error or "", TEXT_LIMIT)]
        case AgentEventKind.CHECKPOINT_SAVED:
            parts.append(f"step {event.step_index}")
        case AgentEventKind.ANSWER_DELTA:
            parts.append(inert(event.text or "", TEXT_LIMIT))
        case AgentEventKind.RUN_COMPLETED if event.result is not None:
            parts.append(event.result.status.value)
        case AgentEventKind.RUN_FAILED:
            parts += [inert(event.error_code or ""), inert(event.message or "", TEXT_LIMIT)]
        case _:
            pass
    return " ".join(parts).rstrip()


def _ended(last: AgentEvent | None) -> ExitCode:
    """Print the result; what the process exits with. Errors: AgentLoopError where the run failed."""
    if last is not None and last.kind is AgentEventKind.RUN_FAILED:
        hint = _WHERE_RUNS_ARE if last.error_code == "not_resumable" else ""
        raise AgentLoopError(last.message or "the run failed", reason=last.error_code or "", hint=hint)
    if last is None or last.result is None:
        raise BrokenError(
            "the stream ended before its run did", code=STREAM_ENDED, hint="--resume goes on with the run"
        )
    result = last.result
    _print_result(result)
    if result.status is StopReason.AWAITING_APPROVAL:
        return ExitCode.MANUAL_REVIEW
    answered = result.status is StopReason.FINAL_ANSWER and result.egress is not Egress.DENIED
    return ExitCode.ALLOW if answered else ExitCode.FAIL


def _print_result(result: AgentRunResult) -> None:
    spent = result.budget_consumed
    steps, tokens = counted(spent.iterations, "decision"), counted(spent.tokens, "token")
    print(f"\n{result.status.value}: {steps}, {tokens}, {result.elapsed_ms:.0f} ms")
    if result.egress is not None:
        print(f"the answer was {result.egress.value} by the egress policy")
    if result.pending is not None:
        asked = result.pending
        print(f"waits for an approval of {inert(asked.tool)} {inert_json(asked.arguments)}; to approve it:")
        print(f"{_again(result.run_id)} --approve {_pasted(asked.digest)} --by NAME")
    if result.final_answer is not None:
        answer = result.final_answer
        for line in inert_lines(answer) if isinstance(answer, str) else [inert_json(answer)]:
            print(line)
