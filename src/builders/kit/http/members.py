"""Members of bodies and replies that are declared once: as the fields of a record.

The record declares each field with the type that a request accepts and with its description, such as
`registrar: Annotated[Text | None, doc("...")] = None`. A model takes them over with `with_members`,
after the members that it declares itself.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from decimal import Decimal
from functools import lru_cache, reduce
from operator import or_
from types import GenericAlias, NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Field, create_model
from pydantic.fields import FieldInfo

from builders.kit.http.bodies import ABSENT, NOT_NULL, Body, PatchBody
from builders.kit.values.money import Money, MoneyInput

M = TypeVar("M", bound=BaseModel)
Members = Mapping[str, Any]  # the arguments of create_model, by name


def with_members(members: Members) -> Callable[[type[M]], type[M]]:
    """Return a decorator that adds members to a model, after its own."""

    def add(model: type[M]) -> type[M]:
        return create_model(
            model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **members
        )

    return add


def create_members(record: type, *, omit: Collection[str] = ()) -> Members:
    """Return the members of a body that creates what the record describes; a default is the record's."""
    return {
        each.name: (Annotated[each.input, Field(description=each.description)], each.default)
        for each in declared(record)
        if each.name not in omit
    }


def patch_members(record: type, *, omit: Collection[str] = ()) -> Members:
    """Return the members of a merge patch: null clears a list and what can be None; other members refuse it."""
    return {
        each.name: (Annotated[each.input | None, Field(description=each.description)], None)
        if each.is_list or NoneType in get_args(each.kind)
        else (Annotated[each.input, Field(description=each.description), NOT_NULL], ABSENT)
        for each in declared(record)
        if each.name not in omit
    }


def reply_members(record: type, *, omit: Collection[str] = ()) -> Members:
    """Return the members of a reply: without the rules of requests, and with decimals as text."""
    return {
        each.name: (Annotated[_reply_type(each.kind), Field(description=each.description)], ...)
        for each in declared(record)
        if each.name not in omit
    }


def values_of(body: Body, record: type, *, currency: str | None = None) -> dict[str, Any]:
    """Return the values of the record's fields that the body has; of a patch, those that were sent.

    An amount without a currency is in `currency`. Raise Invalid when both lack one.
    """
    names = set(type(body).model_fields)
    if isinstance(body, PatchBody):
        names &= body.model_fields_set  # which also holds unknown members
    return {
        each.name: _value(each, getattr(body, each.name), currency)
        for each in declared(record)
        if each.name in names
    }


def _value(member: "Declared", value: Any, currency: str | None) -> Any:
    if isinstance(value, MoneyInput):
        return value.to_money(currency, field=member.name)
    return () if value is None and member.is_list else value


@dataclass(frozen=True, slots=True)
class Declared:
    """A field of a record as it is declared."""

    name: str
    kind: Any  # its type, with the rules of requests
    description: str | None
    default: Any  # ... without one

    @property
    def is_list(self) -> bool:
        """Return whether it is a list."""
        return get_origin(_bare(self.kind)) is Sequence

    @property
    def is_money(self) -> bool:
        """Return whether it is an amount."""
        return Money in {self.kind, *get_args(self.kind)}

    @property
    def input(self) -> Any:
        """Return the type in a request."""
        return MoneyInput | None if self.is_money else self.kind


@lru_cache(maxsize=256)  # more than there are records
def declared(record: type) -> Sequence[Declared]:
    """Return the fields of a record."""
    hints = get_type_hints(record, include_extras=True)
    return [
        _declared(each.name, hints[each.name], ... if each.default is MISSING else each.default)
        for each in fields(record)
    ]


def _declared(name: str, hint: Any, default: Any) -> Declared:
    if get_origin(hint) is not Annotated:
        return Declared(name, hint, None, default)
    kind, *metadata = get_args(hint)
    texts = [each for each in metadata if isinstance(each, FieldInfo) and each.description is not None]
    rules = [each for each in metadata if each not in texts]
    described = texts[-1].description if texts else None
    return Declared(name, Annotated[(kind, *rules)] if rules else kind, described, default)


def _bare(kind: Any) -> Any:
    """Return a type without its rules."""
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _reply_type(kind: Any) -> Any:
    if any(isinstance(rule, FieldInfo) and rule.title for rule in getattr(kind, "__metadata__", ())):
        return kind  # a schema of the OpenAPI document
    kind = _bare(kind)
    if get_origin(kind) in {Union, UnionType}:
        return reduce(or_, map(_reply_type, get_args(kind)))
    if get_origin(kind) is Sequence:
        return GenericAlias(list, tuple(map(_reply_type, get_args(kind))))
    return str if kind is Decimal else kind
