"""What the document must say of each operation: every check yields a sentence for each breach."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping

from tests.contract.document import (
    BOUNDS,
    Json,
    body_schemas,
    branches,
    is_typed,
    list_examples,
    operations,
    parameters,
    references,
    resolve,
    success_schemas,
    successes,
    validators,
)
from tests.contract.shape import Auth, Body, Operation

Expected = Mapping[str, Operation]
Check = Callable[[Json, Expected], Iterator[str]]
CREDENTIALS = {("header", "Authorization"), ("header", "X-API-Key"), ("cookie", "svc_access_token")}
PROBLEM = "application/problem+json"


def both(document: Json, expected: Expected) -> Iterator[tuple[Operation, Json]]:
    """The operations that tables and document share; what is missing is the business of `presence`."""
    shown = operations(document)
    yield from ((row, shown[name]) for name, row in expected.items() if name in shown)


def presence(document: Json, expected: Expected, pending: frozenset[str]) -> Iterator[str]:
    """Every row is in the document or pending, never both; what is in no row has `x-beyond: true`."""
    shown = operations(document)
    yield from (f"{name}: pending, but in no table" for name in sorted(pending - expected.keys()))
    yield from (f"{name}: built, so take it off the pending list" for name in sorted(pending & shown.keys()))
    yield from (f"{name}: not in the document" for name in sorted(expected.keys() - shown.keys() - pending))
    for name, operation in shown.items():
        if operation.get("x-beyond", False) is not (name not in expected):
            yield f"{name}: x-beyond if, and only if, the specification does not have it"


def statuses(document: Json, expected: Expected) -> Iterator[str]:
    """The one success status is the table's."""
    for row, operation in both(document, expected):
        if list(successes(operation)) != [str(row.status)]:
            yield f"{row.name}: answers {list(successes(operation))}, not {row.status} alone"


def given_parameters(document: Json, expected: Expected) -> Iterator[str]:
    """Each parameter of the table with its type, bounds and default; others may only be optional."""
    for row, operation in both(document, expected):
        shown = parameters(operation)
        for param in row.params:
            found = shown.pop((param.where, param.name), None)
            if found is None:
                yield f"{row.name}: lists no {param.where} parameter {param.name}"
                continue
            # An optional one is `anyOf` its type and null; bounds stand in the branch, the default outside.
            schema = resolve(document, branches(found["schema"])[0]) | {"default": found["schema"].get("default")}
            seen = {ours: schema.get(theirs) for ours, theirs in BOUNDS.items()}
            seen |= {
                "type": schema.get("type"),
                "default": schema["default"],
                "required": found.get("required", False),
            }
            for word, value in seen.items():
                if value != getattr(param, word) or type(value) is not type(getattr(param, word)):
                    yield f"{row.name}: {param.name} has {word} {value!r}, not {getattr(param, word)!r}"
            if param.where == "path" and schema.keys() & {"pattern", "enum", "maxLength"}:
                yield f"{row.name}: {param.name} is bounded, but a malformed id is a 404"
        yield from (f"{row.name}: {each[1]} is required" for each in shown if shown[each].get("required"))


def bodies(document: Json, expected: Expected) -> Iterator[str]:
    """A body is required, optional or absent as the table says, and of the named type."""
    for row, operation in both(document, expected):
        body = operation.get("requestBody")
        seen = Body.ABSENT if body is None else Body.REQUIRED if body.get("required") else Body.OPTIONAL
        if seen != row.body:
            yield f"{row.name}: the body is {seen}, not {row.body}"
            continue
        for schema in body_schemas(operation):
            known = resolve(document, schema)
            if row.schema is not None and schema.get("$ref", "").rpartition("/")[2] != row.schema:
                yield f"{row.name}: the body's type is not {row.schema}"
            if row.schema is None and (known["type"] != "object" or known.get("additionalProperties") is False):
                yield f"{row.name}: the body does not take any JSON object"
        if body is not None and not list(body_schemas(operation)):
            yield f"{row.name}: the body is not JSON"


def members(
    document: Json, given: Mapping[str, Mapping[str, bool]], closed: Mapping[str, Mapping[str, set[str]]]
) -> Iterator[str]:
    """The listed members of a body are there, required or not, and closed sets hold the listed words."""
    for name, operation in operations(document).items():
        for schema in body_schemas(operation) if name in given else ():
            known: Json = {"properties": {}, "required": []} | resolve(document, schema)
            for member, required in given[name].items():
                if member not in known["properties"] or (member in known["required"]) != required:
                    yield f"{name}: {member} is missing, or not {'required' if required else 'optional'}"
            for member, words in closed.get(name, {}).items():
                if set(resolve(document, known["properties"].get(member, {})).get("enum", [])) != words:
                    yield f"{name}: {member} is not one of {sorted(words)}"


