"""Reads the OpenAPI document: operations as the templates write them, and the schemas that they use."""

import json
import keyword
import re
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import TopologicalSorter
from typing import Any, NamedTuple

Schema = Mapping[str, Any]
METHODS = ("get", "put", "post", "patch", "delete")
# The types of values.py for what a caller sends, and what JSON reads.
SENT = {"date-time": "TimeLike", "date": "DateLike", "decimal": "AmountLike"}
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
# Written by hand in values.py.
OWN_TYPES = {"Money": "MoneyLike", "MoneyParts": "MoneyLike"}
SHARED = "shared"
# The client itself sends these.
OWN_PARAMETERS = {"Idempotency-Key", "X-Portfolio-Account", "X-API-Key", "Authorization"}
# PageReply_ProjectReply_ becomes ProjectReplyPage.
_GENERIC = re.compile(r'(["/])([A-Z][A-Za-z]+?)(?:Reply)?_([A-Z]\w+?)_"')
_EVERYWHERE = {"idempotency_in_flight", "body_too_large"}
_NOT_PROBLEMS = {"warnings", "redacted"}


class Parameter(NamedTuple):
    """A parameter of the path, the query or a header."""

    wire: str
    name: str
    type: str
    required: bool
    said: str


class Member(NamedTuple):
    """A member of a body."""

    name: str
    type: str
    said: str


@dataclass(frozen=True, kw_only=True)
class Body:
    """An object that a caller sends."""

    name: str
    said: str
    members: Sequence[Member]

    @property
    def has_keyword(self) -> bool:
        """Return whether the name of a member is a word of Python, so that no class can have it."""
        return any(keyword.iskeyword(each.name) for each in self.members)


@dataclass(frozen=True, kw_only=True)
class Operation:
    """An operation of the document."""

    id: str
    tag: str
    name: str
    method: str
    path: str
    said: str
    scope: str | None
    parameters: Mapping[str, Sequence[Parameter]]  # by place: path, query, header
    body: str | None = None  # type of the body
    is_flat: bool = False  # its members are keyword arguments
    is_body_required: bool = False
    required: Sequence[str] = ()
    form: bool = False
    # Media types by status, unless 200 with JSON.
    replies: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    reply: str = "File"
    item: str | None = None  # type of an item, if the reply is a page
    items: str = ""
    keyed: bool = False
    live: bool = False
    codes: Sequence[str] = ()  # of refusals that are its own
    public: bool = False
    portfolio: bool = False

    @property
    def doc(self) -> str:
        """Return the docstring."""
        said = (
            f"{self.said}\n\nErrors: {', '.join(f'`{each}`' for each in self.codes)}." if self.codes else self.said
        )
        return docstring(said, indent=8, parameters=[each for place in self.parameters.values() for each in place])


def identifier(text: str) -> str:
    """Return a name of Python."""
    name = re.sub(r"\W+", "_", text).strip("_").lower()
    return f"{name}_" if keyword.iskeyword(name) else name


def docstring(text: str, *, indent: int, parameters: Sequence[Parameter] = ()) -> str:
    """Return the text as a docstring of the indentation, with its parameters."""
    paragraphs = [" ".join(each.split()) for each in text.strip().split("\n\n")]
    lines = [textwrap.wrap(each, 112 - indent) for each in paragraphs]
    if parameters:
        said = [
            "\n".join(textwrap.wrap(f"{each.name}: {each.said}", 108 - indent, subsequent_indent="    "))
            for each in parameters
        ]
        lines.append(["Args:", *(textwrap.indent(each, "    ") for each in said)])
    joined = "\n\n".join("\n".join(each) for each in lines).replace("\\", "\\\\").replace('"""', "'''")
    shown = textwrap.indent(joined, " " * indent).strip()
    end = f"\n{' ' * indent}" if "\n" in joined else ""
    return f'"""{shown}{"." * (end == "" and shown[-1:] not in ".!?")}{end}"""'


def is_decimal(schema: Schema) -> bool:
    """Return whether the text is an exact number: by its format, or its pattern has decimals and no letters."""
    pattern = schema.get("pattern", "")
    has_decimals = bool(re.search(pattern, "0.5")) and not re.search(pattern, "a")
    return has_decimals or schema.get("format") == "decimal"


