"""How the checks read an OpenAPI document."""

from collections.abc import Callable, Iterator
from typing import Any

import jsonschema_rs

from builders.kit.http.application import OPEN_ENUM

# OpenAPI is JSON of any depth; naming its every part would be longer than the checks.
Json = dict[str, Any]

_BASE = "urn:document"
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
BOUNDS = {"minimum": "minimum", "maximum": "maximum", "min_length": "minLength", "format": "format"}


def operations(document: Json) -> dict[str, Json]:
    """The document's operations by name, such as `GET /livez`, with their parameters and responses themselves."""
    return {
        f"{method.upper()} {path}": whole(document, item[method])
        for path, item in document["paths"].items()
        for method in METHODS
        if method in item
    }


def whole(document: Json, operation: Json) -> Json:
    """The operation with its parameters and responses where references stand for them."""
    shown = dict(operation)
    if "responses" in operation:
        shown["responses"] = {status: resolve(document, each) for status, each in operation["responses"].items()}
    if "parameters" in operation:
        shown["parameters"] = [resolve(document, each) for each in operation["parameters"]]
    return shown


def resolve(document: Json, part: Json) -> Json:
    """The part itself, such as a schema, where a reference stands for it."""
    while "$ref" in part:
        *_, kind, name = part["$ref"].split("/")
        part = document["components"][kind][name]
    return part


def validators(document: Json) -> Callable[[Json], Any]:
    """Return a function that makes the validator of a schema; they share the components of the document.

    The service itself sends only the known values of an open enum.
    """
    components = {"components": _closed(document.get("components", {}))}
    registry = jsonschema_rs.Registry([(_BASE, components)], draft=jsonschema_rs.Draft202012)
    return lambda schema: jsonschema_rs.validator_for(_absolute(schema), registry=registry)


def _absolute(schema: Any) -> Any:
    """Return the schema with references that do not depend on its place."""
    if isinstance(schema, dict):
        return {name: f"{_BASE}{each}" if name == "$ref" else _absolute(each) for name, each in schema.items()}
    return [_absolute(each) for each in schema] if isinstance(schema, list) else schema


def _closed(part: Any) -> Any:
    """Return a part of the document with closed enums."""
    if isinstance(part, dict):
        return {"enum" if name == OPEN_ENUM else name: _closed(each) for name, each in part.items()}
    return [_closed(each) for each in part] if isinstance(part, list) else part


def list_examples(document: Json) -> Iterator[tuple[str, Json, Any]]:
    """Yield each example of a schema, a parameter or a body, with its place and its schema."""
    yield from _examples(document, {name: document.get(name, {}) for name in ("paths", "webhooks")}, "")
    for kind in ("schemas", "parameters", "responses", "headers"):
        yield from _examples(document, document.get("components", {}).get(kind, {}), kind)


def _examples(document: Json, part: Any, place: str) -> Iterator[tuple[str, Json, Any]]:
    if isinstance(part, list):
        for at, each in enumerate(part):
            yield from _examples(document, each, f"{place}/{at}")
    if not isinstance(part, dict):
        return
    found = part.get("examples")
    if isinstance(found, list):
        yield from ((place, part, each) for each in found)
    elif isinstance(found, dict) and "schema" in part:  # of a parameter, or of a media type
        yield from ((place, part["schema"], resolve(document, each)["value"]) for each in found.values())
    if "example" in part and "schema" in part:
        yield place, part["schema"], part["example"]
    for name, each in part.items():
        if not (name in {"default", "const"} or (name == "examples" and isinstance(each, list))):
            yield from _examples(document, each, f"{place}/{name}")


def branches(schema: Json) -> list[Json]:
    """The alternatives of a schema without null, which only says that the value may be left out."""
    choices: list[Json] = schema.get("anyOf") or schema.get("oneOf") or [schema]
    return [choice for choice in choices if choice.get("type") != "null"]


def parameters(operation: Json) -> dict[tuple[str, str], Json]:
    """The operation's parameters by place and name, such as `("query", "limit")`."""
    return {(each["in"], each["name"]): each for each in operation.get("parameters", [])}


def successes(operation: Json) -> dict[str, Json]:
    """The documented 2xx answers by status."""
    return {status: each for status, each in operation["responses"].items() if status.startswith("2")}


def body_schemas(operation: Json) -> Iterator[Json]:
    """What a JSON request body may be, null left out."""
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" in content:
        yield from branches(content["application/json"]["schema"])


def success_schemas(operation: Json) -> Iterator[Json]:
    """What a JSON answer to a good request may be, null left out."""
    for answer in successes(operation).values():
        content = answer.get("content", {})
        if "application/json" in content:
            yield from branches(content["application/json"]["schema"])


def is_typed(document: Json, schema: Json) -> bool:
    """Whether a schema says something that a generated client can use."""
    known = resolve(document, schema)
    if "anyOf" in known or "oneOf" in known:
        return all(is_typed(document, each) for each in branches(known))
    if known.get("type") == "object":
        return bool(known.get("properties")) or isinstance(known.get("additionalProperties"), dict)
    if known.get("type") == "array":
        return is_typed(document, known.get("items", {}))
    return bool(known.keys() & {"type", "enum", "const", "allOf"})


def references(value: object) -> set[str]:
    """Every target of a `$ref` anywhere inside."""
    match value:
        case {"$ref": str(target)}:
            return {target}
        case dict():
            return set().union(*map(references, value.values()))
        case list():
            return set().union(*map(references, value))
        case _:
            return set()