def credentials(document: Json, expected: Expected) -> Iterator[str]:
    """The three forms, all optional, where the specification accepts credentials; beyond it `security` alone."""
    for name, operation in operations(document).items():
        shown = parameters(operation)
        listed = CREDENTIALS & shown.keys()
        accepted = name in expected and expected[name].auth is not Auth.PUBLIC
        if listed != (CREDENTIALS if accepted else set()):
            yield f"{name}: lists the credentials {sorted(each[1] for each in listed)}"
        for each in listed:
            if shown[each].get("required") or branches(shown[each]["schema"])[0].get("type") != "string":
                yield f"{name}: {each[1]} is not an optional string"


def named_scopes(document: Json, expected: Expected) -> Iterator[str]:
    """Where the specification names a scope, that is the one."""
    for row, operation in both(document, expected):
        if row.scope is not None and operation.get("x-scope") != row.scope:
            yield f"{row.name}: needs {operation.get('x-scope')}, not {row.scope}"


def refusals(document: Json, reports: Collection[str] = ()) -> Iterator[str]:
    """422 is HTTPValidationError wherever something can be invalid; all other errors are problems.

    `reports` are answers such as `GET /readyz 503` that have a form of their own.
    """
    for name, operation in operations(document).items():
        answers = operation["responses"]
        if operation.get("parameters") or "requestBody" in operation:
            schema = answers.get("422", {}).get("content", {}).get("application/json", {}).get("schema", {})
            if schema.get("$ref", "").rpartition("/")[2] != "HTTPValidationError":
                yield f"{name}: 422 is not HTTPValidationError"
        for status, answer in answers.items():
            if status[0] not in "45" or status == "422" or f"{name} {status}" in reports:
                continue
            if list(answer.get("content", {})) != [PROBLEM]:
                yield f"{name}: {status} is not {PROBLEM}"
        if "x-scope" in operation and not {"401", "403"} <= answers.keys():
            yield f"{name}: needs a scope, but does not say 401 and 403"


def whole(document: Json) -> Iterator[str]:
    """What every operation of its kind can be refused with is said of it."""
    for name, operation in operations(document).items():
        if "requestBody" in operation and "413" not in operation["responses"]:
            yield f"{name}: has a body, but does not say 413"
        if "x-scope" in operation and "503" not in operation["responses"]:
            yield f"{name}: needs the database to know the caller, but does not say 503"


def examples(document: Json) -> Iterator[str]:
    """Every JSON body and answer of an operation has examples, and they are what their schema allows."""
    if not document["info"].get("description"):
        yield "info: has no description"
    for name, operation in operations(document).items():
        for schema in (*body_schemas(operation), *success_schemas(operation)):
            if not resolve(document, schema).get("examples"):
                yield f"{name}: no example of {schema.get('$ref', 'a schema').rpartition('/')[2]}"
    validator_of = validators(document)
    for place, schema, example in list_examples(document):
        for error in validator_of(schema).iter_errors(example):
            yield f"{place}: its example is wrong at {error.instance_path}: {error.message}"
        if isinstance(example, dict):
            own = resolve(document, schema)
            choices = [own, *(resolve(document, each) for each in branches(own))]
            known = {name for each in choices for name in each.get("properties", {})}
            is_open = any("additionalProperties" in each for each in choices)
            unknown = set[str]() if is_open else example.keys() - known
            yield from (f"{place}: its example has {each}, which is no member" for each in sorted(unknown))


def is_sentence(summary: str) -> bool:
    """Whether someone wrote it; FastAPI makes Title Case of a function's name."""
    first, *others = summary.split() or [""]
    return first[:1].isupper() and summary[-1:] != "." and any(not word[0].isupper() for word in others)


def fit_for_clients(document: Json) -> Iterator[str]:
    """Each operation has an identifier of its own, a summary and a typed answer."""
    shown = operations(document)
    ids = Counter(operation.get("operationId") for operation in shown.values())
    for name, operation in shown.items():
        identifier = operation.get("operationId", "")
        if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", identifier):
            yield f"{name}: {identifier!r} is no fit operationId"
        if ids[identifier] > 1:
            yield f"{name}: shares its operationId {identifier}"
        summary = operation.get("summary", "")
        if not is_sentence(summary):
            yield f"{name}: {summary!r} is no sentence without its full stop"
        for status, answer in successes(operation).items():
            content = answer.get("content", {})
            if (status == "204") == bool(content):
                yield f"{name}: {status} with content {list(content)}"
            json = content.get("application/json")
            if json is not None and not is_typed(document, json.get("schema", {})):
                yield f"{name}: {status} is untyped JSON"
    names = document.get("components", {}).get("schemas", {})
    # FastAPI puts the module before the name where two schemas share one.
    yield from (f"{name}: another schema has this name" for name in names if "__" in name)
    components = document.get("components", {})
    known = {f"#/components/{kind}/{name}" for kind, entries in components.items() for name in entries}
    yield from (f"{target}: referred to, but not there" for target in sorted(references(document) - known))
