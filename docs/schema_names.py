# ruff: noqa: INP001 - a module of a program; not a package
"""The names of schemas that parts of the OpenAPI document would repeat.

A table names them: those with a `schema` by their shape, the others by their `title`. A text or a number that has
only bounds is named after them, such as `From1To100Text`.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set as AbstractSet
from typing import Any

from builders.kit.http.application import OPEN_ENUM

Json = dict[str, Any]  # a part of the document
Change = Callable[[Json], Json]
Named = tuple[str, Json]  # a name, and the notes of the component

NOTES = frozenset({"title", "description", "default", "examples", "deprecated"})  # of a use, beside its reference
_VALUES = frozenset({"const", "default", "enum", "example", "examples", "required", OPEN_ENUM})
_SCHEMAS = "#/components/schemas/"
_KINDS = {"string": ("Text", "Characters"), "integer": ("Integer", "An integer"), "number": ("Number", "A number")}
_ENDS = {"string": ("minLength", "maxLength"), "integer": ("minimum", "maximum"), "number": ("minimum", "maximum")}
_SCALARS = {*_KINDS, "boolean"}
_CLOSED = {"const", "enum", OPEN_ENUM}  # null would have to be one of the values
_LISTS = ("anyOf", "oneOf", "enum", OPEN_ENUM)


def share_schemas(document: Json, names: Mapping[str, Json]) -> None:
    """Replace inline schemas that the table names, or that repeat bounds, by references to components.

    Raise ValueError for a name of the table that no inline schema has, and for a name that two schemas have.
    """
    by_shape = {shape(each["schema"]): name for name, each in names.items() if "schema" in each}
    notes = {name: {note: said for note, said in each.items() if note in NOTES} for name, each in names.items()}

    def in_table(schema: Json) -> Named | None:
        title = schema.get("title")
        name = title if title in names else by_shape.get(shape(schema))
        return None if name is None else (name, notes[name])

    _change_all(document, _with_whole_bounds)
    if unused := names.keys() - _name(document, in_table):
        raise ValueError(f"no inline schema is {sorted(unused)}: change or remove these names")
    uses = Counter(map(shape, list_inline(document)))
    _name(document, lambda schema: bounds(schema) if uses[shape(schema)] > 1 else None)


def _name(document: Json, find: Callable[[Json], Named | None]) -> AbstractSet[str]:
    """Replace the inline schemas that have a name, and return the names."""
    components = dict[str, Json]()

    def refer(schema: Json) -> Json:
        found = find(schema)
        if found is None:
            return schema
        name, notes = found
        known = {**notes, **json.loads(shape(schema))}
        if components.setdefault(name, known) != known:
            raise ValueError(f"two different schemas are called {name}")
        own = {
            note: said for note, said in schema.items() if note in NOTES - {"title"} and said != notes.get(note)
        }
        return {"$ref": f"{_SCHEMAS}{name}", **own}

    _change_all(document, refer)
    schemas = document["components"]["schemas"]
    for name, known in sorted(components.items()):
        if shape(schemas.setdefault(name, known)) != shape(known):
            raise ValueError(f"a model is called {name}: rename it, or the schema of the table")
    return components.keys()


def unite_null(document: Json) -> None:
    """Write null into the type of a scalar, `["string", "null"]`, where it is the second of two alternatives."""
    _change_all(document, _with_null)


def shape(schema: Json) -> str:
    """Return what the schema allows, without its notes, as a text to compare."""
    return json.dumps({name: each for name, each in schema.items() if name not in NOTES}, sort_keys=True)


def bounds(schema: Json) -> Named | None:
    """Return the name of a text or a number that has bounds, none below zero, and nothing else."""
    kind = schema.get("type")
    if kind not in _KINDS or schema.keys() - NOTES - {"type", *_ENDS[kind]}:
        return None
    word, unit = _KINDS[kind]
    low, high = (schema.get(each) for each in _ENDS[kind])
    match low, high:
        case (None, None):
            return None
        case (None, _):
            return f"UpTo{high}{word}", {"description": f"{unit}, at most {high:,}."}
        case (_, None):
            return f"AtLeast{low}{word}", {"description": f"{unit}, at least {low:,}."}
        case _:
            return f"From{low}To{high}{word}", {"description": f"{unit}, {low:,} to {high:,}."}


def list_inline(document: Json) -> list[Json]:
    """Return each constrained scalar, enum and object of the document that is no component of its own."""
    found: list[Json] = []

    def note(schema: Json) -> Json:
        found.extend([schema] if is_constrained(schema) else [])
        return schema

    for part in _parts(document):
        _changed_members(part, note)
    return found


def is_constrained(schema: Json) -> bool:
    """Return whether a schema has members or values, or is a scalar with more than a standard type and format."""
    if schema.keys() & {"enum", OPEN_ENUM, "properties"}:
        return True
    kind = schema.get("type", [])
    kinds = {kind} if isinstance(kind, str) else {*kind} - {"null"}
    return bool(kinds) and kinds <= _KINDS.keys() and bool(schema.keys() - NOTES - {"type", "format", "const"})


def _parts(document: Json) -> Iterator[Json]:
    """Yield the parts that can have inline schemas."""
    yield from (document["paths"], document["webhooks"])
    for kind in ("schemas", "parameters", "responses"):
        yield from document["components"].get(kind, {}).values()


def _change_all(document: Json, change: Change) -> None:
    for part in _parts(document):
        part.update(_changed_members(part, change))


def _changed_members(part: Json, change: Change) -> Json:
    values = _VALUES if _is_schema(part) else ()
    return {name: each if name in values else _changed(each, change) for name, each in part.items()}


def _changed(part: Any, change: Change) -> Any:  # a part of the document
    if isinstance(part, list):
        return [_changed(each, change) for each in part]
    if not isinstance(part, dict):
        return part
    new = _changed_members(part, change)
    return change(new) if _is_schema(new) else new


def _is_schema(part: Json) -> bool:
    """Return whether a part is a schema, and not a map whose names happen to be those of keywords."""
    return isinstance(part.get("type"), str | list) or any(isinstance(part.get(each), list) for each in _LISTS)


def _with_whole_bounds(schema: Json) -> Json:
    whole = {each: int(schema[each]) for each in _ENDS["number"] if float(schema.get(each, 0.5)).is_integer()}
    return {**schema, **whole}


def _with_null(schema: Json) -> Json:
    match schema.get("anyOf"):
        case [{"type": str(kind)} as scalar, {"type": "null"}] if kind in _SCALARS and not scalar.keys() & _CLOSED:
            others = {name: each for name, each in schema.items() if name != "anyOf"}
            return {**scalar, "type": [kind, "null"], **others}
        case _:
            return schema
