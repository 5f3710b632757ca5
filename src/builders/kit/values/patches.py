"""The members of a merge patch (RFC 7396) in a record: each is absent (UNSET), cleared (None) or a value."""

from dataclasses import fields
from enum import Enum
from typing import Any, Final, TypeAlias, TypeVar

T = TypeVar("T")


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
