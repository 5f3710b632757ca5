"""What of an answer of the API a tool shows: members by name, with the types that the API's document gives them.

    shows=show("id", names=part("items", "address"), url=taken("approval", "review_url"), pending=added("boolean"))

A member named `untrusted_…` is a text of somebody else, cut and escaped.
"""

import json
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

MAX_TEXT = 500  # characters of a text that others wrote
MAX_LONG = 6_000  # characters of the text of a mail
MAX_JSON = 2_000  # characters of JSON with such texts
UNTRUSTED = "untrusted_"
_ANY = "any"  # of JSON
_BLANK = {"\n", "\t"}
Json = Any  # of the document, or of an answer


class Member(NamedTuple):
    """A member of a result."""

    name: str
    path: Sequence[str]  # in the answer
    kind: str | None = None  # type of JSON of a member that the tool adds
    parts: Sequence["Member"] = ()  # the members of it, or of its items, that are shown; none: all


def show(*same: str | Member, **others: Member) -> tuple[Member, ...]:
    """Return a selection: members under their own names, and others under these names."""
    named = (Member(each, [each]) if isinstance(each, str) else each for each in same)
    return *named, *(each._replace(name=name, path=each.path or [name]) for name, each in others.items())


def taken(*path: str) -> Member:
    """Return a member under another name, or from inside other ones."""
    return Member("", path)


def part(name: str, *same: str | Member, **others: Member) -> Member:
    """Return a member of which, or of whose items, only these members are shown."""
    return Member("", [name], parts=show(*same, **others))


def inside(name: str, member: Member) -> Member:
    """Return a member from inside another one."""
    return member._replace(path=[name, *member.path])


def added(kind: str, *same: str, **others: Member) -> Member:
    """Return a member that the tool adds, with its type of JSON, and its own members or those of its items."""
    return Member("", (), kind, show(*same, **others))


def select(members: Sequence[Member], found: Json) -> Json:
    """Return the members of an answer, or of each of its items, without what is unknown."""
    if isinstance(found, list):
        return [select(members, each) for each in found]
    values = ((each, _value(found, each.path)) for each in members)
    return {each.name: _shown(each, value) for each, value in values if value is not None}


def _value(found: Json, path: Sequence[str]) -> Json:
    for name in path:
        found = None if found is None else found.get(name)
    return found


def _shown(member: Member, value: Json) -> Json:
    if member.parts:
        return select(member.parts, value)
    if member.kind is not None or not member.name.startswith(UNTRUSTED):
        return value
    if not isinstance(value, str):
        return as_data(json.dumps(value, ensure_ascii=False), longest=MAX_JSON)
    return as_data(value)


def schema_of(members: Sequence[Member], document: Json, found: Json) -> dict[str, Json]:
    """Return the schema of a result; `found` is that of the answer. Raise LookupError for a member it lacks."""
    properties = {each.name: _member_schema(each, document, found) for each in members}
    return {"type": "object", "properties": properties}


def _member_schema(member: Member, document: Json, found: Json) -> dict[str, Json]:
    if member.kind is not None:
        return {} if member.kind == _ANY else {"type": member.kind}
    for name in member.path:
        found = variant_of(document, found)["properties"][name]
    if member.name.startswith(UNTRUSTED):
        return {"type": "string"}
    variant = variant_of(document, found)
    if variant.get("type") == "array":
        return {"type": "array", "items": _part_schema(member, document, variant["items"])}
    return _part_schema(member, document, variant)


def _part_schema(member: Member, document: Json, found: Json) -> dict[str, Json]:
    if member.parts:
        schema_of(member.parts, document, found)  # each of them is there
    kinds = _kinds(variant_of(document, found))
    return {"type": kinds[0]} if len(kinds) == 1 else {}


def _kinds(schema: Json) -> list[str]:
    kinds = schema.get("type", [])
    return [each for each in ([kinds] if isinstance(kinds, str) else kinds) if each != "null"]


def variant_of(document: Json, schema: Json) -> Json:
    """Return the schema that a reference names; of several, the only one that is not null."""
    while "$ref" in schema or "anyOf" in schema or "allOf" in schema:
        if "$ref" in schema:
            *_, section, name = schema["$ref"].split("/")
            schema = document["components"][section][name]
            continue
        rest = [each for each in schema.get("anyOf", schema.get("allOf")) if each != {"type": "null"}]
        if len(rest) > 1:
            return {}
        schema = rest[0]
    return schema


def as_data(text: str, *, longest: int = MAX_TEXT) -> str:
    """Return a text of somebody else cut, and without characters that are invisible or change its direction."""
    shown = "".join(map(_escape, text[:longest]))
    return shown if len(text) <= longest else f"{shown}… (cut)"


def _escape(character: str) -> str:
    is_seen = character in _BLANK or unicodedata.category(character)[0] != "C"
    return character if is_seen else f"\\u{{{ord(character):x}}}"


def visible(value: Json) -> Json:
    """Return JSON whose texts are cut and escaped."""
    if isinstance(value, str):
        return as_data(value, longest=MAX_JSON)
    if isinstance(value, Mapping):
        return {as_data(name): visible(each) for name, each in value.items()}
    return [visible(each) for each in value] if isinstance(value, list) else value
