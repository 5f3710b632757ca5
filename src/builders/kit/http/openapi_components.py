"""Shared parts of the OpenAPI document: responses and parameters by reference, and open enums.

Without references to its repeated parts the document is half as large again. An enum of a response may grow within
`v1`, so it is `x-extensible-enum`, and generated clients accept values that they do not know.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from builders.kit.errors import PROBLEM_JSON

Json = dict[str, Any]  # a part of the document

OPEN_ENUM = "x-extensible-enum"
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
    """Replace repeated error responses, and repeated headers and cookies of requests, by references."""
    operations = [
        each for part in ("paths", "webhooks") for item in document[part].values() for each in item.values()
    ]
    _refer(document, "responses", _error_places(operations), _response_names)
    _refer(document, "parameters", _header_places(operations), lambda _, parameter: (parameter["name"],))


def drop_titles(document: Json) -> None:
    """Drop the titles that pydantic derives from the names of members, parameters and models."""
    for title, schema in document["components"]["schemas"].items():
        _drop_title(schema, title)
        for name, member in schema.get("properties", {}).items():
            _drop_title(member, _title(name))
    for item in document["paths"].values():
        for operation in item.values():
            for parameter in operation.get("parameters", ()):
                _drop_title(parameter["schema"], _title(parameter["name"]))


def _drop_title(schema: Json, derived: str) -> None:
    if schema.get("title") == derived:
        del schema["title"]


def _title(name: str) -> str:
    return name.replace("_", " ").title()


def _error_places(operations: Iterable[Json]) -> Iterator[tuple[Any, Any]]:
    for operation in operations:
        yield from ((operation["responses"], status) for status in operation["responses"] if status >= "4")


def _header_places(operations: Iterable[Json]) -> Iterator[tuple[Any, Any]]:
    for operation in operations:
        listed = operation.get("parameters", ())
        yield from ((listed, at) for at, each in enumerate(listed) if each["in"] in {"header", "cookie"})


def _response_names(status: str, response: Json) -> Iterator[str]:
    """Yield names of an error response: the status and its last codes, so many that the name is unique."""
    codes = list(response.get("content", {}).get(PROBLEM_JSON, {}).get("examples", ()))
    yield from (".".join([status, *codes[-many:]]) for many in range(1, len(codes) + 1))
    yield status


def _refer(
    document: Json, kind: str, places: Iterable[tuple[Any, Any]], names_of: Callable[[Any, Json], Iterable[str]]
) -> None:
    """Replace each part that occurs several times by a reference to a named component."""
    found = [(*place, place[0][place[1]]) for place in places]
    texts = [json.dumps(part, sort_keys=True) for *_, part in found]
    uses, components = Counter(texts), Json()
    for (container, at, part), text in zip(found, texts, strict=True):
        free = (name for name in names_of(at, part) if components.setdefault(name, part) == part)
        if uses[text] > 1 and (name := next(free, None)) is not None:
            container[at] = {"$ref": f"#/components/{kind}/{name}"}
    document["components"][kind] = components


def open_enums(document: Json) -> None:
    """Make the enums of responses and webhooks open; those of requests stay closed."""
    schemas: dict[str, Json] = document["components"]["schemas"]
    operations = [each for item in document["paths"].values() for each in item.values()]
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
    for name, each in part.items():
        if name == "enum" and isinstance(each, list):
            opened |= {"type": "string", OPEN_ENUM: each}
        elif name == "$ref" and isinstance(each, str) and each.removeprefix(_SCHEMAS) in renamed:
            opened[name] = f"{each}{_OPEN}"
        else:
            opened[name] = each if name == "examples" else _opened(each, renamed)
    return opened
