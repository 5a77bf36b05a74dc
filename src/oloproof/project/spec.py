"""What may be written in ``oloproof.yaml``, ``release.yaml`` and a row of a dataset, as types.

The loader checks files against these Structs and ``oloproof schema`` prints them, so the two cannot drift apart.
Descriptions are what an editor shows beside a key. A field of type ``Any`` holds a choice that the loader makes itself
(an evaluator by its ``type``, a rule by its ``kind``, a policy in three forms); it stays a node until then.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from msgspec import UNSET, Meta, Struct, UnsetType

from oloproof.model.case import Infrastructure
from oloproof.model.decision import MOST_RERUNS, IntervalMethod, Policy
from oloproof.model.measured import MIN_SLICE_SUPPORT
from oloproof.model.project import MOST_TRIALS, Executor, Isolation, QuantitySource, Retry, Shipping, TraceFormat
from oloproof.model.redaction import RULE_NAME
from oloproof.model.run import IntervalChoice
from oloproof.model.stopping import StopMethod

Name = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=1)]
TrialCount = Annotated[int, Meta(ge=1, le=MOST_TRIALS)]
Share = Annotated[float, Meta(ge=0, le=1)]
TARGET = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$"
PATH = r"^[^\x00]+$"
URL = r"^https?://[^\s/]\S*$"
CLUSTER = r"^metadata(\.[^.]+)+$"
FIELD_ROOTS = ("input", "expected", "metadata", "output", "steps", "state", "checkpoints")
FIELD = rf"^({'|'.join(FIELD_ROOTS)}|\*\*)(\.[^.]+)*$"
FORMS = {
    TARGET: "module:function",
    PATH: "a path",
    URL: "an http:// or https:// address",
    CLUSTER: "metadata.<path>",
    FIELD: f"a dotted path from {', '.join(FIELD_ROOTS)} or **",
    RULE_NAME: "a short name of a-z, 0-9 and -",
}
"""What an error message calls a pattern."""

TEXT_IS = "text_is"
"""Beside a mapping: the key for which a text was probably meant that stands there alone."""
Target = Annotated[str, Meta(pattern=TARGET)]
MetadataPath = Annotated[str, Meta(pattern=CLUSTER)]
FilePath = Annotated[str, Meta(min_length=1, pattern=PATH)]
Argument = Annotated[str, Meta(pattern=PATH)]
BlockingState = Literal["FAIL", "INSUFFICIENT_EVIDENCE", "MANUAL_REVIEW"]
RuleId = Annotated[Name, Meta(description="The rule's name in reports and approvals.")]
MinCases = Annotated[int, Meta(ge=1, description="Fewer cases than this are insufficient evidence.")]
MaxMissing = Annotated[Share | None, Meta(description="A larger share of missing cases is insufficient evidence.")]
Review = Annotated[bool, Meta(description="A pass waits for a person's approval.")]

# What a key that is left out means is said by the types that the keys become.
_SHOWN = IntervalChoice()
_DECIDING = Policy(rules=())
_RETRYING = Retry()


class HttpSection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A server that answers each case to a POST."""

    url: Annotated[str, Meta(pattern=URL, description="Where each case is posted.")]
    headers_env: Annotated[
        dict[Name, Name], Meta(description="By header, the environment variable that holds its value.")
    ] = {}


Seconds = Annotated[float, Meta(gt=0, le=86_400)]


class BackoffSection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long an attempt waits before it is made again; twice as long each time."""

    first_s: Annotated[Seconds, Meta(description="Seconds before the second attempt.")] = _RETRYING.backoff.first_s
    max_s: Annotated[
        Seconds, Meta(description="Never longer, also where a service asks for more: then it is not made again.")
    ] = _RETRYING.backoff.max_s


class RetrySection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Attempts that ended with an infrastructure error are made again."""

    attempts: Annotated[int, Meta(ge=2, le=100, description="How many in all, the first included.")] = (
        _RETRYING.attempts
    )
    on: Annotated[
        tuple[Infrastructure, ...], Meta(min_length=1, description="The kinds of error after which one is made again.")
    ] = _RETRYING.on
    backoff: BackoffSection = BackoffSection()


