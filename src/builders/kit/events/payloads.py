"""Data of events that derive from a record: its members, as an answer shows them, and masked ones."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar, cast

from pydantic import BaseModel, Field, create_model

from builders.kit.values.resources import Member, masked_of, members_of, reply_type

M = TypeVar("M", bound=BaseModel)


def event_of(record: type, *names: str) -> Callable[[type[M]], type[M]]:
    """Return a decorator that adds members of a record to the data of an event, in this order.

    A name can be that of a member which the model declares itself.
    """
    known = {each.name: each for each in members_of(record)}

    def add(model: type[M]) -> type[M]:
        own: dict[str, Any] = {
            name: (each.rebuild_annotation(), each) for name, each in model.model_fields.items()
        }
        members = {name: own.get(name) or _declared(known[name]) for name in names}
        made = create_model(model.__name__, __module__=model.__module__, __doc__=model.__doc__, **members)
        return cast("type[M]", made)  # the same members, in the order of the event

    return add


def _declared(member: Member) -> Any:  # an argument of create_model
    return Annotated[reply_type(member.kind), Field(description=member.description)], ...


def values_of(record: object, model: type[BaseModel]) -> dict[str, Any]:
    """Return the values of the members that an event has of a record, masked where the record says so."""
    found = {name: getattr(record, name) for name in model.model_fields if hasattr(record, name)}
    for name, mask in masked_of(type(record)).items():
        if (value := found.get(name)) is not None:
            found[name] = mask(value) if isinstance(value, str) else list(map(mask, value))
    return found
