"""The OpenAPI document: FastAPI derives it from the routes; this module completes it.

It adds the security of each operation, an example for each error code, the declared tags and the webhooks. No
setting changes the document: the server is relative, so one file describes every installation.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from builders.kit.error_schemas import PROBLEM_SCHEMA, VALIDATION_SCHEMAS
from builders.kit.errors import CODES_KEY, PROBLEM_JSON, Problem, list_problem_types
from builders.kit.http.credentials import COOKIE
from builders.kit.http.openapi_components import drop_titles, open_enums, reachable, references, share
from builders.kit.process.version import REVISION, VERSION

Json = dict[str, Any]  # a part of the document

TITLE = "Builders Automation API"
DESCRIPTION = """
Claim names such as `ada@harbour.example` on a catalog of curated domains. Write the names you want into a
manifest; a test key turns it into a plan, and a live key promotes exactly that plan.

**Start here**: `GET /v1/catalog/check` (no credentials) says whether a name is free and what it costs.
`POST /v1/sandbox/plan` compares a manifest with the live state and returns the actions, the price and a `digest`.
`POST /v1/sandbox/promote` executes the plan with that `digest`. `next_actions` of its response lists what remains
to be done, such as a recipient's confirmation.

- **Credentials**: an API key in `X-API-Key`, or the token of a session in `Authorization: Bearer`; browsers use
  the cookie `svc_access_token`. The first one present decides. `x-scope` of an operation is the scope it needs.
- **Modes**: a test key (`svc_test_`) works on a separate sandbox account, where nothing is charged or sent; a live
  key (`svc_live_`) works on the real one. `livemode` in a response says which.
- **Errors**: `application/problem+json` (RFC 9457) with a stable `code`; 422 alone has FastAPI's own form,
  with `code`, `request_id` and `next_action` besides. New codes can be added at any time: treat an unknown code as
  its status. `next_action` says what to do.
- **Repeating**: with an `Idempotency-Key` the service executes a POST once, even if a client sends it again.
  After 429 and 503 wait for the seconds of `Retry-After`.
- **Parameters**: an unknown parameter of the query is 422; an unknown member of a body is named in `warnings`.
- **Limits**: `x-rate-limit` names the rate limits of an operation; the header `RateLimit` says what is left.
- **Lists**: send `next_cursor` of one page as `cursor` for the next; on the last page it is null.
- **Values**: times are RFC 3339 in UTC, money is exact decimal digits in text, identifiers are UUIDs.
- **Changes** within `v1` are additive: ignore members, events and values that you do not know. The enums of
  responses are open: `x-extensible-enum` lists the known values.