class DependsOnSection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the system is made of besides its code. Where it has changed, no run is resumed and nothing is reused."""

    files: Annotated[
        FilePath | Annotated[tuple[FilePath, ...], Meta(min_length=1)],
        Meta(description="Prompts, settings and the like: a path, a pattern such as prompts/*.md, or a list of them."),
    ] = ()
    env: Annotated[tuple[Name, ...], Meta(description="Environment variables that it reads, by name.")] = ()


class SystemSection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The system under test, in one of four kinds: callable, command, http, or recorded."""

    name: Annotated[Name | None, Meta(description="Its name in reports; may be left to the @system decorator.")] = None
    version: Annotated[Name | None, Meta(description="Its version; may be left to the @system decorator.")] = None
    callable: Annotated[
        Target | None, Meta(description="module:function or module:Class, imported from the directory of this file.")
    ] = None
    command: Annotated[
        Annotated[tuple[Argument, ...], Meta(min_length=1)] | None,
        Meta(description="A program and its arguments, run for each case in the directory of this file."),
    ] = None
    http: HttpSection | None = None
    recorded: Annotated[
        FilePath | Annotated[tuple[FilePath, ...], Meta(min_length=1)] | None,
        Meta(description="Files of recordings (JSONL): a path, a pattern such as traces/*.jsonl, or a list of them."),
    ] = None
    format: Annotated[
        TraceFormat | None,
        Meta(description="What the recorded files are, when they are not traces.jsonl; auto finds out."),
    ] = None
    records: Annotated[
        tuple[Literal["agent_trajectory/v1"], ...] | None,
        Meta(description="What the system records beside its output; may be left to the @system decorator."),
    ] = None
    concurrency: Annotated[int, Meta(ge=1, le=1024, description="How many cases run at once.")] = 1
    timeout_s: Annotated[
        float, Meta(gt=0, le=604_800, description="Seconds after which a case that has not ended is missing (timeout).")
    ] = 60.0
    isolation: Annotated[
        Isolation, Meta(description="process: each case that runs has a worker process, killed when it is late.")
    ] = "worker"
    memory_mb: Annotated[
        Annotated[int, Meta(ge=128, le=1 << 24)] | None,
        Meta(description="Memory of such a process, in mebibytes of address space."),
    ] = None
    max_per_minute: Annotated[
        Annotated[float, Meta(gt=0, le=100_000)] | None,
        Meta(description="At most so many attempts begin in a minute, evenly spread, those made again included."),
    ] = None
    retry: RetrySection | None = None
    depends_on: DependsOnSection | None = None


class RaySection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The Ray cluster that cases run on."""

    address: Annotated[
        Argument | None,
        Meta(description="host:port of its head, or auto; default: RAY_ADDRESS, or a cluster on this machine."),
    ] = None
    code: Annotated[
        Shipping,
        Meta(description="shared: this directory is there under the same path; upload: it is sent along."),
    ] = "shared"
    env: Annotated[tuple[Name, ...], Meta(description="Environment variables that are taken along, by name.")] = ()


class QuantileEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A quantile of a quantity over the cases: 95 % of the cases took at most this many steps."""

    id: Annotated[Name, Meta(description="Its name in reports and rules.")]
    type: Literal["quantile"]
    source: Annotated[
        QuantitySource,
        Meta(description="Steps, decisions or tool calls of a case, or a sum over its steps: time, tokens, cost."),
    ]
    quantile: Annotated[float, Meta(gt=0, lt=1, description="Which quantile, between 0 and 1: 0.95.")]


class PassKEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How likely some (pass_at_k) or all (pass_hat_k) of k trials of a case pass a criterion, as a mean over cases."""

    id: Annotated[Name, Meta(description="Its name in reports and rules.")]
    type: Literal["pass_at_k", "pass_hat_k"]
    criterion: Annotated[Name, Meta(description="The criterion that each trial passes or fails.")]
    k: Annotated[TrialCount, Meta(description="How many trials; no more than `trials`.")]


class IntervalSection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How intervals are displayed. What decides a rule is the policy's own choice."""

    method: Annotated[IntervalMethod, Meta(description="wilson, or exact (Clopper and Pearson).")] = _SHOWN.method
    level: Annotated[float, Meta(ge=0.5, lt=1, description="Two-sided confidence level.")] = _SHOWN.level


