"""The members of a merge patch (RFC 7396) in a record: each is absent (UNSET), cleared (None) or a value."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, Final, Generic, ParamSpec, TypeAlias, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


class Unset(Enum):
    """The type of UNSET: an enum of one member, which type checkers distinguish from the values of a patch."""

    UNSET = "unset"

    def __repr__(self) -> str:
        """Return its name."""
        return self.name


UNSET: Final = Unset.UNSET  # the patch does not have the member
Patch: TypeAlias = T | Unset


def patched(patch: Patch[T], before: T) -> T:
    """Return the value that a member has after the patch."""
    return before if patch is UNSET else patch


def set_members(patch: Any) -> dict[str, Any]:
    """Return the present members of a patch, by name: arguments of `replace` for the patched record."""
    values = {each.name: getattr(patch, each.name) for each in fields(patch)}
    return {name: value for name, value in values.items() if value is not UNSET}


@dataclass(frozen=True)  # no slots: typing stores the record's type in a new object
class Changes(Generic[T]):
    """New values of some fields of a record; the others do not change."""

    members: Mapping[str, Any]  # by field: arguments of `replace`


def changes_of(record: Callable[P, T]) -> Callable[P, Changes[T]]:
    """Return a function that makes changes of a record whose fields all have defaults, with the same arguments."""
    del record  # only its type: the arguments

    def make(*_: P.args, **members: P.kwargs) -> Changes[T]:
        return Changes(members)

    return make
