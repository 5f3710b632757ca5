# ruff: noqa: INP001 - a module of a program; not a package
"""The OpenAPI document: FastAPI derives it from the routes; this module completes it, and `script/docs` writes it.

It adds the security of each operation, an example for each error code, the declared tags and the webhooks. No
setting changes the document: the server is relative, so one file describes every installation.
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from builders.kit.errors import CODES_KEY, MAX_ERRORS, MIXED_CODE, PROBLEM_JSON, Problem, list_problem_types
from builders.kit.http.application import OPEN_ENUM
from builders.kit.http.callers import API_KEY, COOKIE
from builders.kit.process.version import REVISION, VERSION
from builders.kit.values import resources
from docs.examples import add_examples, read_examples
from docs.schema_names import share_schemas, unite_null
from docs.webhooks import describe_webhooks

Json = dict[str, Any]  # a part of the document

_REQUEST_ID: Json = {
    "type": ["string", "null"],
    "title": "Request Id",
    "description": "The `X-Request-Id` of this response, for requests to the operator's support.",
}
PROBLEM_SCHEMA: Json = {
    "title": "Problem",
    "description": "RFC 9457 problem details. Branch on `code`; `detail` is for people.",
    "type": "object",
    "required": ["type", "title", "status", "detail", "code"],
    "examples": [
        {
            "type": "urn:builders:problem:database_busy",
            "title": "The database is too busy",
            "status": 503,
            "detail": "The database did not answer in time; repeat the request.",
            "code": "database_busy",
            "request_id": "9f8c1d2e3b4a59687786958473625140",
            "retry_after": 1,
        }
    ],
    "properties": {
        "type": {
            "type": "string",
            "description": "URN of the kind of problem: `urn:builders:problem:` and `code`.",
        },
        "title": {"type": "string", "description": "The problem in a few words, the same for each occurrence."},
        "status": {"type": "integer", "description": "The HTTP status, repeated."},
        "detail": {
            "type": "string",
            "description": "Text for people: the cause of this occurrence. It can change.",
        },
        "code": {
            "type": "string",
            "description": "Stable name of the kind of problem; branch on it. The examples of each response list "
            "the known codes of an operation; more can be added.",
        },
        "request_id": _REQUEST_ID,
        "next_action": {"type": "string", "description": "The remedy, as a sentence."},
        "did_you_mean": {"type": "string", "description": "The known path that is closest to the requested path."},
        "exists_in_mode": {
            "enum": ["live", "test"],
            "description": "With a 404: the mode in which the account has this id. Use a key of this mode.",
        },
        "retry_after": {
            "type": "integer",
            "description": "Seconds to wait before repeating the request, as in `Retry-After`.",
        },
        "violated_policies": {
            "type": "array",
            "items": {"type": "string"},
            "description": "The exhausted rate limits, by the names of `x-rate-limit`.",
        },
    },
}

VALIDATION_SCHEMAS: Mapping[str, Json] = {
    "HTTPValidationError": {
        "title": "HTTPValidationError",
        "description": "One or more values of the request are invalid; the request had no effect.",
        "type": "object",
        "properties": {
            "detail": {
                "type": "array",
                "title": "Detail",
                "items": {"$ref": "#/components/schemas/ValidationError"},
                "description": f"The errors, {MAX_ERRORS} at most.",
            },
            "code": {
                "type": "string",
                "title": "Code",
                "description": f"The `type` that all errors of `detail` have, or `{MIXED_CODE}`. "
                "More can be added.",
            },
            "request_id": _REQUEST_ID,
            "next_action": {
                "type": "string",
                "title": "Next Action",
                "description": "Text for people: the remedy.",
            },
        },
    },
    "ValidationError": {
        "title": "ValidationError",
        "description": "An invalid value of the request.",
        "type": "object",
        "required": ["loc", "msg", "type"],
        "properties": {
            "loc": {
                "type": "array",
                "title": "Location",
                "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "description": "Path to the value: `body`, `query`, `path`, `header` or `cookie`, then names and "
                'positions, such as `["body", "events", 0]`.',
            },
            "msg": {"type": "string", "title": "Message", "description": "Text for people: the error."},
            "type": {
                "type": "string",
                "title": "Error Type",
                "description": "Stable name of the broken rule, such as `missing` or `cursor_invalid`; more can "
                "be added.",
            },
            "did_you_mean": {"type": "string", "description": "The known name or value that is closest."},
        },
    },
}


_OPEN = "Value"  # suffix of the open form of an enum that requests have too
_REFERENCE = re.compile(r'"\$ref": "([^"]+)"')
_SCHEMAS = "#/components/schemas/"


def references(part: object) -> set[str]:
    """Return the targets of all references in a part of the document."""
    return set(_REFERENCE.findall(json.dumps(part)))


def reachable(schemas: Mapping[str, Json], parts: object) -> set[str]:
    """Return the names of the schemas that the parts refer to, directly or by another schema."""
    found, more = set[str](), _names(parts) & schemas.keys()
    while more:
        found |= more
        more = _names([schemas[name] for name in more]) - found
    return found


def _names(parts: object) -> set[str]:
    return {each.removeprefix(_SCHEMAS) for each in references(parts) if each.startswith(_SCHEMAS)}


def share(document: Json) -> None:
    """Replace repeated responses, except successes of operations, and repeated parameters by references."""
    operations = [*_operations(document["paths"]), *_operations(document["webhooks"])]
    errors = (
        (each["responses"], status, _response_names(status, response))
        for each in operations
        for status, response in each["responses"].items()
        if status >= "4" or status == "2XX"  # which is the answer to a webhook
    )
    _refer(document, "responses", [*errors])
    parameters = (
        (each["parameters"], at, _parameter_names(parameter, each))
        for each in operations
        for at, parameter in enumerate(each.get("parameters", ()))
    )
    _refer(document, "parameters", [*parameters])


def name_records(document: Json) -> Json:
    """Return the document with the published names of the records that are answers, also in the names of pages.

    FastAPI names a schema after its class, and after its module where two classes have one name.
    """
    schemas: dict[str, Json] = document["components"]["schemas"]
    renamed = dict[str, str]()
    for record, name in resources.names().items():
        qualified = f"{record.__module__}.{record.__qualname__}".replace(".", "__")
        known = qualified if qualified in schemas else record.__name__
        if schemas.get(known, {}).get("title") != name:
            continue
        for each, schema in schemas.items():
            if each == known or f"_{known}_" in each:
                renamed[each] = each.replace(known, name)
                schema["title"] = schema["title"].replace(f"[{record.__name__}]", f"[{name}]")
    _name_pages(schemas, renamed)
    kept = {renamed.get(each, each) for each in schemas}
    short = {each: each.rpartition("__")[2] for each in kept if each.startswith("builders__")}
    renamed |= {each: name for each, name in short.items() if name not in kept}
    published = {renamed.get(name, name): schema for name, schema in schemas.items()}
    # By name: schemas that resemble each other are neighbors, which compress well.
    document["components"]["schemas"] = dict(sorted(published.items()))

    def refer(found: re.Match[str]) -> str:
        name = found[1].removeprefix(_SCHEMAS)
        return found[0] if name not in renamed else f'"$ref": "{_SCHEMAS}{renamed[name]}"'

    named: Json = json.loads(_REFERENCE.sub(refer, json.dumps(document)))
    return named


def _name_pages(schemas: Mapping[str, Json], renamed: dict[str, str]) -> None:
    """Name the pages of records whose classes have one name: FastAPI gives them numbers."""
    for each, schema in schemas.items():
        if re.search(r"__\d+$", each):
            item = schema["properties"]["items"]["items"]["$ref"].removeprefix(_SCHEMAS)
            page, name = schema["title"].partition("[")[0], renamed[item]
            renamed[each], schema["title"] = f"{page}_{name}_", f"{page}[{name}]"


def drop_titles(document: Json) -> None:
    """Drop the titles that pydantic derives from the names of members, parameters and models."""
    for title, schema in document["components"]["schemas"].items():
        if re.sub(r"\W", "_", schema.get("title", "")) == title:  # `PageReply[AliasReply]` as a key
            del schema["title"]
        for name, member in schema.get("properties", {}).items():
            _drop_title(member, _title(name))
    for operation in _operations(document["paths"]):
        for parameter in operation.get("parameters", ()):
            _drop_title(parameter["schema"], _title(parameter["name"]))


def _operations(paths: Json) -> list[Json]:
    return [operation for item in paths.values() for operation in item.values()]


def _drop_title(schema: Json, derived: str) -> None:
    if schema.get("title") == derived:
        del schema["title"]


def _title(name: str) -> str:
    return name.replace("_", " ").title()


def _response_names(status: str, response: Json) -> Iterator[str]:
    """Yield names of an error response: the status and its last codes, so many that the name is unique."""
    codes = list(response.get("content", {}).get(PROBLEM_JSON, {}).get("examples", ()))
    yield from (".".join([status, *codes[-many:]]) for many in range(1, len(codes) + 1))
    yield status


def _parameter_names(parameter: Json, operation: Json) -> Iterator[str]:
    """Yield names of a parameter: its own, then with the area of an operation, then with the operation."""
    name = parameter["name"]
    yield from (name, f"{operation['tags'][0]}.{name}", f"{operation['operationId']}.{name}")


def _refer(document: Json, kind: str, places: Iterable[tuple[Any, Any, Iterable[str]]]) -> None:
    """Replace each part that occurs several times by a reference to a component with the first free name."""
    found = [(container, at, names, container[at]) for container, at, names in places]
    texts = [json.dumps(part, sort_keys=True) for *_, part in found]
    uses, components = Counter(texts), Json()
    for (container, at, names, part), text in zip(found, texts, strict=True):
        free = (name for name in names if components.setdefault(name, part) == part)
        if uses[text] > 1 and (name := next(free, None)) is not None:
            container[at] = {"$ref": f"#/components/{kind}/{name}"}
    document["components"][kind] = components


def open_enums(document: Json) -> None:
    """Make the enums of responses and webhooks open; those of requests stay closed."""
    schemas: dict[str, Json] = document["components"]["schemas"]
    operations = _operations(document["paths"])
    asked = reachable(schemas, [(each.get("requestBody"), each.get("parameters")) for each in operations])
    shown = reachable(schemas, [[each["responses"] for each in operations], document["webhooks"]])
    both = {name for name in asked & shown if "enum" in schemas[name]}
    if taken := {f"{name}{_OPEN}" for name in both} & schemas.keys():
        raise ValueError(f"rename {taken}: the open form of an enum has the name")
    for name in shown - asked:
        schemas[name] = _opened(schemas[name], both)
    schemas |= {f"{name}{_OPEN}": _opened(schemas[name], both) for name in sorted(both)}
    for operation in operations:
        operation["responses"] = _opened(operation["responses"], both)


def _opened(part: Any, renamed: Collection[str]) -> Any:  # a part of the document
    if isinstance(part, list):
        return [_opened(each, renamed) for each in part]
    if not isinstance(part, dict):
        return part
    opened: Json = {}
    for name, value in part.items():
        if name == "enum" and isinstance(value, list):
            opened |= {"type": "string", OPEN_ENUM: value}
        elif name == "$ref" and isinstance(value, str) and value.removeprefix(_SCHEMAS) in renamed:
            opened[name] = f"{value}{_OPEN}"
        else:
            opened[name] = value if name == "examples" else _opened(value, renamed)
    return opened


DESCRIPTION = """
Claim names such as `ada@harbour.example` on a catalog of curated domains. Write the names you want into a
manifest; a test key turns it into a plan, and a live key promotes exactly that plan.