BuiltInRule = Literal["private-key", "jwt", "github", "aws", "api-key", "bearer", "url-password", "card", "email"]


class OwnPatternSection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule of your own."""

    name: Annotated[str, Meta(pattern=RULE_NAME, description="What its markers and counts are called.")]
    pattern: Annotated[
        Name, Meta(description="A regular expression (RE2). Its first group is the secret, without one all of it.")
    ]


class RedactSection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Secrets that are taken out of everything that agents and datasets say, before it is kept or shown."""

    built_in: Annotated[
        tuple[BuiltInRule, ...], Meta(description="Which of the rules that are there already; default: all of them.")
    ] = get_args(BuiltInRule)
    patterns: Annotated[tuple[OwnPatternSection, ...], Meta(description="Rules of your own.")] = ()
    fields: Annotated[
        tuple[Annotated[str, Meta(pattern=FIELD)], ...],
        Meta(description="Dotted paths to what is taken out whole: input.customer.ssn, steps.arguments.**.password."),
    ] = ()
    judged_as_is: Annotated[
        tuple[Name, ...],
        Meta(description="Criteria whose functions may judge a redacted record; others are missing there."),
    ] = ()


SYSTEM_KINDS = ("callable", "command", "http", "recorded")
"""The keys of ``system`` of which one says what it is."""


class ConfigFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """oloproof.yaml: what is judged, and how."""

    version: Annotated[Literal[1], Meta(description="The version of this file's format.")]
    project: Annotated[Name, Meta(description="The project's name.")]
    system: SystemSection
    evaluators: Annotated[Any, Meta(description="The criteria, each judged on every case.")]
    dataset: Annotated[
        FilePath | None, Meta(description="The cases: a JSONL, JSON, YAML or CSV file, relative to this one.")
    ] = None
    cases: Annotated[
        Count | None, Meta(description="How many cases must be there, where recordings are their own dataset.")
    ] = None
    trials: Annotated[
        TrialCount | None, Meta(description="How often each case is tried; of recordings, how often it must be.")
    ] = None
    cluster: Annotated[
        MetadataPath | None, Meta(description="metadata.<path>: cases with the same value there are not independent.")
    ] = None
    metrics: Annotated[Any, Meta(description="Further metrics, beside the rate of each criterion.")] = ()
    executor: Annotated[Executor, Meta(description="Where the cases of a callable run: local, or ray.")] = "local"
    ray: RaySection = RaySection()
    interval: IntervalSection = IntervalSection()
    slices: Annotated[
        Any, Meta(description="Groups of cases that reports show apart: metadata.<path>, first_tool, route, …")
    ] = ()
    min_slice_support: Annotated[
        int, Meta(ge=1, description="Below this many cases a slice shows counts and no interval.")
    ] = MIN_SLICE_SUPPORT
    redact: RedactSection | None = None
    policy: Annotated[
        Any, Meta(description="A file, the policy itself, or none. Default: release.yaml, if there is one.")
    ] = UNSET


class IntervalThresholdEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The metric's whole interval must lie at or above min, and at or below max. At least one of the two is given."""

    id: RuleId
    metric: Annotated[Name, Meta(description="A criterion, or the id of a metric.")]
    kind: Literal["interval_threshold"] = "interval_threshold"
    min: Annotated[float | None, Meta(description="For a criterion a share between 0 and 1.")] = None
    max: Annotated[float | None, Meta(description="For a criterion a share between 0 and 1.")] = None
    min_cases: MinCases = 1
    max_missing: MaxMissing = None
    requires_manual_review: Review = False


class ObservedCountEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """At most max_failures cases of the suite that ran may fail the criterion."""

    id: RuleId
    metric: Annotated[Name, Meta(description="A criterion.")]
    kind: Literal["observed_count"]
    max_failures: Annotated[int, Meta(ge=0, description="How many cases may fail.")]
    min_cases: MinCases = 1
    max_missing: MaxMissing = None
    requires_manual_review: Review = False


class _PairEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: RuleId
    metric: Annotated[Name, Meta(description="A criterion that both runs judged.")]
    min_cases: MinCases = 1
    max_missing: MaxMissing = None
    requires_manual_review: Review = False


