"""Cases that belong together: whether there are any, and whether every rule can be decided on them."""

from __future__ import annotations

from collections.abc import Collection

from oloproof.errors import CLUSTERED_PAIRS, shown
from oloproof.model.case import Case
from oloproof.model.decision import Equivalence, NonInferiority, Policy, Superiority
from oloproof.model.project import METADATA_PREFIX, Project
from oloproof.project import codes
from oloproof.project.places import key_place
from oloproof.project.problems import Problems


class Clustering:
    """Sees the cases one by one. Problems are those of the configuration."""

    def __init__(self, project: Project, problems: Problems) -> None:
        self._project = project
        self._problems = problems
        self._names: set[str] = set()
        self.related = False

    def see(self, case: Case) -> None:
        """The next case."""
        if (name := self._project.cluster_of(case)) is not None:
            self.related = self.related or name in self._names
            self._names.add(name)

    def conclude(self) -> None:
        """Note what is wrong with all of them together."""
        if self._project.cluster is not None and not self._names:
            line, column = key_place(self._project.config, "cluster")
            named = METADATA_PREFIX + ".".join(self._project.cluster)
            hint = "name what the cases that belong together have in common, or leave cluster out"
            self._problems.on(line, column, codes.NO_CLUSTER, f"no case has {shown(named)}", hint=hint)
        if self.related:
            quantiles = {metric.id for metric in self._project.metrics}
            for rule in bounded_as_independent(self._project.policy, quantiles):
                message = (
                    f"rule {shown(rule)} bounds a quantile as of independent cases, and cases of a cluster are not"
                )
                hint = "a criterion such as agent_max_steps with a min says the same, and counts clusters"
                self._problems.on(0, 0, CLUSTERED_PAIRS, message, hint=hint)
            for rule in compared_as_independent(self._project.policy):
                message = f"rule {shown(rule)} compares cases as independent ones, and cases of a cluster are not"
                hint = "kind: max_new_failures needs no independence; or leave the clusters out"
                self._problems.on(0, 0, CLUSTERED_PAIRS, message, hint=hint)


def bounded_as_independent(policy: Policy | None, quantiles: Collection[str]) -> list[str]:
    """The rules that are decided on the interval of a quantile."""
    return [] if policy is None else [rule.id for rule in policy.rules if rule.metric in quantiles]


def compared_as_independent(policy: Policy | None) -> list[str]:
    """The rules that are decided on an interval of a paired difference."""
    rules = () if policy is None else policy.rules
    return [rule.id for rule in rules if isinstance(rule, Superiority | NonInferiority | Equivalence)]
