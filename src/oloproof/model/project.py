"""What the user asked for, as data: ``oloproof.yaml`` once it has been read and found right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, Literal

from msgspec import UNSET, Struct, field

from oloproof.model.case import Case, Infrastructure
from oloproof.model.decision import Policy
from oloproof.model.evidence import Evaluator
from oloproof.model.measured import MIN_SLICE_SUPPORT, PassKind
from oloproof.model.redaction import SPARE_CHARS, Redaction
from oloproof.model.run import IntervalChoice
from oloproof.model.slice_values import value_text
from oloproof.model.values import lookup

SliceKind = Literal[
    "metadata",
    "first_tool",
    "repeated_action",
    "trajectory_length",
    "tool_calls",
    "handoffs",
    "route",
    "terminal_status",
]
METADATA_PREFIX = "metadata."
"""What the name of a slice by metadata starts with."""

QuantitySource = Literal["agent_decisions", "agent_steps", "agent_tool_calls", "latency_ms", "tokens", "cost_usd"]


TraceFormat = Literal[
    "adk",
    "agentdojo",
    "anthropic",
    "atif",
    "auto",
    "claude-code",
    "inspect",
    "jsonl",
    "langchain",
    "langsmith",
    "mini-swe-agent",
    "openai",
    "openai-agents",
    "openai-responses",
    "otel",
    "pydantic-ai",
    "swe-agent",
    "tau2",
]
"""What foreign traces may be read as; ``auto``: each file as what it looks like."""


Isolation = Literal["worker", "process"]
"""Whether cases share one worker process, or each has one while it runs."""


Executor = Literal["local", "ray"]
"""Where the cases of a callable run: on this machine, or on those of a Ray cluster."""

Shipping = Literal["shared", "upload"]
"""How a project's files come to other machines: they lie there under the same path, or are sent along."""


class RayExecutor(Struct, frozen=True, kw_only=True):
    """A Ray cluster. ``address`` None: the one that ``RAY_ADDRESS`` names, or else one that is started on this machine
    for the run. ``env`` names the environment variables that are taken along."""

    address: str | None = None
    code: Shipping = "shared"
    env: tuple[str, ...] = ()


class Backoff(Struct, frozen=True, kw_only=True):
    """How long an attempt waits before it is made again: ``first_s``, then twice as long each time, but never longer
    than ``max_s``."""

    first_s: float = 1.0
    max_s: float = 60.0


class Retry(Struct, frozen=True, kw_only=True):
    """Which attempts are made again: those that ended with an infrastructure error of a kind in ``on``, up to
    ``attempts`` in all."""

    attempts: int = 3
    on: tuple[Infrastructure, ...] = ("rate_limit", "connection", "unavailable")
    backoff: Backoff = Backoff()


class Launching(Struct, frozen=True, kw_only=True):
    """How attempts are launched: which are made again (None: none), and how many a minute may begin (None: as many as
    there are)."""

    retry: Retry | None = None
    max_per_minute: float | None = None


AT_ONCE = Launching()


class CallableSystem(Struct, frozen=True, kw_only=True):
    """A Python function, ``module:function``, imported by the worker with ``directory`` first on its path. Under the
    ``isolation`` process each case that runs has a worker of its own, of ``memory_mb`` at most. Of texts with a limit,
    here and in other systems, so many ``spare_chars`` more are handed on: who takes secrets out cuts them himself."""

    target: str
    directory: str
    concurrency: int = 1
    timeout_s: float = 60.0
    isolation: Isolation = "worker"
    memory_mb: int | None = None
    launching: Launching = Launching()
    spare_chars: int = 0


class CommandSystem(Struct, frozen=True, kw_only=True):
    """A program in any language: a process for each case, in ``directory``. It reads the case and prints the answer."""

    command: tuple[str, ...]
    directory: str
    concurrency: int = 1
    timeout_s: float = 60.0
    launching: Launching = Launching()
    spare_chars: int = 0


class HttpSystem(Struct, frozen=True, kw_only=True):
    """A server that answers each case to a POST. ``headers_env`` names, by header, the environment variable that holds
    its value: a secret has no place in a file."""

    url: str
    headers_env: dict[str, str] = {}
    concurrency: int = 1
    timeout_s: float = 60.0
    launching: Launching = Launching()
    spare_chars: int = 0


LiveSystem = CallableSystem | CommandSystem | HttpSystem
"""A system that is run."""


class ImportSpec(Struct, frozen=True, kw_only=True):
    """How traces of another format are read: as ``format``, with further ``metadata`` (``key=path`` each); ``strict``
    refuses what cannot be carried over whole."""

    format: TraceFormat
    metadata: tuple[str, ...] = ()
    strict: bool = False