**Start here**: `GET /v1/catalog/check` (no credentials) says whether a name is free and what it costs.
`POST /v1/sandbox/plan` compares a manifest with the live state and returns the actions, the price and a `digest`.
`POST /v1/sandbox/promote` executes the plan with that `digest`. `next_actions` of its response lists what remains.

- **Credentials**: an API key in `X-API-Key`, or the token of a session in `Authorization: Bearer`; browsers use
  the cookie `svc_access_token`. The first one present decides. `x-scope` of an operation is the scope it needs,
  and `x-effect` is what it does: `read`, `propose`, `write`, `delete`, `outward` or `authority`.
- **Modes**: a test key (`svc_test_`) works on a separate sandbox account, where nothing is charged or sent; a live
  key (`svc_live_`) works on the real one. `livemode` in a response says which.
- **Errors**: `application/problem+json` (RFC 9457) with a stable `code`; 422 alone has FastAPI's own form,
  with `code`, `request_id` and `next_action` besides. Codes can be added: treat an unknown code as
  its status. `next_action` says what to do.
- **Repeating**: with an `Idempotency-Key` the service executes a POST once, even if a client sends it again.
  After 429 and 503 wait for the seconds of `Retry-After`.
- **Parameters**: an unknown parameter of the query and a repeated member of a body are 422. An unknown member is
  ignored and named in `warnings`; a body whose members limit, cost or grant says what it refuses.
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
API_KEY_HEADER = "X-API-Key"
CREDENTIALS = frozenset({"Authorization", API_KEY_HEADER, COOKIE})  # parameters that repeat the security schemes
SECURITY_SCHEMES: Mapping[str, Json] = {
    API_KEY: {
        "type": "apiKey",
        "in": "header",
        "name": API_KEY_HEADER,
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


def derive_document(app: FastAPI) -> Json:
    """Return the document of the service; this takes three seconds."""
    return complete(app, webhooks=describe_webhooks(), examples=read_examples(), names=read_schema_names())


def read_schema_names() -> Mapping[str, Json]:
    """Return the names of schemas that the document would repeat: the table of `schema_names`."""
    return tomllib.loads(Path(__file__).with_name("schema_names.toml").read_text(encoding="utf-8"))


def complete(
    app: FastAPI, *, webhooks: Json, examples: Mapping[str, Sequence[Any]], names: Mapping[str, Json]
) -> Json:
    """Return what FastAPI derives of the application, completed; `webhooks` has their paths and schemas."""
    document = get_openapi(
        title=app.title,
        version=REVISION,
        description=DESCRIPTION,
        routes=app.routes,
        tags=app.openapi_tags,
        servers=[{"url": "/", "description": "The host that serves this document."}],
        contact={"name": "The operator of this service"},
        license_info={"name": "Apache License 2.0", "identifier": "Apache-2.0"},
    )
    document = name_records(document)
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    add_examples(schemas, examples)
    for name, schema in json.loads(json.dumps(webhooks["schemas"])).items():
        if schemas.setdefault(name, schema) != schema:
            raise ValueError(f"two different schemas are called {name}; rename one of the models")
    drop_titles(document)
    own = json.loads(json.dumps({"Problem": PROBLEM_SCHEMA, **VALIDATION_SCHEMAS}))  # copies, as below
    schemas |= {name: schema for name, schema in own.items() if name in schemas or name == "Problem"}
    document["info"]["x-release"] = VERSION
    components["securitySchemes"] = dict(SECURITY_SCHEMES)
    document["webhooks"] = json.loads(json.dumps(webhooks["paths"]))  # a copy, which can be changed
    for operation in _operations(document["paths"]):
        _secure(operation)
        _simplify_parameters(operation)
        _refer_to_examples(operation)
    _declare_locations(document)
    components["headers"] = {"Location": _LOCATION}
    components["examples"] = _examples_of(references([document["paths"], document["webhooks"]]))
    share_schemas(document, names)
    open_enums(document)
    unite_null(document)
    in_use = reachable(schemas, [document["paths"], document["webhooks"]])
    components["schemas"] = {name: schema for name, schema in schemas.items() if name in in_use}
    share(document)
    return document


def _examples_of(used: Collection[str]) -> Json:
    """Return the examples of the problems that the document refers to."""
    known = sorted(list_problem_types(), key=lambda each: each.code)
    return {each.code: _problem_example(each) for each in known if f"#/components/examples/{each.code}" in used}


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
    """Document the credentials of an operation; only the specification's own list them as parameters too."""
    listed = operation.get("parameters", [])
    accepted = any(each["name"] == API_KEY_HEADER for each in listed)
    if operation.get("x-beyond", False) and accepted:
        operation["parameters"] = [each for each in listed if each["name"] not in CREDENTIALS]
        if not operation["parameters"]:
            del operation["parameters"]
    forms: Sequence[str] = operation.pop("x-security", tuple(SECURITY_SCHEMES))
    scope, needs = operation.get("x-scope"), "Requires no credentials."
    operation["security"] = [{}, *({form: []} for form in forms)] if accepted else []
    if scope is not None:
        operation["security"] = [{form: []} for form in forms]
        needs = f"Requires the scope `{scope}`" + (", and a live API key." if forms == [API_KEY] else ".")
    said = operation.get("description", "")
    repeats_summary = said.removesuffix(".") in {"", operation["summary"]}
    operation["description"] = needs if repeats_summary else f"{said}\n\n{needs}"


def _simplify_parameters(operation: Json) -> None:
    """Remove the description that the schema of a parameter repeats, and null from the type of optional ones.

    A query or a header has no null, only absence.
    """
    for parameter in operation.get("parameters", ()):
        schema = parameter["schema"]
        if schema.get("description") == parameter.get("description"):
            schema.pop("description", None)
        choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
        if len(choices) == 1:
            del schema["anyOf"]
            parameter["schema"] = {**choices[0], **schema}


def _refer_to_examples(operation: Json) -> None:
    """Give each error response an example for each code that `problems` names in its description."""
    for response in operation["responses"].values():
        content = response.get("content", {}).get(PROBLEM_JSON)
        if content is not None:
            codes = response.pop(CODES_KEY, ())
            content["examples"] = {code: {"$ref": f"#/components/examples/{code}"} for code in codes}


def _declare_locations(document: Json) -> None:
    """Declare the header Location where a POST creates what `GET /{id}` below its path reads."""
    paths = document["paths"]
    collections = {each.rpartition("/{")[0] for each in paths if each.endswith("}") and "get" in paths[each]}
    for path in collections & paths.keys():
        for status, response in paths[path].get("post", {"responses": {}})["responses"].items():
            if status.startswith("2"):
                response.setdefault("headers", {})["Location"] = {"$ref": "#/components/headers/Location"}
