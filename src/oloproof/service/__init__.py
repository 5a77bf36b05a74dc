"""The agent runtime over HTTP, gRPC and the command line: one stream of events, the same on each.

:mod:`.conversing` is the boundary that all three share: duration, egress, spans and log events. :mod:`.access` says who
may ask for what, :mod:`.rest` and :mod:`.rpc` are the two surfaces, :mod:`.serving` runs them. Nothing here needs the
extra ``oloproof[service]`` before a surface is opened.
"""

from __future__ import annotations

from oloproof.service.access import Access
from oloproof.service.conversing import Call, Service, ServiceLimits, Surface, converse
from oloproof.service.egress import Allow, Deny, EgressDecision, EgressPolicy, Transform

__all__ = [
    "Access",
    "Allow",
    "Call",
    "Deny",
    "EgressDecision",
    "EgressPolicy",
    "Service",
    "ServiceLimits",
    "Surface",
    "Transform",
    "converse",
]
