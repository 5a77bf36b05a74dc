"""The policy of a change beside the one that it started from: what was relaxed, and where."""

from __future__ import annotations

from pathlib import Path

from oloproof.errors import Problem, UsageError, shown
from oloproof.gates.relaxed import Relaxation, relaxations
from oloproof.model.decision import Policy
from oloproof.project.codes import CONFIG, RELAXED
from oloproof.project.nodes import Fields, Items, Node, Scalar
from oloproof.project.policy import DEFAULT_POLICY, Measurable, policy_of
from oloproof.project.problems import Problems, read_bytes
from oloproof.project.spec import PolicyFile, PolicySection
from oloproof.project.yaml_nodes import parse_yaml


def relaxed(policy: Policy | None, base: Path, *, config: str | None) -> tuple[Problem, ...]:
    """Every way in which ``policy`` asks for less than the one in the file ``base``, each where it is written.

    ``base`` is a policy, or a configuration that holds one. ``config`` is the configuration of ``policy``, None where
    it stands in no file. Raises UsageError where the base is no policy.
    """
    problems = Problems(str(base))
    written, section = _policy_in(base, problems)
    before = None if written is None else policy_of(written, problems, _ANY_METRIC, section=section)
    problems.raise_any()
    assert before is not None
    file, now = current_policy(config)
    found = []
    for relaxation in relaxations(policy, before):
        line_was, column_was = _place(written, relaxation)
        told = _in_words(relaxation)
        if relaxation.gone:
            found.append(Problem(RELAXED, told, file=str(base), line=line_was, column=column_was))
            continue
        line, column = _place(now, relaxation)
        told += f" in {base}" + (f":{line_was}:{column_was}" if line_was else "")
        found.append(Problem(RELAXED, told, file=file, line=line, column=column))
    return tuple(found)


_SENTENCES = (None, "block_on", "accept_changed_cases", "early_stopping")
"""Keys of lists, of which some entry matters, and of whole rules: what is told of them has a verb of its own."""

_ANY_METRIC = Measurable(kinds={}, complete=False)
"""A base may name metrics that there are no more."""


def _policy_in(path: Path, problems: Problems) -> tuple[Node | None, type[PolicySection]]:
    """What a file says as a policy; the policy of a configuration where it is one."""
    try:
        root = parse_yaml(read_bytes(path, what="the base policy", codes=CONFIG), problems)
    except UsageError as error:
        problems.found.extend(error.problems)
        return None, PolicyFile
    inline = root.entry("policy") if isinstance(root, Fields) else None
    return (root, PolicyFile) if inline is None else (inline.value, PolicySection)


def current_policy(config: str | None) -> tuple[str | None, Node | None]:
    """The file that holds the policy of a sound configuration, and what it says."""
    if config is None:
        return None, None
    path = Path(config)
    written, _ = _policy_in(path, Problems(config))
    if isinstance(written, Scalar):  # it names a file, or none
        path = path.parent / str(written.value)
    elif isinstance(written, Fields) and written.entry("rules") is None:  # the configuration itself
        path = path.parent / DEFAULT_POLICY
    else:
        return config, written
    return str(path), _policy_in(path, Problems(str(path)))[0] if path.is_file() else None


def _place(root: Node | None, relaxation: Relaxation) -> tuple[int, int]:
    """Where a policy says what a relaxation is about; the rule, or the policy, where it does not say it; (0, 0) where
    nothing is known of it."""
    node = root
    if relaxation.rule is not None and isinstance(root, Fields):
        rules = root.place("rules")
        items = rules.items if isinstance(rules, Items) else ()
        named = (item for item in items if isinstance(item, Fields) and item.text("id") == relaxation.rule)
        node = next(named, root)
    if relaxation.key is not None and isinstance(node, Fields):
        node = node.place(relaxation.key)
    return (0, 0) if node is None else (node.line, node.column)


def _in_words(relaxation: Relaxation) -> str:
    """``rule 'floor': min is 0.60, and was 0.70``."""
    about = f"rule {shown(relaxation.rule)}" if relaxation.rule is not None else "the policy"
    if relaxation.gone:
        return f"{about} is gone, {relaxation.was}"
    if relaxation.key in _SENTENCES:
        return f"{about}: {relaxation.now}, and {relaxation.was}"
    return f"{about}: {relaxation.key} is {relaxation.now}, and was {relaxation.was}"
