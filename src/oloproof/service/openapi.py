"""The description of the HTTP surface, as OpenAPI 3.1; its schemas are those of the types on the wire."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.json import schema_components

from oloproof._version import __version__
from oloproof.runtime import AgentEvent
from oloproof.service.asking import Ask


class ErrorDetail(Struct, frozen=True):
    """A stable code, and words."""

    code: str
    message: str


class ErrorBody(Struct, frozen=True):
    """Why a request was not taken."""

    error: ErrorDetail


class Health(Struct, frozen=True):
    """That the service runs."""

    status: str
    version: str


_REFUSALS = {
    "400": "The body or a header is invalid.",
    "401": "The bearer token is missing or wrong.",
    "403": "The request is another tenant's or principal's than its caller, or approves what its caller may not.",
    "408": "The body did not come in time.",
    "413": "The body is too large.",
    "415": "The body is not application/json.",
    "429": "Too many streams are open; try again after the seconds in Retry-After.",
}

_STREAM = (
    "Server-Sent Events: each `data:` line is an AgentEvent in JSON, and `data: [DONE]` closes the stream. A failed "
    "run, and a run that cannot be resumed, end in a `run_failed` event."
)


def description(*, asks_tokens: bool) -> dict[str, Any]:
    """The document of ``/openapi.json``."""
    types = (Ask, AgentEvent, ErrorBody, Health)
    (ask, event, error, health), components = schema_components(types, ref_template="#/components/schemas/{name}")
    frame = {"type": "string", "contentMediaType": "application/json", "contentSchema": event}
    data = {"anyOf": [{"const": "[DONE]"}, frame]}
    each = {"type": "object", "properties": {"data": data}, "required": ["data"]}
    responses: dict[str, Any] = {"200": {"description": _STREAM, "content": {"text/event-stream": {"schema": each}}}}
    for status, words in _REFUSALS.items():
        if status != "401" or asks_tokens:
            responses[status] = _answer(words, error)
    responses["503"] = {
        "description": "Too many connections are open.",
        "content": {"text/plain": {"schema": {"type": "string"}}},
    }
    operation = {
        "operationId": "converse",
        "summary": "Start a run, or go on with one, and stream its events.",
        "parameters": [_header("x-tenant-id", "tenant_id"), _header("x-principal-id", "principal_id")],
        "requestBody": {"required": True, "content": {"application/json": {"schema": ask}}},
        "responses": responses,
    }
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "Oloproof agent service", "version": __version__},
        "paths": {
            "/v1/agent": {"post": operation},
            "/healthz": {
                "get": {
                    "operationId": "health",
                    "summary": "Whether the service runs.",
                    "responses": {"200": _answer("It runs.", health)},
                }
            },
        },
        "components": {"schemas": components},
    }
    if asks_tokens:
        operation["security"] = [{"bearer": []}]
        document["components"]["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
    return document


def _answer(words: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": words, "content": {"application/json": {"schema": schema}}}


def _header(name: str, field: str) -> dict[str, Any]:
    words = f"Must be the body's {field}."
    return {
        "name": name,
        "in": "header",
        "required": True,
        "description": words,
        "schema": {"type": "string", "minLength": 1},
    }