class Document:
    """The OpenAPI document."""

    def __init__(self, text: str) -> None:
        self.all: Mapping[str, Any] = json.loads(_GENERIC.sub(r'\1\3\2"', text))
        self.schemas: Mapping[str, Schema] = self.all["components"]["schemas"]

    def resolve(self, schema: Schema) -> Schema:
        """Return what a reference names."""
        while "$ref" in schema:
            found: Any = self.all
            for part in schema["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            schema = found
        return schema

    @cached_property
    def operations(self) -> Sequence[Operation]:
        """Return the operations."""
        found = (
            self._operation(method, path, each)
            for path, methods in self.all["paths"].items()
            for method, each in methods.items()
            if method in METHODS
        )
        return sorted(found, key=lambda each: (each.tag, each.name))

    def _operation(self, method: str, path: str, told: Schema) -> Operation:
        tag = identifier(told["tags"][0])
        parameters = defaultdict[str, list[Parameter]](list)
        given = [self.resolve(each) for each in told.get("parameters", ())]
        taken = {each["name"] for each in given}
        body, member_names, required, form = self._body(told.get("requestBody", {}))
        for each in given:
            if each["name"] not in member_names and each["name"] not in OWN_PARAMETERS and each["in"] != "cookie":
                parameters[each["in"]].append(self._parameter(each))
        reply, items, item = self._reply(told["responses"])
        is_page = "cursor" in taken and item is not None and "wait" not in taken and not _is_single(told)
        return Operation(
            id=told["operationId"],
            tag=tag,
            name=identifier(told["operationId"].removeprefix(f"{tag}_")),
            method=method.upper(),
            path=path,
            said=_said(told),
            scope=told.get("x-scope"),
            parameters=parameters,
            body=body,
            is_flat=bool(member_names),
            is_body_required=told.get("requestBody", {}).get("required", False),
            required=required,
            form=form,
            replies=self._replies(told["responses"]),
            reply=reply,
            item=item if is_page else None,
            items=items,
            keyed="Idempotency-Key" in taken,
            live="a live API key" in told.get("description", ""),
            codes=self._codes(told["responses"]),
            public=not told["security"] or {} in told["security"],
            portfolio="X-Portfolio-Account" in taken,
        )

    def _codes(self, responses: Schema) -> list[str]:
        """Return the codes that depend on the operation, not on the credentials, the form or the load."""
        return [
            code
            for status in ("404", "409", "410", "412", "413")
            for told in self.resolve(responses.get(status, {})).get("content", {}).values()
            for code in told.get("examples", ())
            if code not in _EVERYWHERE
        ]

    def _parameter(self, told: Schema) -> Parameter:
        required = told.get("required", False)
        said = " ".join((told.get("description") or "").split())
        of = self.sent(told["schema"])
        return Parameter(told["name"], identifier(told["name"]), of, required, said)

    def _body(self, told: Schema) -> tuple[str | None, set[str], Sequence[str], bool]:
        """Return the type of a body, members that are keyword arguments, those required, and if it is a form."""
        if not told:
            return None, set(), (), False
        [(media_type, content)] = told["content"].items()
        form = media_type != "application/json"
        schema = _without_null(content["schema"])
        resolved = self.resolve(schema)
        if "$ref" in schema and resolved.get("properties") and "oneOf" not in resolved:
            return self.sent(schema), set(resolved["properties"]), resolved.get("required", ()), form
        return ("Mapping[str, Any]" if "$ref" not in schema else self.sent(schema)), set(), (), form

    def _reply(self, responses: Schema) -> tuple[str, str, str | None]:
        """Return the type of the reply, and of its items with the name of their member."""
        good = [(code, self.resolve(each)) for code, each in responses.items() if code.startswith(("2", "3"))]
        content = {media: each for code, told in good for media, each in told.get("content", {}).items()}
        if "application/json" not in content:
            return ("File" if content or any(code.startswith("3") for code, _ in good) else "None"), "", None
        schema = content["application/json"]["schema"]
        if "$ref" not in schema:
            return " | ".join(each["$ref"].rpartition("/")[2] for each in schema["anyOf"]), "", None
        members = self.resolve(schema).get("properties", {})
        lists = [
            (name, each["items"]["$ref"].rpartition("/")[2])
            for name, each in members.items()
            if "$ref" in each.get("items", {}) and name not in _NOT_PROBLEMS
        ]
        name, item = next((each for each in lists if each[0] in {"items", "findings"}), ("", None))
        has_more = "next_cursor" in members
        return schema["$ref"].rpartition("/")[2], name if has_more else "", item if has_more else None

    def _replies(self, responses: Schema) -> Mapping[int, tuple[str, ...]]:
        """Return the media types of each status that is a success, unless that is 200 with JSON."""
        found = {
            int(code): tuple(self.resolve(told).get("content", ()))
            for code, told in responses.items()
            if code.startswith(("2", "3")) and code != "304"
        }
        return {} if found == {200: ("application/json",)} else found

    def sent(self, schema: Schema) -> str:
        """Return the type of a value that a caller sends."""
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            if name in OWN_TYPES:
                return OWN_TYPES[name]
            resolved = self.resolve(schema)
            return name if _is_named(resolved) else self.sent(resolved)
        if parts := schema.get("anyOf") or schema.get("oneOf"):
            return self._union(parts)
        if "const" in schema or "enum" in schema:
            return f"Literal[{', '.join(map(_quoted, schema.get('enum', [schema.get('const')])))}]"
        return self._plain(schema)

    def _union(self, parts: Sequence[Schema]) -> str:
        types = list(dict.fromkeys(each for part in parts for each in self.sent(part).split(" | ")))
        if "AmountLike" in types:  # a number or text
            types = [each for each in types if each not in {"float", "str"}]
        return " | ".join(sorted(types, key=lambda each: each == "None"))

    def _plain(self, schema: Schema) -> str:
        kind = schema.get("type")
        if isinstance(kind, list):
            return self._union([{**schema, "type": each} for each in kind])
        if kind == "array":
            return f"Sequence[{self.sent(schema.get('items', {}))}]"
        if kind == "object":
            inner = schema.get("additionalProperties")
            return f"Mapping[str, {self.sent(inner) if isinstance(inner, dict) else 'Any'}]"
        if kind == "string" and (said := schema.get("format")) in SENT:
            return SENT[said]
        if kind == "string" and is_decimal(schema):
            return SENT["decimal"]
        return PLAIN.get(str(kind), "Any")

    def bodies(self) -> Mapping[str, Sequence[Body | tuple[str, str]]]:
        """Return what callers send by tag: objects, and unions as a name and a type."""
        used = defaultdict[str, set[str]](set)
        for each in self.operations:
            told = self.all["paths"][each.path][each.method.lower()].get("requestBody", {})
            for name in self.reachable(told):
                used[name].add(each.tag)
        placed, unions = defaultdict[str, list[Body]](list), defaultdict[str, list[tuple[str, str]]](list)
        for name, tags in sorted(used.items()):
            schema = self.schemas[name]
            if name in OWN_TYPES or not _is_named(schema):
                continue
            tag = next(iter(tags)) if len(tags) == 1 else SHARED
            if "properties" in schema:
                placed[tag].append(self._object(name, schema))
            else:
                unions[tag].append((name, self._union(schema["oneOf"])))
        return {tag: [*_in_order(placed[tag]), *unions[tag]] for tag in placed}

    def _object(self, name: str, schema: Schema) -> Body:
        required = schema.get("required", ())
        members = [
            Member(
                member,
                self.sent(each) if member in required else f"NotRequired[{self.sent(each)}]",
                docstring(each.get("description") or self.resolve(each).get("description", ""), indent=4),
            )
            for member, each in schema["properties"].items()
        ]
        return Body(name=name, said=docstring(schema.get("description", name), indent=4), members=members)

    def reachable(self, told: Any) -> set[str]:
        """Return the names of all schemas that this part of the document refers to."""
        found: set[str] = set()
        waiting = [told]
        while waiting:
            for ref in set(_refs(waiting.pop())):
                if ref.startswith("#/components/schemas/"):
                    name = ref.rpartition("/")[2]
                    if name not in found:
                        found.add(name)
                        waiting.append(self.schemas[name])
                else:
                    waiting.append(self.resolve({"$ref": ref}))
        return found

    def replies(self) -> Mapping[str, str]:
        """Return the schemas that successful responses contain, each with the tag that has it, or `shared`."""
        used = defaultdict[str, set[str]](set)
        for each in self.operations:
            responses = self.all["paths"][each.path][each.method.lower()]["responses"]
            for name in self.reachable({code: told for code, told in responses.items() if code.startswith("2")}):
                used[name].add(each.tag)
        return {name: next(iter(tags)) if len(tags) == 1 else SHARED for name, tags in sorted(used.items())}


def _in_order(bodies: Sequence[Body]) -> Iterator[Body]:
    """Return the objects, each after those that it contains."""
    by_name = {each.name: each for each in bodies}
    contained = {
        each.name: sorted(by_name.keys() & set(re.findall(r"\w+", " ".join(one.type for one in each.members))))
        for each in bodies
    }
    return map(by_name.__getitem__, TopologicalSorter(contained).static_order())


def _is_single(told: Schema) -> bool:
    """Return whether the reply is a resource with a page of its parts."""
    return bool(re.search(r"_get_\w*import$", told["operationId"]))


def _said(told: Schema) -> str:
    """Return the description, which begins with the summary."""
    summary, description = told["summary"], told.get("description", "")
    return description if description.startswith(summary.rstrip(".")) else f"{summary}.\n\n{description}"


def _is_named(schema: Schema) -> bool:
    return "properties" in schema or "oneOf" in schema


def _without_null(schema: Schema) -> Schema:
    parts = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    return parts[0] if len(parts) == 1 else schema


def _quoted(value: object) -> str:
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _refs(told: Any) -> Iterator[str]:
    if isinstance(told, Mapping):
        for key, value in told.items():
            if key == "$ref":
                yield value
            elif key not in {"examples", "example"}:
                yield from _refs(value)
    elif isinstance(told, Iterable) and not isinstance(told, str):
        for each in told:
            yield from _refs(each)
