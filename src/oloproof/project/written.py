"""Where a project's files say what is judged and what must hold, line by line, for reports that point there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from oloproof.model.evidence import Evaluator
from oloproof.project.base_policy import current_policy
from oloproof.project.nodes import Fields, Items
from oloproof.project.places import config_root


def rule_lines(config: str) -> tuple[str, dict[str, int]]:
    """The file that holds the policy of the configuration ``config``, and the line of each rule by its id; ("", {})
    where there is none."""
    file, node = current_policy(config)
    rules = node.place("rules") if isinstance(node, Fields) else None
    items = rules.items if isinstance(rules, Items) else ()
    return file or "", dict(_named(items))


def dataset_of(config: str) -> str | None:
    """The dataset that the configuration names, None where it names none."""
    root = config_root(config)
    return None if root is None else root.text("dataset")


def _named(items: Sequence[object]) -> Iterator[tuple[str, int]]:
    for item in items:
        if isinstance(item, Fields) and (name := item.text("id")) is not None:
            yield name, item.line


def criterion_lines(config: str, evaluators: Sequence[Evaluator]) -> dict[str, int]:
    """The line of the evaluator of each criterion. ``evaluators`` are those of the file, in its order."""
    root = config_root(config)
    written = None if root is None else root.place("evaluators")
    items = written.items if isinstance(written, Items) else ()
    return {each.criterion: item.line for each, item in zip(evaluators, items, strict=False)}