class RecordedSystem(Struct, frozen=True, kw_only=True):
    """Trajectories recorded earlier; nothing is run. ``files`` is what the patterns matched, in sorted order.

    ``imported`` None: they are recordings as ``traces.jsonl`` holds them.
    """

    patterns: tuple[str, ...]
    files: tuple[str, ...]
    imported: ImportSpec | None = None


class DependsOn(Struct, frozen=True, kw_only=True):
    """What a system is made of besides its code: the ``files`` that the patterns matched, sorted and relative to
    ``directory``, and environment variables by name."""

    directory: str
    files: tuple[str, ...] = ()
    env: tuple[str, ...] = ()


class SystemSpec(Struct, frozen=True, kw_only=True):
    """``system:``. ``name``, ``version`` and ``records`` are None where the decorator is to say them. Without an
    ``executor`` its cases run on this machine. ``depends_on`` None: its code is all that can be seen of it."""

    kind: LiveSystem | RecordedSystem
    executor: RayExecutor | None = None
    depends_on: DependsOn | None = None
    name: str | None = None
    version: str | None = None
    records: tuple[str, ...] | None = None


class QuantileSpec(Struct, frozen=True, kw_only=True):
    """A ``metrics:`` entry. ``quantile`` is the decimal as written."""

    id: str
    source: QuantitySource
    quantile: str

    @property
    def q(self) -> Fraction:
        return Fraction(self.quantile)


class PassKSpec(Struct, frozen=True, kw_only=True):
    """A ``metrics:`` entry about ``k`` trials of a case under a criterion."""

    id: str
    type: PassKind
    criterion: str
    k: int


class SliceSpec(Struct, frozen=True, kw_only=True):
    """A ``slices:`` entry. ``name`` is what reports print (``trajectory_length``), ``bounds`` its upper bounds.

    ``kind`` is ``metadata`` (then ``path`` holds the keys) or one of the trajectory slices.
    """

    kind: SliceKind
    name: str
    path: tuple[str, ...] = ()
    bounds: tuple[int, ...] = ()


def trajectory_readers(
    evaluators: Sequence[Evaluator], metrics: Sequence[QuantileSpec], slices: Sequence[SliceSpec]
) -> Iterator[str]:
    """The names of what cannot be answered without trajectories."""
    yield from (evaluator.criterion for evaluator in evaluators if evaluator.reads == "trajectory")
    yield from (metric.id for metric in metrics)
    yield from (f"slice {spec.name}" for spec in slices if spec.kind != "metadata")


class UserEvaluatorSpec(Struct, frozen=True, kw_only=True):
    """A function that the evaluation worker must load: ``module:function``. ``bound`` are further arguments of it;
    ``origin`` is the plug-in that it comes from, "" where it is the user's or ours."""

    criterion: str
    target: str
    bound: dict[str, Any] = {}
    origin: str = ""


MOST_TRIALS = 1000


class Project(Struct, frozen=True, kw_only=True):
    """A checked project. ``policy`` None means that none was given; ``policy_none`` that this was said on purpose.

    ``trials`` is how often each case is tried; None: once, or as often as was recorded. ``cluster`` is the path into
    the metadata of a case that names its cluster; None: the dataset's own key ``cluster`` does.
    ``redact`` None: nothing is taken out of what is kept and shown.
    """

    name: str
    config: str
    directory: str
    system: SystemSpec
    evaluators: Sequence[Evaluator]
    dataset: str | None = None
    metrics: tuple[QuantileSpec, ...] = ()
    pass_k: tuple[PassKSpec, ...] = ()
    trials: int | None = None
    cluster: tuple[str, ...] | None = None
    slices: tuple[SliceSpec, ...] = ()
    interval: IntervalChoice = field(default_factory=IntervalChoice)
    min_slice_support: int = MIN_SLICE_SUPPORT
    redact: Redaction | None = None
    policy: Policy | None = None
    policy_none: bool = False
    expected_cases: int | None = None
    user_evaluators: tuple[UserEvaluatorSpec, ...] = ()
    config_digest: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def spare_chars(self) -> int:
        """How much more of texts with a limit is handed on: who takes secrets out cuts them himself."""
        return 0 if self.redact is None else SPARE_CHARS

    def cluster_of(self, case: Case) -> str | None:
        """The cluster that the case belongs to; None where it is its own."""
        if self.cluster is None:
            return case.cluster
        value = lookup(case.metadata, self.cluster)
        return None if value is UNSET or value is None else value_text(value)
