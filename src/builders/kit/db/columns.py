"""Columns of records in statements, and parameters of statements for many rows."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from types import NoneType, UnionType
from typing import Any, LiteralString, Union, cast, get_args, get_origin
from uuid import UUID

from pydantic import AwareDatetime

from builders.kit.values.money import Money
from builders.kit.values.resources import Member, bare, members_of

_TYPES: Mapping[Any, LiteralString] = {  # by type; mypy takes AwareDatetime for another thing
    bool: "boolean",
    int: "bigint",
    str: "text",
    UUID: "uuid",
    Decimal: "numeric",
    datetime: "timestamptz",
    AwareDatetime: "timestamptz",
    date: "date",
    Money: "numeric",  # its currency is another column
}


def columns(records: Iterable[object], *names: str) -> dict[str, list[Any]]:
    """Return these attributes of the records as lists by name, for `unnest` in a statement."""
    rows = list(records)
    return {name: [getattr(each, name) for each in rows] for name in names}


def columns_of(record: type, table: LiteralString = "") -> LiteralString:
    """Return the columns of a record, for SELECT and RETURNING; of a table with this name."""
    return ", ".join(f"{table}.{name}" if table else name for name in _names(record))


def typed_columns_of(record: type) -> LiteralString:
    """Return the columns of a record with their types, as jsonb_to_recordset takes them."""
    return ", ".join(f"{_name(each)} {_type(each.kind)}" for each in members_of(record) if each.is_stored)


def settings_of(record: type, table: LiteralString) -> LiteralString:
    """Return the assignments of UPDATE that set the columns of a record to those of a table."""
    return ", ".join(f"{name} = {table}.{name}" for name in _names(record))


def _names(record: type) -> Sequence[LiteralString]:
    return [_name(each) for each in members_of(record) if each.is_stored]


def _name(member: Member) -> LiteralString:
    return cast("LiteralString", member.name)  # type: ignore[redundant-cast] # a name of the source; mypy knows no other


def _type(kind: Any) -> LiteralString:
    kind = bare(kind)
    if get_origin(kind) in {Union, UnionType}:
        [kind] = [each for each in get_args(kind) if each is not NoneType]
        return _type(kind)
    origin = get_origin(kind)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "jsonb"
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return f"{_type(get_args(kind)[0])}[]"
    return "text" if issubclass(kind, Enum) else _TYPES[kind]
