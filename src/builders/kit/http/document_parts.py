"""Parts of the OpenAPI document: the operations of one tag, with the components that they need.

The whole document has 1.2 MB, which is more than a language model reads at once.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Json = Mapping[str, Any]


def list_tags(document: Json) -> list[str]:
    """Return the names of the tags, in the order of the document."""
    return [str(each["name"]) for each in document.get("tags", ())]


def take_part(document: Json, tag: str) -> Json:
    """Return the document with the operations and webhooks of a tag, and the components that they refer to."""
    found = {**document, "tags": [each for each in document["tags"] if each["name"] == tag]}
    for section in ("paths", "webhooks"):
        found[section] = {
            path: kept
            for path, operations in document.get(section, {}).items()
            if (kept := {method: each for method, each in operations.items() if tag in each["tags"]})
        }
    every: Json = document["components"]
    needed = _list_components(document, [found["paths"], found["webhooks"]])
    found["components"] = {
        kind: {name: each for name, each in of_kind.items() if kind == "securitySchemes" or (kind, name) in needed}
        for kind, of_kind in every.items()
    }
    return found


def _list_components(document: Json, start: list[Any]) -> set[tuple[str, str]]:
    """Return the kind and name of each component that is reached from some values."""
    found: set[tuple[str, str]] = set()
    left = start
    while left:
        new = {each for value in left for each in _references(value)} - found
        found |= new
        left = [document["components"][kind][name] for kind, name in new]
    return found


def _references(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the kind and name of each component that a value refers to."""
    if isinstance(value, Mapping):
        target = value.get("$ref")
        if isinstance(target, str):
            _, _, kind, name = target.split("/")
            yield kind, name
        value = value.values()
    elif not isinstance(value, list):
        return
    for each in value:
        yield from _references(each)
