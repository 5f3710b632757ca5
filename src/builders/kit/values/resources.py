"""Resources: a record that is the row of a table, the answer of the API and the data of events (decision 0053).

A member is declared and described once, as a field of the frozen dataclass: `Annotated[Name, doc("…")]`. Forms,
events and columns derive from it (kit/http/members.py, kit/events/payloads.py, kit/db/columns.py). Marks say what
depends on the request or is shown once:

    @resource("ProjectReply", computed={"status": "State of the project."})
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Project:
        account_id: Annotated[UUID, doc("The account."), OF_CALLER]
        name: Annotated[Name, doc("Name for people.")]
        manifest: Annotated[str | None, HIDDEN]
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from decimal import Decimal
from enum import Enum
from functools import lru_cache, reduce
from operator import or_
from types import GenericAlias, MappingProxyType, UnionType
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, computed_field
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from builders.kit.values.money import Money

R = TypeVar("R")


class Mark(Enum):
    """What the value of a member depends on besides the row, and how often and to whom an answer shows it."""

    OF_CALLER = "of_caller"
    ONCE = "once"
    MONEY = "money"


# `shown` (kit/http/members.py) sets it. With a default it is no column.
OF_CALLER: Final = Mark.OF_CALLER
ONCE: Final = Mark.ONCE  # a secret: the replay of an idempotent request omits it
MONEY: Final = Mark.MONEY  # null for a role that does not see money: `visible` of portfolio/team
HIDDEN = Field(exclude=True)  # a column that no answer shows
_PROTECTING = (Mark.ONCE, Mark.MONEY)  # beside Masked


@dataclass(frozen=True, slots=True)
class Masked:
    """The mark of a member that events and the plans of a sandbox show masked: receivers store them."""

    mask: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Member:
    """A field of a record as it is declared."""

    name: str
    kind: Any  # its type, with the rules of requests
    description: str | None
    default: Any  # ... without one
    marks: Sequence[object] = ()

    @property
    def is_list(self) -> bool:
        """Return whether it is a list."""
        return get_origin(bare(self.kind)) in {list, Sequence}

    @property
    def is_mapping(self) -> bool:
        """Return whether it has pairs."""
        return get_origin(bare(self.kind)) in {dict, Mapping}

    @property
    def is_money(self) -> bool:
        """Return whether it is an amount."""
        return Money in {self.kind, *get_args(self.kind)}

    @property
    def is_stored(self) -> bool:
        """Return whether it is a column."""
        return Mark.OF_CALLER not in self.marks or self.default is ...


@lru_cache(maxsize=256)  # more than there are records
def members_of(record: type) -> Sequence[Member]:
    """Return the fields of a record; a field that is declared again keeps the marks that protect it."""
    hints = get_type_hints(record, include_extras=True)
    members = [_member(each.name, hints[each.name], _default(each)) for each in fields(record)]
    kept = _protecting(record)
    return [
        replace(each, marks=[*each.marks, *(mark for mark in kept.get(each.name, ()) if mark not in each.marks)])
        for each in members
    ]


def _protecting(record: type) -> Mapping[str, Sequence[object]]:
    """Return the marks by which the classes that a record inherits from protect their members."""
    inherited = (each for base in reversed(record.__mro__[1:]) if is_dataclass(base) for each in members_of(base))
    return {
        each.name: [mark for mark in each.marks if isinstance(mark, Masked) or mark in _PROTECTING]
        for each in inherited
    }


def masked_of(record: type) -> Mapping[str, Callable[[str], str]]:
    """Return the mask of each member that has one."""
    marks = ((each.name, mark) for each in members_of(record) for mark in each.marks)
    return {name: mark.mask for name, mark in marks if isinstance(mark, Masked)}


def _default(field: Any) -> Any:  # of dataclasses
    if field.default is not MISSING:
        return field.default
    return ... if field.default_factory is MISSING else field.default_factory()


def _member(name: str, hint: Any, default: Any) -> Member:
    if get_origin(hint) is not Annotated:
        return Member(name, hint, None, default)
    kind, *metadata = get_args(hint)
    texts = [each for each in metadata if isinstance(each, FieldInfo) and each.description is not None]
    marks = [each for each in metadata if isinstance(each, (Mark, Masked)) or each is HIDDEN]
    rules = [each for each in metadata if each not in texts and each not in marks]
    described = texts[-1].description if texts else None
    return Member(name, Annotated[(kind, *rules)] if rules else kind, described, default, marks)


def extended(kind: type[R], record: Any, **more: Any) -> R:
    """Return a record that has the members of this one, and more."""
    return kind(**{**{each.name: getattr(record, each.name) for each in fields(record)}, **more})


def bare(kind: Any) -> Any:
    """Return a type without its rules."""
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def reply_type(kind: Any) -> Any:  # types
    """Return the type of a member in a reply: without the rules of requests."""
    if any(isinstance(rule, FieldInfo) and rule.title for rule in getattr(kind, "__metadata__", ())):
        return kind  # a schema of the OpenAPI document
    kind = bare(kind)
    origin, inner = get_origin(kind), tuple(map(reply_type, get_args(kind)))
    if origin in {Union, UnionType}:
        return reduce(or_, inner)
    if origin in {list, Sequence, dict}:
        return GenericAlias(dict if origin is dict else list, inner)
    return str if kind is Decimal else kind


@lru_cache(maxsize=1024)  # more than there are answers
def shown_once_of(answer: Any) -> Mapping[str, Any]:  # any response model
    """Return the members that an answer shows once, also those of answers in it, as `exclude` of pydantic."""
    found: dict[str, Any] = {}
    for name, kind, marks in _members_of_answer(answer):
        if Mark.ONCE in marks:
            found[name] = True
        elif nested := next(filter(None, map(shown_once_of, _classes_in(kind))), None):
            found[name] = {"__all__": nested} if get_origin(bare(kind)) in {list, Sequence} else nested
    return found


def _members_of_answer(answer: Any) -> Iterator[tuple[str, Any, Sequence[object]]]:
    if not isinstance(answer, type):
        return
    if issubclass(answer, BaseModel):
        for name, each in answer.model_fields.items():
            yield name, each.annotation, each.metadata
    elif is_dataclass(answer):
        for member in members_of(answer):
            yield member.name, member.kind, member.marks


def _classes_in(kind: Any) -> Iterator[type]:
    """Yield the classes of a type, and of its items."""
    if isinstance(kind, type):
        yield kind
    for each in get_args(kind):
        yield from _classes_in(each)


# Stored data can be older than a rule of requests.
_RULES = {
    *("minLength", "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("multipleOf", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "propertyNames"),
    "default",
}
_names: dict[type, str] = {}
_optional: dict[type, Mapping[str, Any]] = {}


def resource(
    name: str, *, computed: Mapping[str, str] | None = None, optional: Mapping[str, Any] = MappingProxyType({})
) -> Callable[[type[R]], type[R]]:
    """Return a decorator of a record that is an answer, with its name in the OpenAPI document.

    `computed` describes the properties of the record that are members of the answer. The schema has all members
    as required, but those that are optional and have a default, and no rules of requests.
    """

    def describe(record: type, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        described = handler(schema)
        whole = handler.resolve_ref_schema(described)
        for member, each in whole["properties"].items():
            each.pop("readOnly", None)  # of computed members
            # Another title is that of a schema of the document.
            if member not in optional and each.get("title") in {None, member.replace("_", " ").title()}:
                _drop_rules(each)
        for member, default in optional.items():
            whole["properties"][member]["default"] = default
        # A replay omits what is shown once, if it has a default.
        absent = {each.name for each in members_of(record) if Mark.ONCE in each.marks and each.default is not ...}
        whole["required"] = [each for each in whole["properties"] if each not in {*absent, *optional}]
        return described

    def add(record: type[R]) -> type[R]:
        for member, description in (computed or {}).items():
            setattr(record, member, computed_field(description=description)(getattr(record, member)))
        # The names that pydantic reads.
        vars_of_pydantic = {
            "__pydantic_config__": ConfigDict(title=name),
            "__get_pydantic_json_schema__": classmethod(describe),
        }
        for attribute, value in vars_of_pydantic.items():
            setattr(record, attribute, value)
        _names[record], _optional[record] = name, optional
        return record

    return add


def names() -> Mapping[type, str]:
    """Return the names in the OpenAPI document of all records that are answers."""
    return _names


def optional_of(record: type) -> Mapping[str, Any]:
    """Return the members of an answer that are optional, with their defaults."""
    return _optional.get(record, {})


def _drop_rules(schema: JsonSchemaValue) -> None:
    for rule in _RULES & schema.keys():
        if "$ref" not in str(schema[rule]):  # the names of pairs can be those of an enum
            del schema[rule]
    inner = [*schema.get("anyOf", ()), schema.get("items"), schema.get("additionalProperties")]
    for each in inner:
        if isinstance(each, dict) and "title" not in each:
            _drop_rules(each)
