# ruff: noqa: INP001 - a module of a program; not a package
"""Examples of the OpenAPI document, from the files examples.json of the packages.

An example in a file lacks what its schema implies: a required member that is absent is null, or an empty list or
object. The answer to a change has the examples of its record, without warnings.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import builders
from builders.kit.http.members import record_of
from builders.kit.values import resources

Json = dict[str, Any]  # a part of the document


def read_examples() -> Mapping[str, Sequence[Any]]:
    """Return the examples of bodies, replies and events by name."""
    files = sorted(Path(builders.__path__[0]).rglob("examples.json"))
    found: dict[str, Sequence[Any]] = {
        name: each for file in files for name, each in json.loads(file.read_bytes()).items()
    }
    names = resources.names()
    for written, name in names.items():
        record = record_of(written)
        shown = () if record is None else found.get(names.get(record, ""), ())
        if shown and name not in found:
            found[name] = [{**each, "warnings": []} for each in shown]
    return found


def add_examples(schemas: Json, examples: Mapping[str, Sequence[Any]]) -> None:
    """Add the examples of models; a page of a list has those of its item."""
    for name in examples.keys() & schemas.keys():
        schemas[name]["examples"] = [_completed(each, schemas[name]) for each in examples[name]]
    for schema in schemas.values():
        properties = schema.get("properties", {})
        item = properties.get("items", {}).get("items", {}).get("$ref", "").rpartition("/")[2]
        if item in examples and properties.keys() <= {"items", "next_cursor", "total"}:
            cursor = {name: None for name in ("next_cursor", "total") if name in properties}
            schema["examples"] = [{"items": schemas[item]["examples"], **cursor}]


def _completed(example: Any, schema: Json) -> Any:
    """Return an example with the members that it lacks, in the order of the schema."""
    if not isinstance(example, dict) or "properties" not in schema:
        return example
    empty = {
        name: _empty(schema["properties"][name]) for name in schema.get("required", ()) if name not in example
    }
    known = {**example, **{name: value for name, value in empty.items() if value is not ...}}
    ordered = {name: known[name] for name in schema["properties"] if name in known}
    return {**ordered, **known}


def _empty(schema: Json) -> Any:  # of JSON, or ... where the schema allows none
    if {"type": "null"} in schema.get("anyOf", ()):
        return None
    if schema.get("type") == "object" and "properties" not in schema:
        return {}
    return [] if schema.get("type") == "array" else ...
