"""The members of a merge patch (RFC 7396) in a record: each is absent (UNSET), cleared (None) or a value."""

from enum import Enum
from typing import Final, TypeAlias, TypeVar

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
