"""Forms of records, whose members are declared once: as the fields of the record.

The record declares a field with the type that a request accepts and with its description, such as
`registrar: Annotated[Text | None, doc("...")] = None`. A form takes members over with a decorator, after those
that it declares itself: `@create_of(Project, "name", slug=None)`, `@patch_of(Project, "name", "slug")`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, make_dataclass, replace
from functools import lru_cache
from types import NoneType
from typing import Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, Field, create_model

from builders.kit.callers import Caller
from builders.kit.http.bodies import ABSENT, NOT_NULL, WARNINGS, Body, UnknownField
from builders.kit.pages import Page
from builders.kit.values.money import MoneyInput
from builders.kit.values.resources import OF_CALLER, Member, members_of, names, optional_of, resource

M = TypeVar("M", bound=BaseModel)
B = TypeVar("B", bound=Body)
R = TypeVar("R")
Members = Mapping[str, Any]  # the arguments of create_model, by name
_KEY = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$", description="Unique in the manifest.")]


def create_of(record: type, *required: str, **defaults: Any) -> Callable[[type[B]], type[B]]:
    """Return a decorator of a body that creates a record: with these members, some of which have a default.

    A member whose default is None can be null, too.
    """
    return form_of(record, _form_members(record, required, defaults))


def manifest_of(record: type, *required: str, **defaults: Any) -> Callable[[type[B]], type[B]]:
    """Return a decorator of a resource in a manifest: with a key, and these members of its record.

    A default that can be called, such as `list`, makes the value of an absent member.
    """
    return form_of(record, {"key": (_KEY, ...), **_form_members(record, required, defaults)})


def _form_members(record: type, required: Sequence[str], defaults: Mapping[str, Any]) -> Members:
    known = {each.name: each for each in members_of(record)}
    return {
        **{name: _form_member(known[name], ...) for name in required},
        **{name: _form_member(known[name], default) for name, default in defaults.items()},
    }


def form_of(record: type, members: Members) -> Callable[[type[B]], type[B]]:
    """Return a decorator of a form of a record: with these members, after those that it declares itself."""

    def add(model: type[B]) -> type[B]:
        made = create_model(
            model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **members
        )
        made.resource = record
        return made

    return add


def _form_member(member: Member, default: Any) -> Any:  # an argument of create_model
    kind = _input(member) | None if default is None else _input(member)
    given = Field(default_factory=default) if callable(default) else default
    return Annotated[kind, Field(description=member.description)], given


def patch_of(record: type, *names: str) -> Callable[[type[B]], type[B]]:
    """Return a decorator of a merge patch of these members: null clears a list and what can be None."""
    known = {each.name: each for each in members_of(record)}
    return form_of(record, {name: _patch_member(known[name]) for name in names})


def _patch_member(member: Member) -> Any:  # an argument of create_model
    kind, text = _input(member), Field(description=member.description)
    if member.is_list or NoneType in get_args(kind):
        return Annotated[kind | None, text], None
    return Annotated[kind, text, NOT_NULL], ABSENT


def written_of(record: type[R], name: str = "") -> type[R]:
    """Return the answer to a change of a record: the record, with warnings about the body.

    A handler returns the record, or this class with other warnings; the route adds those about the body. Its name
    in the document is `name`, or the name of the record with `Written` in place of `Reply`.
    """
    name = name or f"{names()[record].removesuffix('Reply')}Written"
    warnings = ("warnings", WARNINGS, field(default_factory=list[UnknownField]))
    made = make_dataclass(name, [warnings], bases=(record,), frozen=True, slots=True, kw_only=True)
    made.__doc__, made.__module__ = record.__doc__, record.__module__
    _records[made] = record
    return resource(name, optional={**optional_of(record), "warnings": []})(made)


_records: dict[type, type] = {}  # by the answer to a change of it


def record_of(model: Any) -> type | None:  # any response model
    """Return the record whose changes a model answers; None for another model."""
    return _records.get(model) if isinstance(model, type) else None


def shown(result: R, caller: Caller) -> R:
    """Return a record, or a page of records, as its caller sees it: one account id with live and test keys.

    `current` is whether a session is that of the request.
    """
    kind: Any = type(next(iter(result.items), None) if isinstance(result, Page) else result)
    of_caller = _of_caller(kind)
    if not of_caller:
        return result
    if isinstance(result, Page):  # its items are of one class
        return replace(result, items=[shown(each, caller) for each in result.items])
    current = caller.session_id is not None and caller.session_id == getattr(result, "id", None)
    known = {"account_id": caller.live_account_id, "livemode": caller.is_live, "current": current}
    return replace(result, **{name: known[name] for name in of_caller})  # type: ignore[type-var] # a dataclass


@lru_cache(maxsize=256)  # more than there are records
def _of_caller(record: Any) -> Sequence[str]:
    return [each.name for each in members_of(record) if OF_CALLER in each.marks] if record in names() else ()


def _input(member: Member) -> Any:  # a type
    return MoneyInput | None if member.is_money else member.kind