""".strip()
_LOCATION: Json = {
    "description": "The path that reads what was created.",
    "schema": {"type": "string", "format": "uri-reference"},
}
API_KEY = "ApiKey"
SECURITY_SCHEMES: Mapping[str, Json] = {
    API_KEY: {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "description": "An API key, `svc_live_…` or `svc_test_…`, minted with `POST /v1/api-keys`.",
    },
    "Bearer": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "The token of a session, or one of an identity provider that this service accepts.",
    },
    "Cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": COOKIE,
        "description": "Set by signing in with a browser. Unsafe methods must come from the service's own pages.",
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhooks:
    """The `webhooks` section (OpenAPI 3.1), and the schemas that it refers to."""

    paths: Mapping[str, Json]
    schemas: Mapping[str, Json]


def install_document(
    app: FastAPI, *, webhooks: Callable[[], Webhooks], examples: Callable[[], Mapping[str, Json]]
) -> None:
    """Set the document of the application, with examples of models by name; the first request builds it."""

    def document() -> Json:
        if app.openapi_schema is None:
            app.openapi_schema = _complete(derive_document(app), webhooks(), examples())
        return app.openapi_schema

    openapi: Callable[[], Json] = document
    app.openapi = openapi  # type: ignore[method-assign] # FastAPI's documented way to extend the document


def derive_document(app: FastAPI) -> Json:
    """Return the document that FastAPI derives from the routes."""
    return get_openapi(
        title=TITLE,
        version=REVISION,
        description=DESCRIPTION,
        routes=app.routes,
        tags=app.openapi_tags,
        servers=[{"url": "/", "description": "The host that serves this document."}],
        contact={"name": "The operator of this service"},
        license_info={"name": "Apache License 2.0", "identifier": "Apache-2.0"},
    )


def _complete(document: Json, webhooks: Webhooks, examples: Mapping[str, Json]) -> Json:
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    _add_examples(schemas, examples)
    _add_schemas(schemas, json.loads(json.dumps(webhooks.schemas)))
    drop_titles(document)
    schemas["Problem"] = PROBLEM_SCHEMA
    for name, schema in VALIDATION_SCHEMAS.items():
        if name in schemas:
            schemas[name] = schema
    document["info"]["x-release"] = VERSION
    components["securitySchemes"] = dict(SECURITY_SCHEMES)
    document["webhooks"] = json.loads(json.dumps(webhooks.paths))  # a copy, which can be changed
    for operation in _operations(document):
        _secure(operation)
        _drop_null(operation)
        _list_codes(operation)
    _declare_locations(document)
    components["headers"] = {"Location": _LOCATION}
    used = references([document["paths"], document["webhooks"]])
    components["examples"] = {
        each.code: _problem_example(each)
        for each in sorted(list_problem_types(), key=_code)
        if f"#/components/examples/{each.code}" in used
    }
    open_enums(document)
    in_use = reachable(schemas, [document["paths"], document["webhooks"]])
    components["schemas"] = {name: schema for name, schema in schemas.items() if name in in_use}
    share(document)
    return document


def _operations(document: Json) -> Iterator[Json]:
    for item in document["paths"].values():
        yield from item.values()


def _add_examples(schemas: Json, examples: Mapping[str, Json]) -> None:
    """Add the examples of models; a page of a list has those of its item."""
    for name in examples.keys() & schemas.keys():
        schemas[name]["examples"] = examples[name]
    for schema in schemas.values():
        members = schema.get("properties", {})
        item = members.get("items", {}).get("items", {}).get("$ref", "").rpartition("/")[2]
        if item in examples and members.keys() <= {"items", "next_cursor"}:
            cursor = {"next_cursor": None} if "next_cursor" in members else {}
            schema["examples"] = [{"items": examples[item], **cursor}]


def _add_schemas(schemas: Json, others: Mapping[str, Json]) -> None:
    """Add schemas. Raise ValueError where another schema has the name."""
    for name, schema in others.items():
        if schemas.setdefault(name, schema) != schema:
            raise ValueError(f"two different schemas are called {name}; rename one of the models")


def _code(problem: type[Problem]) -> str:
    return problem.code


def _problem_example(problem: type[Problem]) -> Json:
    value = {
        "type": problem.type_uri(),
        "title": problem.title(),
        "status": problem.status,
        "detail": f"{problem.title()}.",
        "code": problem.code,
        "request_id": "9f8c1d2e3b4a59687786958473625140",
        "next_action": problem.remedy,
    }
    return {"summary": problem.title(), "value": value}


def _secure(operation: Json) -> None:
    """Document the credentials of an operation, instead of their optional parameters."""
    accepted = any(each["name"] == "X-API-Key" for each in operation.get("parameters", ()))
    forms: Sequence[str] = operation.pop("x-security", tuple(SECURITY_SCHEMES))
    scope, needs = operation.get("x-scope"), "Requires no credentials."
    operation["security"] = [{}, *({form: []} for form in forms)] if accepted else []
    if scope is not None:
        operation["security"] = [{form: []} for form in forms]
        needs = f"Requires the scope `{scope}`" + (", and a live API key." if forms == [API_KEY] else ".")
    said = operation.get("description", "")
    repeats_summary = said.removesuffix(".") in {"", operation["summary"]}
    operation["description"] = needs if repeats_summary else f"{said}\n\n{needs}"


def _drop_null(operation: Json) -> None:
    """Remove null from the type of optional parameters: a query or a header has no null, only absence."""
    for parameter in operation.get("parameters", ()):
        schema = parameter["schema"]
        choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
        if len(choices) == 1:
            del schema["anyOf"]
            parameter["schema"] = {**choices[0], **schema}


def _declare_locations(document: Json) -> None:
    """Declare the header Location where a POST creates what `GET /{id}` below its path reads."""
    collections = {
        path.rpartition("/{")[0]
        for path, item in document["paths"].items()
        if path.endswith("}") and "get" in item
    }
    for path in collections & document["paths"].keys():
        for status, response in document["paths"][path].get("post", {"responses": {}})["responses"].items():
            if status.startswith("2"):
                response.setdefault("headers", {})["Location"] = {"$ref": "#/components/headers/Location"}


def _list_codes(operation: Json) -> None:
    """Give each error response an example for each code that `problems` names in its description."""
    for response in operation["responses"].values():
        content = response.get("content", {}).get(PROBLEM_JSON)
        if content is not None:
            content["examples"] = {
                code: {"$ref": f"#/components/examples/{code}"} for code in response.pop(CODES_KEY, ())
            }