class SuperiorityEntry(_PairEntry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The candidate passes more often than the baseline."""

    kind: Literal["superiority"]


class NonInferiorityEntry(_PairEntry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The candidate passes at most margin less often than the baseline."""

    kind: Literal["non_inferiority"]
    margin: Annotated[float, Meta(description="A share between 0 and 1: 0.02 is two in a hundred.")]


class EquivalenceEntry(_PairEntry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The two runs' pass rates differ by at most margin, either way."""

    kind: Literal["equivalence"]
    margin: Annotated[float, Meta(description="A share between 0 and 1: 0.02 is two in a hundred.")]


class MaxNewFailuresEntry(_PairEntry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """At most max_new_failures cases that passed in the baseline may fail now."""

    kind: Literal["max_new_failures"]
    max_new_failures: Annotated[int, Meta(ge=0, description="How many cases may be newly broken.")]
    confirm: Annotated[
        int,
        Meta(ge=0, le=MOST_RERUNS, description="How often broken cases are run again; one counts unless all passes."),
    ] = 0


class EarlyStoppingSection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When a run may end before its last case."""

    method: Annotated[
        StopMethod,
        Meta(description="curtailment: once the verdict is certain; hybrid: also once evidence is strong enough."),
    ]
    rules: Annotated[
        tuple[Name, ...], Meta(description="With hybrid: the rules that evidence may settle, by their ids.")
    ] = ()


class PolicySection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What must hold before a change may ship, written in oloproof.yaml itself."""

    rules: Annotated[Any, Meta(description="The rules, each decided on the evidence of one metric.")]
    confidence_level: Annotated[
        float, Meta(gt=0.5, lt=1, description="Two-sided confidence level of the intervals that decide.")
    ] = _DECIDING.confidence_level
    interval_method: Annotated[
        IntervalMethod, Meta(description="wilson, or exact (Clopper and Pearson): the intervals that decide.")
    ] = _DECIDING.interval_method
    block_on: Annotated[
        tuple[BlockingState, ...], Meta(description="The states that block. FAIL cannot be left out.")
    ] = ("FAIL", "INSUFFICIENT_EVIDENCE", "MANUAL_REVIEW")
    warn_on: Annotated[tuple[BlockingState, ...], Meta(description="The states that warn without blocking.")] = ()
    accept_changed_cases: Annotated[
        tuple[Name, ...], Meta(description="Ids of baseline cases that may be gone or changed, for rules that compare.")
    ] = ()
    early_stopping: Annotated[
        EarlyStoppingSection | None, Meta(description="Let a run end as soon as its verdict is settled.")
    ] = None
    version: Annotated[Literal[1], Meta(description="The version of this file's format.")] = 1


class PolicyFile(PolicySection, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """release.yaml: what must hold before a change may ship."""

    version: Annotated[Literal[1], Meta(description="The version of this file's format.")]


class _FunctionEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    type: Name
    criterion: Annotated[
        Name | None, Meta(description="The name under which it is counted; each type has a default.")
    ] = None
    options: Annotated[dict[str, Any], Meta(description="Further arguments of the function, by name.")] = {}
    only: Annotated[Name | None, Meta(description="A condition on the case: metadata.surface == chat")] = None
    on_system_error: Annotated[
        Literal["missing", "fail"], Meta(description="Whether a crash of the system counts as a failure.")
    ] = "missing"


class UserEvaluatorEntry(_FunctionEntry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A function of yours, module:function, that returns a Verdict or a bool."""

    type: Target


class PluginEvaluatorEntry(_FunctionEntry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A function that an installed package adds under a name of its own."""

    type: Name


class Row(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A case as a dataset writes it."""

    id: Annotated[Name, Meta(description="Its name, unique in the dataset.")]
    input: Annotated[Any | UnsetType, Meta(description="What the system is called with.")] = UNSET
    expected: Annotated[dict[str, Any] | UnsetType, Meta(extra={TEXT_IS: "answer"})] = UNSET
    metadata: Annotated[dict[str, Any] | UnsetType, Meta(description="What slices and `only` refer to.")] = UNSET
    cluster: Annotated[Name | UnsetType, Meta(description="Cases that depend on one another share it.")] = UNSET
