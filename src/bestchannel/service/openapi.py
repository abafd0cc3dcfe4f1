"""The OpenAPI description of the service, made from the table of its endpoints."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

import msgspec

from bestchannel.service.application import ALL, Endpoint
from bestchannel.service.messages import Refusal

REFERENCE = "#/components/schemas/{name}"
ALWAYS = (400, 401, 403, 408, 413, 415, 429)
"""What any call with a token may be refused with."""


def description(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """The whole description."""
    kinds = list({each: None for e in endpoints for each in (e.takes, e.gives, Refusal) if each is not None})
    schemas, components = msgspec.json.schema_components(kinds, ref_template=REFERENCE)
    known = dict(zip(kinds, schemas, strict=True))
    paths: dict[str, Any] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, known)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "bestchannel",
            "version": version("bestchannel"),
            "description": "Sensors lease parts of requests and answer them in pieces; people watch.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(endpoint: Endpoint, known: dict[Any, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": endpoint.summary,
        "description": "Open to all."
        if endpoint.needs == ALL
        else f"Requires a token with the scope {endpoint.needs}.",
        "operationId": endpoint.handler.__name__,
        "security": [] if endpoint.needs == ALL else [{"token": []}],
        "parameters": [_parameter(name) for name in _names(endpoint.path)],
        "responses": {str(status): _response(status, endpoint, known) for status in _statuses(endpoint)},
    }
    if endpoint.takes is not None:
        kind = "application/x-www-form-urlencoded" if endpoint.form else "application/json"
        schema = _FORM if endpoint.form else known[endpoint.takes]
        operation["requestBody"] = {"required": True, "content": {kind: {"schema": schema}}}
    return operation


_FORM = {"type": "object", "properties": {"token": {"type": "string"}}}


def _names(path: str) -> list[str]:
    return [part[1:-1] for part in path.split("/") if part.startswith("{")]


def _parameter(name: str) -> dict[str, Any]:
    schema = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _statuses(endpoint: Endpoint) -> list[int]:
    done = 303 if endpoint.form else 201 if endpoint.method == "POST" and endpoint.path == "/api/runs" else 200
    page = [303] if endpoint.kind.startswith("text/html") and done != 303 else []
    return [done, *page, *sorted({*ALWAYS, *endpoint.refusals})]


def _response(status: int, endpoint: Endpoint, known: dict[Any, Any]) -> dict[str, Any]:
    words = {"description": HTTPStatus(status).phrase}
    if status == 303:
        return words
    if status == 409:
        return {**words, "content": {"application/json": {"schema": known[endpoint.gives]}}}
    if status >= 400:
        return {**words, "content": {"application/json": {"schema": known[Refusal]}}}
    schema = {} if endpoint.gives is None else {"schema": known[endpoint.gives]}
    return {**words, "content": {endpoint.kind: schema}}
