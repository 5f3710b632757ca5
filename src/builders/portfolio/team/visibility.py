"""What a role sees of an answer: money, or null in its place."""

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass, replace
from functools import lru_cache
from operator import is_
from types import MappingProxyType
from typing import Any, TypeVar, cast, get_origin

from pydantic import BaseModel

from builders.kit.values.resources import MONEY, members_of

T = TypeVar("T")
_HIDDEN: Mapping[str, Any] = MappingProxyType({"redacted": ["finance"]})


def visible(answer: T, *, shows_finance: bool) -> T:
    """Return an answer as a role sees it: without finance, its money is null or empty, and `redacted` says so.

    Money are the members with the mark MONEY, also those of records and models in the answer.
    """
    return answer if shows_finance else cast("T", _without_money(answer))


def _without_money(part: Any) -> Any:
    if isinstance(part, list | tuple):
        shown = [*map(_without_money, part)]
        return part if all(map(is_, shown, part)) else shown
    kind: Any = type(part)
    if not is_dataclass(kind) and not isinstance(part, BaseModel):
        return part
    hidden, others = _members(kind)
    inner = {name: (old, _without_money(old)) for name in others for old in [getattr(part, name)]}
    changed = {**hidden, **{name: new for name, (old, new) in inner.items() if new is not old}}
    if not changed:
        return part
    return part.model_copy(update=changed) if isinstance(part, BaseModel) else replace(part, **changed)


@lru_cache(maxsize=256)  # more than there are
def _members(kind: Any) -> tuple[Mapping[str, Any], Sequence[str]]:
    """Return the values that hide money of a record or a model, and the names of its other members."""
    if issubclass(kind, BaseModel):
        members = {name: (each.metadata, get_origin(each.annotation)) for name, each in kind.model_fields.items()}
    else:
        members = {each.name: (each.marks, list if each.is_list else None) for each in members_of(kind)}
    hidden: dict[str, Any] = {name: value for name, value in _HIDDEN.items() if name in members}
    hidden |= {name: [] if origin is list else None for name, (marks, origin) in members.items() if MONEY in marks}
    return hidden, [name for name in members if name not in hidden]
